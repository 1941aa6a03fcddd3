# SPDX-License-Identifier: Apache-2.0
# Commands that are refused.
#
#	fails STATUS MESSAGE WORD…	'sluice $COMMAND WORD…' ends with STATUS, and prints nothing but MESSAGE
#					on stderr. MESSAGE may have * in it. 0: a warning; it prints results, too
#	wrong MESSAGE WORD…		the same with status 2

fails() { # status, message, words
	local expected=$1 message=$2
	shift 2
	# shellcheck disable=SC2086 # COMMAND is words
	run "-$expected" --separate-stderr "$SLUICE" ${COMMAND:-} "$@"
	[ "$expected" -eq 0 ] || [ "$output" = "" ]
	# shellcheck disable=SC2053 # a pattern
	[ "$stderr" = "$message" ] || [[ "$stderr" == $message ]] || { echo "got: $stderr"; return 1; }
}

wrong() { # message, words
	fails 2 "$@"
}
