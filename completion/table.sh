#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What there is to complete, out of the help texts of the program given: rows with tabs between
#
#	command  NAME  summary            as `sluice help` lists them
#	sub      NAME  word               first word after the command; then "NAME word" is one, too
#	mode     NAME  --long             an option with a help text of its own: "NAME --long" is one
#	value    NAME  --long  word       that an option takes
#	option   NAME  -x  --long  ARG  what it does     -x and ARG may be empty
#	key      NAME  word=              of KEY=VALUE arguments
#	takes    NAME  kind               of other arguments: dir, file, job, command, program
#	policy   STAGE/NAME
#
# So a completion cannot name what the program does not know, nor forget what it has.
set -eu
sluice=$1

# A usage may go on in the next line, further to the right.
joined() {
	awk '
	/^usage:/ { usage = 1 }
	/^$/ { usage = 0 }
	usage && /^        / { sub(/^ +/, ""); line = line " " $0; next }
	{ if (NR > 1) print line; line = $0 }
	END { print line }'
}

parse() { # command, as it is typed; its help comes in
	joined | awk -v command="$1" '
	function row(a, b, c, d, e) {
		print a "\t" command "\t" b (c == "" && a != "option" ? "" : "\t" c "\t" d "\t" e)
	}
	# What an option can have, if its text is a list of words ("now (the default), name or max"), or has
	# them in quotes ("\047error\047 (the default), or \047direct\047, to go on").
	function values_of_last(    n, i) {
		gsub(/ *\([^)]*\)/, "", last_text)
		if (last_argument == "KEY" || last_argument == "LEVEL") {
			n = split(last_text, value, /,? or |, /)
			for (i = 1; i <= n; i++)
				print "value\t" command "\t" last "\t" value[i]
		}
		while ((last_argument == "MODE" || last_argument == "WHAT") && match(last_text, /\047[a-z]+\047/)) {
			print "value\t" command "\t" last "\t" substr(last_text, RSTART + 1, RLENGTH - 2)
			last_text = substr(last_text, RSTART + RLENGTH)
		}
		last = last_argument = ""
	}
	last != "" && /^       +[^ ]/ && !/^       ? ?--/ {
		line = $0
		sub(/^ +/, " ", line)
		last_text = last_text line
	}
	/^$|^ +-/ {
		values_of_last()
	}
	# "--requests does this; --generate and --import-darshan do that: see their --help."
	/^--[a-z]/ && !done {
		begun = 1
	}
	begun {
		said = said " " $0
		if (/see their --help/) {
			begun = 0
			done = 1
		}
	}
	# "Kinds:" of "--generate KIND"
	/^[A-Z]/ {
		kinds = /^Kinds:/
	}
	kinds && /^  [a-z]+  / {
		for (name in usage)
			if (usage[name] == "KIND")
				print "value\t" command "\t" name "\t" $1
	}
	# Options: "  -j, --json  print JSON", "      --procs N, --nodes N", "      --watch[=N]", "  --seed S".
	/^  --[a-z]/ {
		$0 = "    " $0
	}
	/^  (-.,|   ) --[a-z]/ {
		head = substr($0, 3)
		text = ""
		if (match(head, /[^ ]  +[^ ]/)) { # the last of a head and the first of a text
			for (at = 5; at <= length(head); at++)
				if (substr(head, at, 2) == "  ")
					break
			text = substr(head, at)
			head = substr(head, 1, at - 1)
			sub(/^ +/, "", text)
		}
		letter = head ~ /^-/ ? substr(head, 1, 2) : ""
		sub(/^(-.,|   ) /, "", head)
		n = split(head, part, /, /)
		for (i = 1; i <= n; i++) {
			argument = part[i]
			name = part[i]
			sub(/[ =[].*/, "", name)
			argument = substr(argument, length(name) + 1)
			if (argument ~ /^\[=/) # may be left out: the next word is none
				argument = ""
			gsub(/[^A-Za-z]/, "", argument)
			seen[name] = 1
			# "of \047list\047 and \047show\047: ..." is nothing for another
			if (text ~ /^of \047/ && split(command, whole, " ") > 1 && \
			    index(substr(text, 1, index(text, ":")), "\047" whole[2] "\047") == 0)
				continue
			row("option", i == 1 ? letter : "", name, argument, text)
			last = name
			last_argument = argument
			last_text = text
		}
	}
	/^  [a-z_]+=[A-Z0-9]/ {
		word = $1
		sub(/=.*/, "=", word)
		row("key", word)
	}
	/^(usage:|      ) sluice / {
		sub(/^(usage:|      ) sluice /, "")
		what = what || $0 ~ / WHAT /
		for (i = 1; i <= NF; i++) {
			name = $i
			argument = $(i + 1)
			if (sub(/^[[]?--/, "--", name) && name != "--" && !(sub(/]$/, "", name) || argument ~ /^[[]/)) {
				gsub(/[^A-Za-z]/, "", argument)
				usage[name] = argument ~ /^[A-Z]/ ? argument : ""
			} else if (name ~ /^--./) {
				usage[name] = ""
			}
		}
		sub("^" command " ?", "")
		if ($1 ~ /^[a-z]+$/)
			row("sub", $1)
		# what is left without options, their values and brackets are other arguments
		while (match($0, /\[[^][]*\]/)) {
			inside = substr($0, RSTART + 1, RLENGTH - 2)
			$0 = substr($0, 1, RSTART - 1) (inside ~ /^-/ ? "" : inside) \
				substr($0, RSTART + RLENGTH)
		}
		gsub(/(^| )--?[a-zA-Z-]+( [A-Z][A-Za-z.]*)?/, " ")
		if (/(^| )JOB( |$)/)
			kind = "job"
		else if (/(^| )COMMAND /)
			kind = "program"
		else if (/(^| )COMMAND$/)
			kind = "command"
		else if (/\.(yaml|csv)|FILE|TRACE|LOG/)
			kind = "file"
		else if (/(^| )DIR/ && kind == "")
			kind = "dir"
	}
	what && /^  [a-z]+  / {
		row("sub", $1)
	}
	END {
		values_of_last()
		while (done && match(said, /--[a-z][a-z-]+/)) {
			name = substr(said, RSTART, RLENGTH)
			said = substr(said, RSTART + RLENGTH)
			if (name != "--help")
				row("mode", name)
		}
		# options that only the first lines name
		for (name in usage)
			if (!seen[name])
				row("option", "", name, usage[name], "")
		if (kind != "")
			row("takes", kind)
	}'
}

"$sluice" help | awk '
	/^Commands:/ { on = 1; next }
	/^$/ { on = 0 }
	on { name = $1; sub(/^ +[^ ]+ +/, ""); print "command\t" name "\t" $0 }'
for command in $("$sluice" help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'); do
	rows=$("$sluice" "$command" --help | parse "$command" | sort -u)
	# a pipe does not tell that its first part has failed
	[ -n "$rows" ] || [ "$command" = version ] || { echo "$0: nothing of '$command'" >&2; exit 1; }
	[ -z "$rows" ] || printf '%s\n' "$rows"
	for sub in $(printf '%s\n' "$rows" | awk -F '\t' '$1 == "sub" || $1 == "mode" { print $3 }'); do
		"$sluice" "$command" "$sub" --help | parse "$command $sub" | grep -E '^(option|value)' | sort -u
	done
done
"$sluice" policy list | awk '/^  [a-z]+\// { print "policy\t" $1 }'
