# SPDX-License-Identifier: Apache-2.0
# Metadata operations: answered as without Sluice, counted by class, limited, and shared.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile metadata -w
	cp "$BIN/metadata" "$BIN/shared"
	compile metadata -w -static
	mv "$BIN/metadata" "$BIN/static"
	mv "$BIN/shared" "$BIN/metadata"
}

has_job() {
	[ -n "$(job "$1" .operations)" ]
}

job() { # name, jq filter
	"$SLUICE" status --json | jq --arg job "$1" '.jobs[] | select(.job == $job) | '"$2"
}

@test "every metadata call answers as without Sluice, with and without limits" {
	"$BIN/metadata" "$DIR"
	"$SLUICE" up --capacity-ops 20k "$DIR"
	"$SLUICE" run --job plain -- "$BIN/metadata" "$DIR"
	"$SLUICE" run --job limited --max-ops 2k,lookup=1k --max-iops 1k --max-read 1M -- "$BIN/metadata" "$DIR"
	[ "$(job limited .max_ops)" -eq 2000 ]
	[ "$(job limited .max_lookup)" -eq 1000 ]
}

@test "operations are counted by class, relative, absolute and by descriptor; others are not" {
	"$SLUICE" up "$DIR"
	"$SLUICE" run --job a -- "$BIN/metadata" "$DIR" storm 0 100
	[ "$(job a .ops.create)" -eq 100 ]
	[ "$(job a .ops.lookup)" -eq 100 ]
	[ "$(job a .ops.remove)" -eq 100 ]
	mkdir -p "$DIR/sub"
	touch "$DIR/sub/x"
	run -1 "$SLUICE" run --job b -- stat "$DIR/sub/x" "$DIR/nothing"
	[ "$(job b .ops.lookup)" -ge 2 ]
	"$SLUICE" run --job c -- rm -r "$DIR/sub"
	[ "$(job c .ops.remove)" -eq 2 ]
	"$SLUICE" run --job d -- stat / /usr /etc/passwd >/dev/null
	"$SLUICE" report | grep -Eq '^Metadata: 30[0-9] operations of job a'
	[ "$(job d .operations)" = "" ] || [ "$(job d .operations)" -eq 0 ]
}

@test "a max of operations, of a class, and live changes hold" {
	"$SLUICE" up "$DIR"
	run -0 "$SLUICE" run --job a --max-ops 300 -- "$BIN/metadata" "$DIR" storm 1.5 10
	read -r made seconds <<<"$output"
	[ "$(jq -n "$made / $seconds < 330")" = true ]
	"$SLUICE" status | grep -q '^Limits: job a: max_ops 300$'
	"$SLUICE" top --batch --count 1 --columns 200 | grep -q 'OPS'
	run -0 "$SLUICE" run --job b --max-ops create=100 -- "$BIN/metadata" "$DIR" storm 1 5
	read -r made seconds <<<"$output"
	[ "$(jq -n "$made / $seconds < 400")" = true ]
	start_load c --max-ops 1 -- "$BIN/metadata" "$DIR" storm 0 200
	until_true 20 has_job c
	"$SLUICE" set c max_ops=0
	wait "${LOADS[0]}" # else ten minutes
	run -2 "$SLUICE" run --max-ops some=5 -- true
	[[ "$output" == *"create, lookup"* ]]
	run -2 "$SLUICE" run --max-ops '' -- true
	"$SLUICE" run --summary --job d --max-ops 2k,create=500 -- true # read again by sluice-tools
	"$SLUICE" status | grep -q '^Limits: job d: max_ops 2.00K max_create 500$'
	run ! "$SLUICE" run --min-ops 5 -- true
	[[ "$output" == *"--capacity-ops"* ]]
}

