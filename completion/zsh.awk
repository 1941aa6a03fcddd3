# SPDX-License-Identifier: Apache-2.0
# The rows of base/options.c as a completion for zsh.
BEGIN { FS = "\t" }
function quoted(text) { # inside '...', and inside [...] of _arguments
	gsub(/'/, "'\\''", text)
	gsub(/[][]/, "\\\\&", text)
	return text
}
function action(command, name, kind) {
	if (kind == "")
		return ""
	if (words_of[command " " name] != "")
		return ":value:(" substr(words_of[command " " name], 2) ")"
	return kind == "<layer>" ? ":layer:_sluice_layers" : \
		kind == "<grant>" ? ":policy:{_sluice_of_stage grant}" : \
		kind == "<allocate>" ? ":policy:{_sluice_of_stage allocate}" : \
		kind == "<spec>" ? ":policy:_sluice_stages" : \
		kind == "<file>" ? ":file:_files" : \
		kind == "<dir>" ? ":directory:_files -/" : ":value:"
}
$1 == "command" {
	summary = $3
	gsub(/:/, "\\:", summary)
	commands = commands "\t\t'" $2 ":" quoted(summary) "'\n"
	order[++count] = $2
}
$1 == "option" { option[++rows] = $0 }
$1 == "value" { words_of[$2 " " $3] = words_of[$2 " " $3] " " $4 }
$1 == "mode" { modes[$2] = modes[$2] " " $3 }
function add_option(spec, what) {
	spec = $5 == "" ? "" : "="
	what = "[" quoted($6) "]" action($2, $4, $5)
	options[$2] = options[$2] " \\\n\t\t\t" ($3 == "" ? "'*" $4 spec what "'" : \
		"'*" $3 ($5 == "" ? "" : "+") what "' '*" $4 spec what "'")
}
$1 == "sub" {
	subs[$2] = subs[$2] " " $3
	below[$2] = below[$2] ($2 " " $3) "\n"
}
$1 == "key" { keys[$2] = keys[$2] " " $3 }
$1 == "takes" { takes[$2] = $3 }
$1 == "policy" { policies = policies " " $2 }
END {
	for (i = 1; i <= rows; i++) {
		$0 = option[i]
		add_option()
	}
	print "#compdef sluice"
	print "# zsh completion for sluice. Made from its tables of options; changes here are lost.\n"
	print "_sluice_policies=(" substr(policies, 2) ")\n"
	print "_sluice() {\n\tlocal -a commands\n\tcommands=(\n" commands "\t)"
	print "\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi"
	print "\tshift words\n\t(( CURRENT-- ))\n\tcase $words[1] in"
	for (i = 1; i <= count; i++) {
		c = order[i]
		print "\t" c ")"
		if (c in subs) {
			print "\t\tif (( CURRENT == 2 )); then\n\t\t\tcompadd --" subs[c]
			print "\t\t\treturn\n\t\tfi\n\t\tcase $words[2] in"
			n = split(below[c], whole, "\n")
			for (k = 1; k < n; k++) {
				rest = whole[k] == "policy show" ? "'*:policy:($_sluice_policies)'" : \
					whole[k] == "policy set" ? "'*:stage:_sluice_stages'" : "'*:file:_files'"
				print "\t\t" substr(whole[k], length(c) + 2) ")\n\t\t\tshift words\n\t\t\t(( CURRENT-- ))"
				print "\t\t\t_arguments -s" options[whole[k]] " \\\n\t\t\t" rest "\n\t\t\t;;"
			}
			print "\t\tesac\n\t\t;;"
			continue
		}
		rest = takes[c] == "dir" ? "'*:directory:_files -/'" : \
			takes[c] == "file" ? "'*:file:_files'" : \
			takes[c] == "program" ? "'*::program:_normal'" : \
			takes[c] == "command" ? "'1:command:(" names() ")'" : \
			takes[c] == "job" ? "'1:job:_sluice_jobs' '*:key:(" substr(keys[c], 2) ")'" : ""
		n = split(modes[c], mode, " ")
		for (k = 1; k <= n; k++) {
			print "\t\tif (( ${words[(I)" mode[k] "]} )); then"
			print "\t\t\t_arguments -s" options[c " " mode[k]] " \\\n\t\t\t" rest "\n\t\t\treturn\n\t\tfi"
		}
		print "\t\t_arguments -s" options[c] (rest == "" ? "" : " \\\n\t\t\t" rest) "\n\t\t;;"
	}
	print "\tesac\n}\n"
}
function names(    i, all) {
	for (i = 1; i <= count; i++)
		all = all " " order[i]
	return substr(all, 2)
}
