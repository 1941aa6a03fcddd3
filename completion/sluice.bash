# "=" is a word of its own in COMP_WORDS: --name=x is three.
_sluice() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} before=''
	local command='' whole='' kind='' layer='' arguments=0 i word

	COMPREPLY=()
	[ "$COMP_CWORD" -ge 2 ] && before=${COMP_WORDS[COMP_CWORD - 2]}
	if [ "$cur" = = ]; then
		before=$prev prev='=' cur=''
	fi
	# which command, and how many words that are neither options nor their values
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [ -z "$command" ]; then
			[ "${word#-}" = "$word" ] && command=$word whole=$word
		elif [ "$word" = -- ] && [ "$command" = run ]; then
			_sluice_program $((i + 1))
			return
		elif [ "${word#-}" != "$word" ]; then
			[[ " $(_sluice_modes "$command") " == *" $word "* ]] && whole="$command $word"
			kind=$(_sluice_value "$whole $word")
			[ -n "$kind" ] && [ "${COMP_WORDS[i + 1]}" != = ] && i=$((i + 1))
			if [ "$kind" = layer ]; then
				layer=${COMP_WORDS[i]}
				[ "${COMP_WORDS[i + 1]}" = = ] && layer=${COMP_WORDS[i + 2]}
			fi
			kind=''
		elif [ "$word" = = ]; then
			i=$((i + 1))
		elif [ "$whole" = "$command" ] && [[ " $(_sluice_subs "$command") " == *" $word "* ]]; then
			whole="$command $word"
		else
			[ "$command" = run ] && _sluice_program $i && return
			arguments=$((arguments + 1))
		fi
	done
	if [ -z "$command" ]; then
		_sluice_reply "$_sluice_commands --help --version"
		return
	fi
	# the value of an option
	if [ "$prev" = = ] && [ "${before#--}" != "$before" ]; then
		kind=$(_sluice_value "$whole $before")
	elif [ "${prev#-}" != "$prev" ]; then
		kind=$(_sluice_value "$whole $prev")
	fi
	if [ -n "$kind" ]; then
		word=$prev
		[ "$prev" = = ] && word=$before
		if [ -n "$(_sluice_words "$whole $word")" ]; then
			_sluice_reply "$(_sluice_words "$whole $word")"
		else
			_sluice_kind "$kind"
		fi
		return
	fi
	if [ "$prev" = = ]; then # of a stage
		_sluice_reply "$(_sluice_of_stage "$before")"
	elif [ "${cur#-}" != "$cur" ]; then
		_sluice_reply "$(_sluice_options "$whole")"
	elif [ "$whole" = "$command" ] && [ -n "$(_sluice_subs "$command")" ]; then
		_sluice_reply "$(_sluice_subs "$command")"
	elif [ "$whole" = "policy show" ]; then
		_sluice_reply "$_sluice_policies"
	elif [ "$whole" = "policy set" ]; then
		_sluice_kind spec
	elif [ "$arguments" -ge 1 ] && [ -n "$(_sluice_keys "$command")" ]; then
		compopt -o nospace 2>/dev/null
		_sluice_reply "$(_sluice_keys "$command")"
	else
		_sluice_kind "$(_sluice_takes "$command")"
	fi
}

_sluice_reply() { # words of the table
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Names that others have chosen, a line each: compgen -W would expand $(...) in them.
_sluice_names() {
	local name
	while IFS= read -r name; do
		name=$(printf %q "$name")
		[[ $name == "$cur"* ]] && COMPREPLY+=("$name")
	done
}

_sluice_of_stage() { # stage
	local policy
	for policy in $_sluice_policies; do
		[ "${policy%%/*}" = "$1" ] && printf '%s ' "${policy#*/}"
	done
}

_sluice_kind() { # of what is wanted; "": nothing can be proposed
	case $1 in
	layer) _sluice_names < <("${COMP_WORDS[0]}" status --all 2>/dev/null | awk 'NR > 1 && /^[^ ]/ { print $1 }') ;;
	job) _sluice_names < <("${COMP_WORDS[0]}" top --batch --count 1 --columns 512 ${layer:+--name "$layer"} 2>/dev/null |
		awk '/^JOB .* REASON$/ { on = 1; next } /^IONODE .* CAP$/ { on = 0 } on { print $1 }') ;;
	grant | allocate) _sluice_reply "$(_sluice_of_stage "$1")" ;;
	command) _sluice_reply "$_sluice_commands" ;;
	program) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	dir) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	spec)
		compopt -o nospace 2>/dev/null
		_sluice_reply "$(printf '%s\n' $_sluice_policies | sed 's|/.*|=|' | sort -u)"
		;;
	esac
}

# A program and its arguments, from this word on.
_sluice_program() { # index
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$COMP_CWORD" -eq "$1" ]; then
		_sluice_kind program
	else
		_sluice_kind file
	fi
}

complete -F _sluice sluice