@test "a gate catches the metadata calls of programs that the library cannot be in" {
	local i=0 options
	"$SLUICE" up --capacity-ops 20k "$DIR"
	"$SLUICE" doctor | grep -Eq 'gate .*programs can run behind a gate' || skip 'no seccomp user notification here'
	"$SLUICE" run --job answers --max-ops 2k,lookup=1k -- "$BIN/static" "$DIR"
	# By the library, by a gate, and by a gate before a program that the library is in: once each.
	for options in "-- $BIN/metadata" "-- $BIN/static" "--intercept gate -- $BIN/metadata"; do
		# shellcheck disable=SC2086 # several words
		"$SLUICE" run --job "way$((++i))" $options "$DIR" storm 0 100
		[ "$(job "way$i" .ops.create)" -eq 100 ]
		[ "$(job "way$i" .ops.lookup)" -eq 100 ]
		[ "$(job "way$i" .ops.remove)" -eq 100 ]
	done
	"$SLUICE" run --job outside --intercept gate -- stat / /usr /etc/passwd >/dev/null
	[ "$(job outside .operations)" -eq 0 ]
	run -0 "$SLUICE" run --job held --max-ops 300 -- "$BIN/static" "$DIR" storm 1.5 10
	read -r made seconds <<<"$output"
	[ "$(jq -n "$made / $seconds < 330")" = true ]
}

@test "capacity_ops is shared by weights" {
	"$SLUICE" up --capacity-ops 2k "$DIR"
	for job in light heavy; do
		for _ in 1 2; do
			start_load $job --weight $([ $job = heavy ] && echo 4 || echo 1) -- \
				"$BIN/metadata" "$DIR" storm 60 10
		done
	done
	until_true 10 both_have_some
	read -r l h t <<<"$(snapshot)"
	sleep 2
	read -r l2 h2 t2 <<<"$(snapshot)"
	l=$((l2 - l)) h=$((h2 - h)) t=$(jq -n "$t2 - $t")
	echo "light $l heavy $h in $t s"
	[ "$(jq -n "$h / $l > 2.5 and $h / $l < 6")" = true ]
	[ "$(jq -n "($h + $l) / $t < 2400")" = true ]
	"$SLUICE" set --capacity-ops 0
	[ "$("$SLUICE" status --json | jq .capacity_ops)" -eq 0 ]
}

@test "a class has a weight and a min of its own, beside the rest of its job" {
	# Jobs of Slurm have consecutive numbers.
	"$SLUICE" up --capacity-ops 1k "$DIR"
	start_load 42 --weight-ops create=4 -- "$BIN/metadata" "$DIR" create 120
	start_load 42 --weight-ops create=4 -- "$BIN/metadata" "$DIR" lookup 120
	start_load 43 -- "$BIN/metadata" "$DIR" lookup 120
	all_there() { [ "$(job 42 .clients)" -eq 2 ] && [ "$(job 43 .clients)" -eq 1 ]; }
	until_true 20 all_there
	[ "$(job 42 .weight_create)" -eq 4 ]
	by_weight() { [ "$(jq -n "$1 / $2 > 2.8 and $1 / $2 < 5.5 and $1 / $3 > 2.8 and $1 / $3 < 5.5")" = true ]; }
	classes_are by_weight
	"$SLUICE" set 42 weight_create=0 min_create=800
	by_min() { [ "$(jq -n "$1 > 720 and $1 < 900 and $2 < 160 and $3 < 160")" = true ]; }
	classes_are by_min
	run -1 "$SLUICE" set 43 min_lookup=400
	[[ "$output" == *"does not fit"* ]]
	run -1 "$SLUICE" set 42 max_create=100
	[[ "$output" == *"above their max"* ]]
	"$SLUICE" status | grep -q '^Limits: job 42: min_create 800$'
	"$SLUICE" set 42 min_create=0
	by_halves() { [ "$(jq -n "$1 / $2 > .7 and $1 / $2 < 1.4 and $3 / $1 > 1.5")" = true ]; }
	classes_are by_halves # one queue again: a half of the capacity for the job
}

