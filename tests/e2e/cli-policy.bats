# SPDX-License-Identifier: Apache-2.0
# `sluice` itself: help, version, wrong use; and `sluice policy`.
bats_require_minimum_version 1.5.0
load fails

setup() {
	SLUICE=${SLUICE:-build/cli/sluice}
}

# Every line of the output fits a terminal of 80 columns. In UTF-8, so that letters are counted.
fits() {
	local line
	while IFS= read -r line; do
		LC_ALL=C.UTF-8 eval '[ "${#line}" -le 80 ]' || {
			echo "too long: $line"
			return 1
		}
	done <<<"$output"
}

@test "--version and version print the same" {
	run "$SLUICE" --version
	[ "$status" -eq 0 ]
	[[ "$output" =~ ^sluice\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	first=$output
	run "$SLUICE" -V
	[ "$output" = "$first" ]
	run "$SLUICE" version
	[ "$output" = "$first" ]
}

@test "--help names every command, and every command has help" {
	run "$SLUICE" --help
	[ "$status" -eq 0 ]
	fits
	commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$output")
	[[ "$commands" == *policy* ]]
	for command in $commands; do
		run --separate-stderr "$SLUICE" "$command" --help
		[ "$status" -eq 0 ]
		[ "$stderr" = "" ]
		[[ "$output" == "usage: sluice $command"* ]]
		fits
		first=$output
		run "$SLUICE" help "$command"
		[ "$status" -eq 0 ]
		[ "$output" = "$first" ]
	done
}

@test "wrong use is answered with what to do, status 2" {
	wrong "sluice: no command given. See 'sluice --help'."
	wrong "sluice: unknown command 'polcy'. Did you mean 'policy'? See 'sluice --help'." polcy
	wrong "sluice: unknown command 'xyzzy'. See 'sluice --help'." xyzzy
	wrong "sluice: unknown command ''. See 'sluice --help'." ""
	wrong "sluice: unknown command 'polcy'. Did you mean 'policy'? See 'sluice --help'." help polcy
	wrong "sluice: unknown option '--hepl'. Did you mean '--help'? See 'sluice --help'." --hepl
	wrong "sluice: unknown option '-x'. See 'sluice --help'." -x
	wrong "sluice: option '--help' takes no value. See 'sluice --help'." --help=1
	wrong "sluice version: unexpected argument 'x'. See 'sluice version --help'." version x
	wrong "sluice policy: say what to do: list, show or set. See 'sluice policy --help'." policy
	wrong "sluice policy: unknown subcommand 'lst'. Did you mean 'list'? See 'sluice policy --help'." \
		policy lst
	wrong "sluice policy: unknown option '--jsn'. Did you mean '--json'? See 'sluice policy --help'." \
		policy list --jsn
	wrong "sluice policy: unknown option '-x'. See 'sluice policy --help'." policy list -jx
	wrong "sluice policy: unknown stage 'sahre'. Did you mean 'share'? See 'sluice policy --help'." \
		policy list sahre
	wrong "sluice policy: several stages have a policy 'round-robin'; write grant/round-robin or share/round-robin. See 'sluice policy --help'." \
		policy show round-robin
	wrong "sluice policy: unexpected argument 'x' after 'list share'. See 'sluice policy --help'." \
		policy list share x
}

@test "a very long wrong option is cut in the message" {
	run --separate-stderr "$SLUICE" "--$(printf 'x%.0s' {1..5000})"
	[ "$status" -eq 2 ]
	[[ "$stderr" == "sluice: unknown option '--xxx"* ]]
	[ "${#stderr}" -lt 300 ]
}

@test "policy list prints all stages, in 80 columns, with one default each" {
	run "$SLUICE" policy list
	[ "$status" -eq 0 ]
	fits
	[ "$(grep -c '^  [a-z]*/[a-z0-9-]* *\* ' <<<"$output")" -eq 5 ]
	grep -q '^  grant/none *\* ' <<<"$output"
	grep -q '^  admit/token-bucket *\* ' <<<"$output"
	grep -q '^  share/wfq *\* ' <<<"$output"
	grep -q '^  order/to-agg *\* ' <<<"$output"
	for policy in grant/{fair-share,fcfs,round-robin,min-dilation,max-sys-eff,min-max} \
		grant/{max-sys-eff-literal,set-10,target-dilation} admit/open share/{fifo,round-robin,io-sets,pool} order/{to,sjf,mlf,aioli}; do
		grep -q "^  $policy  *[a-z]" <<<"$output"
	done
}

@test "policy show has an example for the command line, in 80 columns" {
	run -0 "$SLUICE" policy show order/aioli
	fits
	[[ "$output" == *$'\n  sluice up --policy order=aioli,batch_bytes=8Mi,'*$'\n  sluice policy set order=aioli,'*$'\n  .order = "aioli,'* ]]
}

@test "policy list STAGE prints that stage only" {
	run "$SLUICE" policy list order
	[ "$status" -eq 0 ]
	[ "$(grep -c '^  order/' <<<"$output")" -eq 6 ]
	[[ "$output" != *share/* && "$output" != *admit/* ]]
}

@test "policy show works for everything that list prints, in 80 columns" {
	policies=$("$SLUICE" policy list | sed -n 's|^  \([a-z]*/[a-z0-9-]*\) .*|\1|p')
	[ "$(wc -w <<<"$policies")" -ge 12 ]
	for policy in $policies; do
		run --separate-stderr "$SLUICE" policy show "$policy"
		[ "$status" -eq 0 ]
		[ "$stderr" = "" ]
		[[ "${lines[0]}" == "$policy"* ]]
		[[ "$output" == *"Source: "* ]]
		[[ "$output" == *"Parameters:"* ]]
		case $policy in
		grant/periodic-*)
			# A controller refuses them: no command for one.
			[[ "$output" == *"Simulator only"*"sluice sim -p ${policy#*/}"* ]]
			[[ "$output" != *"sluice up"* ]] ;;
		grant/*) [[ "$output" == *"sluice sim -p ${policy#*/}"*"sluice up --policy grant=${policy#*/}"* ]] ;;
		allocate/*) [[ "$output" == *"sluice allocate --policy ${policy#*/}"* ]] ;;
		*) [[ "$output" == *".${policy%/*} = \"${policy#*/}"* ]] ;;
		esac
		fits
	done
}

