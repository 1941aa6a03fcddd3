# SPDX-License-Identifier: Apache-2.0
# The rows of base/options.c as functions for bash, which sluice.bash uses.
BEGIN { FS = "\t" }
$1 == "command" { commands = commands " " $2 }
$1 == "option" {
	words[$2] = words[$2] ($3 == "" ? "" : " " $3) " " $4
	if ($5 == "")
		next
	kind = $5
	gsub(/[<>]/, "", kind)
	values = values "\t'" $2 " " $4 "'" ($3 == "" ? "" : " | '" $2 " " $3 "'") ") echo " kind " ;;\n"
}
$1 == "value" { words_of[$2 " " $3] = words_of[$2 " " $3] " " $4 }
$1 == "mode" { modes[$2] = modes[$2] " " $3 }
$1 == "sub" { subs[$2] = subs[$2] " " $3 }
$1 == "key" { keys[$2] = keys[$2] " " $3 }
$1 == "takes" { takes[$2] = $3 }
$1 == "policy" { policies = policies " " $2 }

function table(name, of,    k) {
	print "_sluice_" name "() { # command\n\tcase $1 in"
	for (k in of) {
		sub(/^ /, "", of[k])
		print "\t'" k "') echo '" of[k] "' ;;" | "sort"
	}
	close("sort")
	print "\tesac\n}\n"
}

END {
	print "# bash completion for sluice. Made from its tables of options; changes here are lost.\n"
	print "_sluice_commands='" substr(commands, 2) "'"
	print "_sluice_policies='" substr(policies, 2) "'\n"
	table("options", words)
	table("subs", subs)
	table("modes", modes)
	table("words", words_of)
	table("keys", keys)
	table("takes", takes)
	print "_sluice_value() { # command option: what kind of value it has, if any\n\tcase $1 in"
	printf "%s", values
	print "\tesac\n}\n"
}