@test "a min of operations of a job that has ended is free for others, and its class goes on if it comes again" {
	"$SLUICE" up --capacity-ops 1k "$DIR"
	"$SLUICE" run --job a --min-ops create=800 -- touch "$DIR/x"
	"$SLUICE" run --job b --min-ops 900 -- touch "$DIR/x"
	[ "$(job a '[.min_create, .min_ops]' | jq -c .)" = '[0,0]' ]
	timeout 20 "$SLUICE" run --job a -- touch "$DIR/x" "$DIR/y" "$DIR/z"
	"$SLUICE" set --capacity-ops 0
}

@test "classes of many jobs do not keep operations of other jobs from their share" {
	local five="weight_create=2 weight_lookup=2 weight_remove=2 weight_list=2 weight_attribute=2" i
	"$SLUICE" up --capacity-ops 1k "$DIR"
	for ((i = 1; i <= 204; i++)); do
		"$ASK" "$SLUICE_RUNTIME/default/node.sock" "job j$i keep=1 $five" >/dev/null
	done
	run -1 "$ASK" "$SLUICE_RUNTIME/default/node.sock" "job j$i keep=1 $five"
	[[ "$output" == *"too many classes"* ]]
	"$SLUICE" set j1 weight_create=0 weight_list=0
	"$ASK" "$SLUICE_RUNTIME/default/node.sock" "job j$i keep=1 $five"
}

# Creates of 42, lookups of 42, and those of 43, per second, as often as needed.
classes_are() { # check
	local before after try
	counts() { "$SLUICE" status --json | jq -r '[.uptime_s] + [.jobs[] | select(.job == "42") | .ops.create, .ops.lookup] + [.jobs[] | select(.job == "43") | .ops.lookup] | @tsv'; }
	for try in 1 2 3 4 5; do
		read -ra before < <(counts)
		sleep 1.5
		read -ra after < <(counts)
		RATES=()
		for i in 1 2 3; do
			RATES+=("$(jq -n "(${after[i]} - ${before[i]}) / (${after[0]} - ${before[0]}) | floor + 1")")
		done
		echo "# ${RATES[*]} per second"
		"$1" "${RATES[@]}" && return
	done
	return 1
}

# Operations of both jobs, and the time, of one answer.
snapshot() {
	"$SLUICE" status --json | jq -r '[(.jobs | map({(.job): .operations}) | add | .light, .heavy), .uptime_s] | @tsv'
}

# All four processes run, and what they had before they met does not count any more.
both_have_some() {
	[ "$(job light .clients)" -ge 2 ] && [ "$(job heavy .clients)" -ge 2 ] &&
		[ "$(job light .operations)" -gt 300 ] && [ "$(job heavy .operations)" -gt 300 ]
}

# The time, and what each job has made until then.
made_by() { # job...
	"$SLUICE" status --json |
		jq -r '[.uptime_s] + [$ARGS.positional[] as $name | [.jobs[] | select(.job == $name) | .operations] | add // 0] | @tsv' --args "$@"
}

