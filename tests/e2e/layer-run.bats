# SPDX-License-Identifier: Apache-2.0
# `sluice run`: what the program gets, what comes back, and what is refused before it starts.
bats_require_minimum_version 1.5.0
load layer

setup() {
	layer_setup
	"$SLUICE" up --charge calls --capacity 200MB/s "$DIR" >/dev/null
}

@test "the exit status is the command's" {
	run -0 "$SLUICE" run -- true
	run -1 "$SLUICE" run -- false
	run -42 "$SLUICE" run -- sh -c 'exit 42'
	run -42 "$SLUICE" run sh -c 'exit 42' # also without --
	run -137 "$SLUICE" run -- sh -c 'kill -KILL $$'
	run -127 --separate-stderr "$SLUICE" run -- no-such-command
	[ "$stderr" = "sluice run: command 'no-such-command' not found." ]
	touch "$DIR/plain"
	run -126 --separate-stderr "$SLUICE" run -- "$DIR/plain"
	[ "$stderr" = "sluice run: cannot run '$DIR/plain': Permission denied." ]
}

@test "the command's own options, input, output and pid are its own" {
	run -0 --separate-stderr "$SLUICE" run printf '%s\n' --help --job
	[ "$output" = $'--help\n--job' ]
	[ "$stderr" = "" ]
	[ "$(echo hello | "$SLUICE" run -- cat)" = hello ]
	[ "$(sh -c 'echo $$; exec "$0" run -- sh -c "echo \$\$"' "$SLUICE" | uniq | wc -l)" -eq 1 ]
	# a closed pipe ends it as it does without us
	run -0 bash -c 'set -o pipefail; "$0" run -- yes | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}"' "$SLUICE"
	[ "$output" = 141 ]
}

@test "the environment says where the layer is and keeps what was preloaded" {
	run -0 env LD_PRELOAD=libm.so.6 "$SLUICE" run --job j1 --max 10M --weight 3 --timeout 5 \
		--fallback direct --bypass git,vim -- env
	[[ $'\n'"$output"$'\n' == *$'\n'"SLUICE_SOCKET=$SLUICE_RUNTIME/default/node.sock"$'\n'* ]]
	[[ "$output" == *"SLUICE_ROOT=$DIR"* ]]
	[[ "$output" == *"SLUICE_JOB_ID=j1"* ]]
	[[ "$output" == *"SLUICE_JOB_CONF=max=10M,weight=3"* ]]
	[[ "$output" == *"SLUICE_TIMEOUT=5"* ]]
	[[ "$output" == *"SLUICE_FALLBACK=direct"* ]]
	[[ "$output" == *"SLUICE_BYPASS=git,vim"* ]]
	[[ "$output" =~ LD_PRELOAD=/[^:]*/libsluice_preload.so:libm.so.6 ]]
	# inside itself it adds nothing again, and stays the same job
	run -0 "$SLUICE" run --job j1 --max 10M -- "$SLUICE" run -- env
	[ "$(grep -o libsluice_preload <<<"$(grep ^LD_PRELOAD= <<<"$output")" | wc -l)" -eq 1 ]
	[[ "$output" == *"SLUICE_JOB_ID=j1"* ]]
	[[ "$output" == *"SLUICE_JOB_CONF=max=10M"* ]]
}