@test "policy show tells range, default and help of each parameter in readable units" {
	run "$SLUICE" policy show order/aioli
	[ "$status" -eq 0 ]
	[[ "$output" == *"batch_bytes     1 B to 1 GiB, default 4 MiB"* ]]
	[[ "$output" == *"wait_us         0 to 1000000 us (1 s), default 500 us"* ]]
	count=$("$SLUICE" policy show order/aioli --json | jq '.params | length')
	[ "$(grep -c '^  [a-z_]*  .*default' <<<"$output")" -eq "$count" ]
	run "$SLUICE" policy show io-sets
	[[ "$output" == *"one of lend, idle; default lend"* ]]
}

@test "policy show takes a bare name when it is unique" {
	run "$SLUICE" policy show order/aioli
	first=$output
	run "$SLUICE" policy show aioli
	[ "$status" -eq 0 ]
	[ "$output" = "$first" ]
}

@test "policy show answers a wrong name with the nearest" {
	see="See 'sluice policy --help'."
	wrong "sluice policy: unknown policy 'aiol'. Did you mean 'order/aioli'? $see" policy show aiol
	wrong "sluice policy: unknown policy 'oder/aioli'. Did you mean 'order/aioli'? $see" \
		policy show oder/aioli
	wrong "sluice policy: unknown policy 'share/sjf'. Did you mean 'order/sjf'? $see" \
		policy show share/sjf
	wrong "sluice policy: unknown policy 'xyzzy'; 'sluice policy list' names them all. $see" \
		policy show xyzzy
	wrong "sluice policy: unknown policy 'order/'; 'sluice policy list' names them all. $see" \
		policy show order/
	wrong "sluice policy: --name goes with 'set': policies are the same for all layers. $see" policy list --name x
	wrong "sluice policy: --json goes with 'list' and 'show'. $see" policy set --json share=wfq
	wrong "sluice policy: 'show' needs the name of a policy, like order/to-agg. $see" policy show
}

@test "list --json is JSON with raw integers and the same policies as the text" {
	run --separate-stderr "$SLUICE" policy list --json
	[ "$status" -eq 0 ]
	from_json=$(jq -r '.policies[] | .stage + "/" + .name' <<<"$output")
	from_text=$("$SLUICE" policy list | sed -n 's|^  \([a-z]*/[a-z0-9-]*\) .*|\1|p')
	[ "$from_json" = "$from_text" ]
	[ "$(jq '[.policies[] | select(.default)] | length' <<<"$output")" -eq 5 ]
	# every parameter is complete, and its default is in its range
	jq -e '[.policies[].params[] |
		(.name | type == "string") and (.help | length > 0) and
		if .unit == "choice" then .default as $d | .choices | index($d) != null
		elif .unit == "file" then .default == null
		else (.min | type == "number") and .min <= .default and .default <= .max end] |
		length > 10 and all' <<<"$output"
	[ "$(jq '.policies[] | select(.name == "to-agg").params[] |
		select(.name == "batch_bytes").default' <<<"$output")" -eq 4194304 ]
}

@test "show --json is one element of list --json" {
	"$SLUICE" policy list order --json | jq -S '.policies[] | select(.name == "aioli")' \
		>"$BATS_TEST_TMPDIR/list"
	"$SLUICE" policy show --json aioli | jq -S . >"$BATS_TEST_TMPDIR/show"
	[ -s "$BATS_TEST_TMPDIR/show" ]
	cmp "$BATS_TEST_TMPDIR/list" "$BATS_TEST_TMPDIR/show"
}

@test "a full disk is noticed" {
	for arguments in --help --version "policy list" "policy show aioli --json"; do
		# shellcheck disable=SC2086 # a list of words
		run --separate-stderr sh -c '"$0" "$@" >/dev/full' "$SLUICE" $arguments
		[ "$status" -eq 1 ]
		[ "$stderr" = "sluice: cannot write to standard output: No space left on device; the result is incomplete." ]
	done
}

@test "a closed standard output is noticed" {
	run --separate-stderr sh -c '"$0" policy list >&-' "$SLUICE"
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice: cannot write to standard output: Bad file descriptor; the result is incomplete." ]
}

@test "a reader that went away is noticed" {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	# Opened for both, the fifo has a reader until this descriptor is closed in the child.
	exec 8<>"$BATS_TEST_TMPDIR/pipe" 7>"$BATS_TEST_TMPDIR/pipe" 8>&-
	run --separate-stderr sh -c '"$0" policy list >&7' "$SLUICE"
	exec 7>&-
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice: cannot write to standard output: Broken pipe; the result is incomplete." ]
}

@test "wrong use stays status 2 when standard output is closed" {
	run --separate-stderr sh -c '"$0" polcy >&-' "$SLUICE"
	[ "$status" -eq 2 ]
	[[ "$stderr" == "sluice: unknown command 'polcy'."* ]]
}