# Operations per second of each job over some seconds, into RATES.
rates() { # seconds, job...
	local seconds=$1 before after i
	shift
	read -ra before <<<"$(made_by "$@")"
	sleep "$seconds"
	read -ra after <<<"$(made_by "$@")"
	RATES=()
	for ((i = 1; i <= $#; i++)); do
		RATES+=("$(jq -n "(${after[i]} - ${before[i]}) / (${after[0]} - ${before[0]}) | floor")")
	done
	echo "# $*: ${RATES[*]} per second"
}

# A figure may be off on a busy machine: it is taken up to five times.
rates_are() { # seconds, check, job...
	local seconds=$1 check=$2 try
	shift 2
	for try in 1 2 3 4 5; do
		rates "$seconds" "$@"
		"$check" && return
	done
	return 1
}

@test "a max of operations is that of all nodes together, and the capacity follows jobs to their nodes" {
	"$SLUICE" up --ionodes 3 --capacity-ops 3k "$DIR"
	for _ in 1 2 3 4; do
		start_load a --max-ops 600 -- "$BIN/metadata" "$DIR" storm 120 10
	done
	all_there() { [ "$(job a .clients)" -eq 4 ]; }
	until_true 20 all_there
	is_600() { within 8 "${RATES[0]}" 600; }
	rates_are 2 is_600 a
	# One process is at one node: alone it has what all of them draw together, not its node's third.
	"$SLUICE" set a max_ops=0
	for load in "${LOADS[@]}"; do kill -KILL "$load"; done
	LOADS=()
	start_load b -- "$BIN/metadata" "$DIR" storm 120 10
	until_true 20 has_job b
	is_whole() { [ "${RATES[0]}" -gt 2200 ] && [ "${RATES[0]}" -lt 3400 ]; }
	rates_are 2 is_whole b
	# With another one, by weights, though they meet at no node.
	start_load c --weight 3 -- "$BIN/metadata" "$DIR" storm 120 10
	until_true 20 has_job c
	by_weight() { [ "$(jq -n "${RATES[1]} / ${RATES[0]} > 2.2 and ${RATES[1]} / ${RATES[0]} < 4")" = true ]; }
	rates_are 2 by_weight b c
}

@test "auto holds a storm beside another job, and not that job" {
	"$SLUICE" up --capacity-ops auto "$DIR"
	start_load storm -- "$BIN/metadata" "$DIR" storm 120 10
	start_load storm -- "$BIN/metadata" "$DIR" storm 120 10
	is_held() { [ "$(job storm .ops_held_s | cut -d. -f1)" -ge 1 ]; }
	until_true 10 has_job storm
	sleep 1
	[ "$(job storm .ops_held_s)" = 0 ] # alone
	start_load small -- "$BIN/metadata" "$DIR" storm 120 10 120000
	until_true 60 is_held # at the first tries; more if they have helped
	[ "$(job small .ops_held_s)" = 0 ]
	[ "$(job small .operations)" -gt 0 ]
	"$SLUICE" set --capacity-ops 0
	[ "$("$SLUICE" status --json | jq .capacity_ops)" -eq 0 ]
}

@test "metadata calls of a forwarded job are counted and held where the program runs" {
	"$SLUICE" up "$DIR"
	"$SLUICE" run --job a --mode forward -- "$BIN/metadata" "$DIR"
	"$SLUICE" run --job b --mode forward -- "$BIN/metadata" "$DIR" storm 0 100
	[ "$(job b .ops.create)" -eq 100 ]
	[ "$(job b .ops.lookup)" -eq 100 ]
	[ "$(job b .ops.remove)" -eq 100 ]
	run -0 "$SLUICE" run --job c --mode forward --max-ops 300 -- "$BIN/metadata" "$DIR" storm 1.5 10
	read -r made seconds <<<"$output"
	[ "$(jq -n "$made / $seconds < 330")" = true ]
	[ "$(job c .clients)" -eq 0 ]
}

@test "behind a gate a data call does not wait for metadata calls, however many do" {
	"$SLUICE" up "$DIR"
	"$SLUICE" doctor | grep -Eq 'gate .*programs can run behind a gate' || skip 'no seccomp user notification here'
	mkdir "$DIR/many"
	: >"$DIR/data"
	# 60 at 1 a second: the supervisor waits for 32 at a time. The shell prints how many have been
	# made when its write returns.
	run -0 "$SLUICE" run --strict --max-ops create=1 -- bash -c '
		exec 3>>"$1/data"
		for i in {1..60}; do : >"$1/many/$i" & done
		sleep 3
		printf x >&3
		files=("$1"/many/*)
		echo "${#files[@]}"
		kill -KILL $(jobs -p); true' - "$DIR"
	[ "${lines[0]}" -lt 25 ]
}