@test "a shell that evaluates --print-env has its programs in the job" {
	run -0 bash -c 'eval "$("$SLUICE" run --print-env --job j2 --max 50M --bypass "it'"'"'s")" && cp /bin/ls "$1/ls" &&
		echo "$SLUICE_JOB_ID $SLUICE_JOB_CONF $SLUICE_BYPASS" && "$SLUICE" status --json' - "$DIR"
	[ "${lines[0]}" = "j2 max=50M it's" ]
	[ "$(jq '.jobs[] | select(.job == "j2").write_bytes' <<<"${output#*$'\n'}")" = "$(stat -c %s /bin/ls)" ]
	# What another job has left is taken away; without a name the job is the shell's.
	run -0 env SLUICE_JOB_ID= SLUICE_JOB_CONF=max=1M bash -c 'eval "$("$SLUICE" run --print-env)"
		echo "$$ $SLUICE_JOB_ID ${SLUICE_JOB_CONF-none}"'
	[[ "$output" =~ ^([0-9]+)\ run-([0-9]+)\ none$ ]]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
	run -2 --separate-stderr "$SLUICE" run --print-env ls
	[ "$stderr" = "sluice run: --print-env runs no command; leave out 'ls'. See 'sluice run --help'." ]
}

@test "the job is the one given, else the batch system's, else one of its own" {
	id() { "$SLUICE" run "$@" -- sh -c 'echo "$SLUICE_JOB_ID"'; }
	[ "$(SLURM_JOB_ID=77 id --job mine)" = mine ]
	[ "$(SLURM_JOB_ID=77 id)" = 77 ]
	[ "$(PBS_JOBID=12.server id)" = 12.server ]
	[ "$(SLURM_JOB_ID=77 SLUICE_JOB_ID='a b' id)" = a_b ]
	[[ "$(id)" =~ ^run-[0-9]+$ ]]
	[ "$(id)" != "$(id)" ]
}

@test "what was promised to a job whose last program has just ended is free" {
	local job
	for job in a b c d; do
		# It lives until the node has counted it, once a second, and ends between two counts.
		"$SLUICE" run --job $job --min 150MB/s -- sh -c 'echo >"$0"; sleep 1.1' "$DIR/$job"
	done
}

@test "a min that does not fit is told before the program starts" {
	fails 1 "sluice run: min 300MB/s does not fit: 0B/s of 200MB/s are promised to other jobs." \
		run --min 300M -- touch "$DIR/started"
	[ ! -e "$DIR/started" ]
	fails 1 "sluice run: min 20MB/s is above max 10MB/s." run --min 20M --max 10M -- true
	# what one job has, the other cannot get; the same job may ask again
	"$SLUICE" run --job a --min 150MB/s -- sleep 30 3>&- &
	for _ in $(seq 100); do
		[ "$(job a min_bps)" = 150000000 ] && break
		sleep 0.05
	done
	fails 1 "sluice run: min 60MB/s does not fit: 150MB/s of 200MB/s are promised to other jobs." \
		run --job b --min 60M -- true
	"$SLUICE" run --job a --min 150MB/s -- true
	"$SLUICE" run --job b --min 50M -- true
	# --rate takes what there is
	"$SLUICE" run --job c --rate 100M -- true
	[ "$(job c asked_min_bps)" = 100000000 ]
	# a program that computes keeps what it was promised, though it has done no I/O
	sleep 2.5
	[ "$(job a min_bps)" -gt 0 ]
	kill %1
	for _ in $(seq 100); do
		[ "$(job a min_bps)" = null ] && break
		sleep 0.1
	done
	"$SLUICE" run --job b --min 200M -- true
}

@test "a rate is a limit and a guarantee; without a capacity a limit, and that is said" {
	run -0 --separate-stderr "$SLUICE" run --job a --rate 50M -- dd if=/dev/zero of="$DIR/f" bs=64K count=2 status=none
	[ "$stderr" = "" ]
	[ "$("$SLUICE" status --json | jq -c '.jobs[] | select(.job == "a") | [.min_bps, .max_bps]')" = "[50000000,50000000]" ]
	"$SLUICE" down
	"$SLUICE" up "$DIR"
	run -0 --separate-stderr "$SLUICE" run --job a --rate 50M -- dd if=/dev/zero of="$DIR/f" bs=64K count=2 status=none
	[ "$stderr" = "sluice run: warning: the layer's capacity is not known, so --rate 50M is only a limit, not a guarantee. Set it with 'sluice set --capacity RATE'." ]
	[ "$("$SLUICE" status --json | jq -c '.jobs[] | select(.job == "a") | [.min_bps, .max_bps]')" = "[0,50000000]" ]
	fails 1 "sluice run: a min needs a layer of known capacity: 'sluice up --capacity RATE'." run --job b --min 50M -- true
}

@test "wrong options are answered with what is right" {
	see="See 'sluice run --help'."
	fails 2 "sluice run: no command given. $see" run
	fails 2 "sluice run: --min: '5x' is not a rate; write 200M, 1.5Gi or 100MB/s. $see" run --min 5x -- true
	fails 2 "sluice run: --weight: '0' is not a number from 1 to 1000000. $see" run --weight 0 -- true
	fails 2 "sluice run: --period: 'x' is not a time; write 20 (seconds), 500ms, 10m or auto. $see" run --period x -- true
	fails 2 "sluice run: --procs: '-1' is not a number from 1. $see" run --procs -1 -- true
	fails 2 "sluice run: --fallback is 'direct' or 'error', not 'maybe'. $see" run --fallback maybe -- true
	fails 2 "sluice run: --timeout: 'x' is not a time; write 30s or 2m. $see" run --timeout x -- true
	fails 2 "sluice run: --rate sets min and max; give either --rate or --min and --max. $see" run --rate 1M --max 1M -- true
	fails 2 "sluice run: --connect: ':4444' is not HOST:PORT, like 192.0.2.7:4444 or node7:4444. $see" run --connect :4444 -- true
	fails 2 "sluice run: --connect needs the secret of the layer: --secret-file FILE. $see" run --connect a:1 -- true
	fails 2 "sluice run: --secret-file and --directory are for --connect. $see" run --directory /tmp -- true
	fails 2 "sluice run: --name is for layers of this machine; give either --name or --connect. $see" run --connect a:1 --name b -- true
	fails 2 "sluice run: --job: the name of a job must be printable ASCII characters without spaces. $see" run --job 'a b' -- true
	fails 2 "sluice run: unknown option '--mim'. Did you mean '--min'? $see" run --mim 1 -- true
}

@test "without its library it does not run anything unscheduled" {
	SLUICE_PRELOAD=$DIR/none fails 1 \
		"sluice run: SLUICE_PRELOAD is set to $DIR/none, which cannot be read." run -- touch "$DIR/x"
	[ ! -e "$DIR/x" ]
}

@test "what a program reads and writes goes through the layer, and is right" {
	head -c 3000000 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	"$SLUICE" run --job w -- dd if="$BATS_TEST_TMPDIR/data" of="$DIR/f" bs=100K status=none
	cmp "$BATS_TEST_TMPDIR/data" "$DIR/f"
	[ "$(job w write_bytes)" -eq 3000000 ]
	[ "$(job w read_bytes)" -eq 0 ]
	"$SLUICE" run --job r -- dd if="$DIR/f" of="$BATS_TEST_TMPDIR/back" bs=64K status=none
	cmp "$BATS_TEST_TMPDIR/data" "$BATS_TEST_TMPDIR/back"
	[ "$(job r read_bytes)" -ge 3000000 ] # counted as asked for: the last ones reach beyond the end
	[ "$(job r write_bytes)" -eq 0 ]
}

@test "a program that is told to bypass, or whose files are elsewhere, is left alone" {
	"$SLUICE" run --job w --bypass cat,dd -- dd if=/dev/zero of="$DIR/f" bs=64K count=2 status=none
	[ "$(job w 'write_bytes // 0')" -eq 0 ]
	"$SLUICE" run --job v -- dd if=/dev/zero of="$BATS_TEST_TMPDIR/f" bs=64K count=2 status=none
	[ "$(job v 'write_bytes // 0')" -eq 0 ]
}

@test "a max is kept" {
	start=$(date +%s%N)
	"$SLUICE" run --job w --max 20MB/s --burst 1M -- \
		dd if=/dev/zero of="$DIR/f" bs=1M count=21 status=none
	took_ms=$((($(date +%s%N) - start) / 1000000))
	# (22 MB - the burst and a batch) / 20 MB/s; how much longer it takes is the machine's matter
	[ "$took_ms" -ge 800 ]
	[ "$(job w 'throttled_s > 0.5')" = true ]
}

@test "a program goes on when the node is killed and started again" {
	"$SLUICE" run --job w --max 10MB/s --timeout 20s -- \
		dd if=/dev/zero of="$DIR/f" bs=1M count=16 status=none 3>&- &
	sleep 0.7
	kill_node
	"$SLUICE" up --charge calls --capacity 200MB/s "$DIR"
	wait %1
	[ "$(stat -c %s "$DIR/f")" -eq $((16 << 20)) ]
	# its limits came with it
	[ "$(job w max_bps)" -eq 10000000 ]
}

@test "programs with sanitizers run, and find what they look for" {
	cd "$BATS_TEST_TMPDIR"
	unset ASAN_OPTIONS
	cat >check.c <<-'END'
		#include <fcntl.h>
		#include <stdlib.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			char *p = malloc(10);
			int fd = open(argv[1], O_WRONLY | O_CREAT, 0600);

			if (write(fd, "hello", 5) != 5)
				return 1;
			p[7 + argc] = 1;
			free(p);
			return 0;
		}
	END
	for kind in address thread undefined; do
		cc -w -fsanitize=$kind -o check check.c
		run -0 "$SLUICE" run -- ./check "$DIR/x"
	done
	cc -w -fsanitize=address -o check check.c
	run ! "$SLUICE" run -- ./check "$DIR/x" more
	[[ "$output" == *heap-buffer-overflow* ]]
	run -0 env ASAN_OPTIONS=detect_leaks=0 "$SLUICE" run -- sh -c 'echo "$ASAN_OPTIONS"'
	[ "$output" = "detect_leaks=0:verify_asan_link_order=0" ]
}

@test "a node that is stopped keeps no program from running" {
	kill -STOP "$(cat "$SLUICE_RUNTIME/default/pid")"
	run -0 timeout 60 "$SLUICE" run --timeout 1s -- cp /bin/ls "$DIR/bare"
	run -0 --separate-stderr timeout 60 "$SLUICE" run --timeout 1s --weight 2 -- cp /bin/ls "$DIR/ls"
	kill -CONT "$(cat "$SLUICE_RUNTIME/default/pid")"
	[[ "$stderr" == "sluice run: warning: layer 'default' does not answer; "* ]]
	cmp /bin/ls "$DIR/ls"
	cmp /bin/ls "$DIR/bare"
	# Where the node makes the calls it is needed.
	kill -STOP "$(cat "$SLUICE_RUNTIME/default/pid")"
	run -1 --separate-stderr "$SLUICE" run --mode forward --timeout 1s -- cp /bin/ls "$DIR/ls"
	kill -CONT "$(cat "$SLUICE_RUNTIME/default/pid")"
	[[ "$stderr" == *"is stopped"* ]]
}

known() { # job
	[ "$(job "$1" job)" != null ]
}

@test "a job that nobody has named is registered by its first I/O, and stays as long as its program" {
	cd "$BATS_TEST_TMPDIR"
	mkfifo go
	"$SLUICE" run -- bash -c 'read -r <go; cp /bin/ls "$1/a"; read -r <go; cp /bin/ls "$1/b"' - "$DIR" 3>&- &
	pid=$!
	"$SLUICE" run --job named -- sleep 60 3>&- &
	named=$!
	until_true known named # at once
	[ -z "$("$SLUICE" status --json | jq -r '.jobs[].job | select(startswith("run-"))')" ]
	echo >go
	until_true known run-$pid
	echo >go
	wait $pid
	cmp /bin/ls "$DIR/b"
	kill $named
}
