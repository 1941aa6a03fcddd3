# SPDX-License-Identifier: Apache-2.0
# A layer's life: up, down, crashes, names, who may use it, sluice.yaml.
bats_require_minimum_version 1.5.0
load layer

@test "up returns when the layer is ready, down leaves nothing" {
	run "$SLUICE" up "$DIR"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "Layer 'default' is up for $DIR" ]
	run "$SLUICE" status
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "Layer 'default' for $DIR" ]
	run "$SLUICE" down
	[ "$status" -eq 0 ]
	[ "$output" = "Layer 'default' is down." ]
	run find "$SLUICE_RUNTIME" -mindepth 1
	[ "$output" = "" ]
	run find "$DIR" -mindepth 1
	[ "$output" = "" ]
}

@test "up, down and up again, several times" {
	for _ in 1 2 3 4 5; do
		"$SLUICE" up "$DIR"
		"$SLUICE" run -- true
		"$SLUICE" down
	done
}

@test "up of what is up says so" {
	"$SLUICE" up "$DIR"
	fails 1 "sluice up: layer 'default' is up already, for $DIR (pid $(node_pid))." up "$DIR"
	mkdir "$BATS_TEST_TMPDIR/other"
	run -1 --separate-stderr "$SLUICE" up "$BATS_TEST_TMPDIR/other"
	[[ "$stderr" == *"is up, but for $DIR"*"Choose another --name"* ]]
	"$SLUICE" status
}

@test "up directly after the node was killed" {
	for _ in {1..15}; do
		"$SLUICE" up "$DIR"
		"$SLUICE" run -- sh -c 'echo x >"$0/x"' "$DIR"
		pid=$(node_pid)
		kill -KILL "$pid"
		while [ -e "/proc/$pid/exe" ]; do :; done # it holds the lock a little longer
	done
	"$SLUICE" up "$DIR"
}

@test "limits on the size of files are those of the programs, not of the shell that typed up" {
	(
		ulimit -S -f 1
		"$SLUICE" up "$DIR"
	)
	"$SLUICE" run -- dd if=/dev/zero of="$DIR/x" bs=4K count=100 status=none
	[ "$(stat -c %s "$DIR/x")" -eq 409600 ]
	"$SLUICE" run -- true
	"$SLUICE" down
	# A hard limit cannot be raised: up says so, and the node survives it.
	(
		ulimit -f 8192
		"$SLUICE" up "$DIR" 2>"$BATS_TEST_TMPDIR/err"
	)
	grep -q "sluice up: warning: the limit on the size of files .* beyond 8MiB into a file" "$BATS_TEST_TMPDIR/err" ||
		{ cat "$BATS_TEST_TMPDIR/err"; false; }
	run -1 "$SLUICE" run --mode forward -- dd if=/dev/zero of="$DIR/y" bs=4K count=4000
	[[ "$output" == *"File too large"* ]]
	[ "$(stat -c %s "$DIR/y")" -eq 8388608 ]
	"$SLUICE" status
}

@test "a node uses the CPUs that it may use, a worker for each" {
	read -r -a cpus < <(taskset -cp $$ | sed 's/.*: //; s/,/ /g') # as 0-3 6
	last=${cpus[-1]##*-}
	taskset -c "$last" "$SLUICE" up "$DIR"
	[ "$("$SLUICE" status --json | jq .workers)" -eq 1 ]
	for task in /proc/"$(node_pid)"/task/*/status; do
		[ "$(awk '/^Cpus_allowed_list/ { print $2 }' "$task")" = "$last" ]
	done
	"$SLUICE" run -- dd if=/dev/zero of="$DIR/x" bs=4K count=100 status=none
	[ "$(stat -c %s "$DIR/x")" -eq 409600 ]
}

@test "the node runs apart: own session, no terminal, nothing inherited but its lock" {
	"$SLUICE" up "$DIR" 9<"$BATS_TEST_FILENAME" 8>"$BATS_TEST_TMPDIR/held"
	pid=$(node_pid)
	[ "$(ps -o sid= -p "$pid" | tr -d ' ')" = "$pid" ]
	[ "$(readlink "/proc/$pid/cwd")" = / ]
	[ "$(readlink "/proc/$pid/fd/0")" = /dev/null ]
	[ "$(readlink "/proc/$pid/fd/1")" = "$SLUICE_RUNTIME/default/log" ]
	[ "$(readlink "/proc/$pid/fd/3")" = "$SLUICE_RUNTIME/default/lock" ]
	run sh -c "readlink /proc/$pid/fd/*"
	[[ "$output" != *"$BATS_TEST_FILENAME"* ]]
	[[ "$output" != *held* ]]
}

@test "a recording that cannot be made is said with its file" {
	run -1 --separate-stderr "$SLUICE" up --trace /none/such "$DIR"
	[[ "$stderr" == *"cannot record into /none/such: No such file or directory"* ]]
}

@test "a node that is started from within a layer is not its client" {
	"$SLUICE" up "$DIR"
	mkdir "$DIR/inner"
	"$SLUICE" run -- "$SLUICE" up --name inner "$DIR/inner"
	run cat "/proc/$(cat "$SLUICE_RUNTIME/inner/pid")/environ"
	[[ "$output" != *SLUICE_SOCKET* ]]
	"$SLUICE" run --name inner --job j -- dd if=/dev/zero of="$DIR/inner/f" bs=64K count=2 status=none
	[ "$("$SLUICE" status --name inner --json | jq '.jobs[0].write_bytes')" -eq 131072 ]
	[ "$("$SLUICE" status --json | jq '[.jobs[].write_bytes] | add // 0')" -eq 0 ]
}

@test "a node that was killed blocks nothing: status, run and up say or do the right thing" {
	"$SLUICE" up "$DIR"
	kill_node
	died="the node of layer 'default' has died; its log is $SLUICE_RUNTIME/default/log. 'sluice up --revive' restarts it with the same settings, except changes of jobs by 'sluice set'."
	fails 1 "sluice status: $died" status
	fails 1 "sluice run: $died" run -- true
	run -0 "$SLUICE" status --all
	[[ "${lines[1]}" =~ ^default\ +died\ +0\ +"$DIR"$ ]]
	# what it said is not thrown away with the rest
	fails 1 "sluice down: the node of layer 'default' had died before. Its files are removed; its log is $SLUICE_RUNTIME/default/log." down
	[ -s "$SLUICE_RUNTIME/default/log" ]
	fails 1 "sluice status: no layer is up. Start one with 'sluice up DIR'." status
	fails 1 "sluice down: no layer is up." down
	"$SLUICE" up --charge calls --capacity 7MB/s "$DIR"
	kill_node
	"$SLUICE" up --revive # as the message says
	[ "$("$SLUICE" status --json | jq .capacity_bps)" -eq 7000000 ]
	kill_node
	"$SLUICE" up "$DIR"
	"$SLUICE" run -- true
	"$SLUICE" down
}

@test "what was set of the layer while it ran is there when its only node is revived" {
	in_force='([.capacity_bps, .share, .order] | join(" "))'
	printf 'directory: %s\ncapacity: 20MB/s\njobs: [{job: backup, min: 5MB/s}]\n' "$DIR" >"$BATS_TEST_TMPDIR/s.yaml"
	"$SLUICE" up --config "$BATS_TEST_TMPDIR/s.yaml"
	"$SLUICE" set --capacity 7MB/s
	"$SLUICE" policy set share=io-sets order=sjf
	"$SLUICE" policy set order=aioli,wait_us=500
	before=$("$SLUICE" status --json | jq -c "$in_force, .policy, .jobs[0].asked_min_bps")
	[[ "$before" == '"7000000 io-sets aioli"'*'aioli,wait_us=500'*5000000 ]]
	kill_node
	run -0 --separate-stderr "$SLUICE" up --revive
	[ "$stderr" = "" ]
	[ "$("$SLUICE" status --json | jq -c "$in_force, .policy, .jobs[0].asked_min_bps")" = "$before" ]
	# A capacity is not if jobs have been promised more: they would be refused.
	run -0 --separate-stderr "$SLUICE" set --capacity 3MB/s
	[[ "$stderr" == "sluice set: warning: jobs have been promised more than that; their min is scaled down now. The change is not stored: "* ]]
	kill_node
	"$SLUICE" up --revive
	[ "$("$SLUICE" status --json | jq -c "$in_force, .policy, .jobs[0].asked_min_bps")" = "$before" ]
	# A job's limits are not: see sluice-up(1).
	"$SLUICE" set backup min=0 max=5MB/s
	"$SLUICE" set --capacity 0
	kill_node
	run -0 --separate-stderr "$SLUICE" up --revive
	[ "$(job backup asked_min_bps)" = 5000000 ]
	# With its min it is not without a capacity.
	[ "$stderr" = "sluice up: warning: cannot restore the setting 'capacity 0': the capacity cannot be unknown while jobs have a min." ]
	[ "$("$SLUICE" status --json | jq .capacity_bps)" = 20000000 ]
	kill_node
	# It is another layer that begins here.
	"$SLUICE" up --charge calls --capacity 30MB/s "$DIR"
	[ "$("$SLUICE" status --json | jq -r "$in_force")" = "30000000 wfq to-agg" ]
	kill_node
	"$SLUICE" up --revive
	[ "$("$SLUICE" status --json | jq -r "$in_force")" = "30000000 wfq to-agg" ]
}

@test "a program with a min goes on at a node that is revived, whatever was done to the capacity" {
	"$SLUICE" up --charge calls --capacity 10MB/s "$DIR"
	"$SLUICE" set --capacity 40MB/s
	"$SLUICE" run --job a --min 20MB/s --max 20MB/s -- dd if=/dev/zero of="$DIR/f" bs=1M count=40 status=none 3>&- &
	program=$!
	for ((i = 0; i < 200; i++)); do
		[ "$(job a write_bytes)" != null ] && [ "$(job a write_bytes)" -gt 0 ] && break
		sleep 0.05
	done
	kill_node
	"$SLUICE" up --revive
	[ "$("$SLUICE" status --json | jq .capacity_bps)" = 40000000 ]
	for ((i = 0; i < 200; i++)); do
		[ "$(job a write_bytes)" != null ] && [ "$(job a write_bytes)" -gt 0 ] && break
		sleep 0.05
	done
	"$SLUICE" set --capacity 15MB/s
	kill_node
	"$SLUICE" up --revive
	wait "$program"
	[ "$(stat -c %s "$DIR/f")" -eq $((40 << 20)) ]
}

@test "a policy whose file is gone keeps no node from being revived" {
	"$SLUICE" up "$DIR"
	printf '%s\n' "sluice-tree 1" "attribute spatiality: contiguous strided random" "class: to sjf" "tree:" \
		"spatiality = contiguous: to" "spatiality = strided: sjf" "spatiality = random: to" >"$BATS_TEST_TMPDIR/x"
	"$SLUICE" policy set order=auto,tree="$BATS_TEST_TMPDIR/x"
	rm "$BATS_TEST_TMPDIR/x"
	kill_node
	run -0 --separate-stderr "$SLUICE" up --revive
	[[ "$stderr" == "sluice up: warning: cannot restore the setting 'policy order=auto,tree=$BATS_TEST_TMPDIR/x': "* ]]
}

@test "a pid file that names another process stops nobody" {
	"$SLUICE" up "$DIR"
	kill_node
	sleep 60 &
	echo $! >"$SLUICE_RUNTIME/default/pid"
	run -1 "$SLUICE" down
	kill -0 $!
	kill $!
}

@test "two ups at the same time: one wins, the other says so" {
	"$SLUICE" up "$DIR" >"$BATS_TEST_TMPDIR/1" 2>&1 &
	first=$!
	"$SLUICE" up "$DIR" >"$BATS_TEST_TMPDIR/2" 2>&1 && second=0 || second=$?
	wait "$first" && first=0 || first=$?
	[ $((first + second)) -eq 1 ]
	run cat "$BATS_TEST_TMPDIR"/[12]
	[[ "$output" == *"is up for"* ]]
	[[ "$output" == *"already"* || "$output" == *"try again"* ]]
	"$SLUICE" status
}

@test "down of what is not up fails, with --if-up it does not" {
	fails 1 "sluice down: no layer is up." down
	fails 1 "sluice down: layer 'x' is not up." down --name x
	run -0 "$SLUICE" down --if-up
	[ "$output" = "" ]
	run -0 "$SLUICE" down --all --if-up
	fails 1 "sluice down: no layer is up." down --all
}

# A program that has written a line, waits, and then writes another.
start_writer() { # options of run
	# shellcheck disable=SC2016 # for that shell
	"$SLUICE" run "$@" -- bash -c 'exec >"$0/x"; echo here; read -r; echo there' "$DIR" \
		< <(sleep 4) 3>&- 2>"$BATS_TEST_TMPDIR/err" &
	program=$!
	for ((i = 0; i < 200; i++)); do
		[ ! -s "$DIR/x" ] || break
		sleep 0.05
	done
}

@test "down says how many processes it leaves, and what becomes of them" {
	"$SLUICE" up "$DIR" >/dev/null
	start_writer
	run -0 --separate-stderr "$SLUICE" down
	[ "$output" = "Layer 'default' is down." ]
	[[ "$stderr" == "sluice down: 1 process of the layer still running: "*"without limits until a layer"* ]]
	wait $program
	[ "$(cat "$DIR/x")" = $'here\nthere' ]
	run -1 grep -v "sluice: no I/O node at .*; going on without it" "$BATS_TEST_TMPDIR/err"
	rm "$DIR/x"
	"$SLUICE" up "$DIR" >/dev/null
	start_writer --mode forward --timeout 1
	run -0 --separate-stderr "$SLUICE" down
	[ "$output" = "Layer 'default' is down." ]
	[ "$stderr" = "sluice down: 1 process still connected: each waits up to its --timeout for the layer to come back, then gets EIO, or goes on directly with --fallback direct." ]
	failed=0
	wait $program || failed=$?
	[ $failed -eq 1 ]
	grep -q "Input/output error" "$BATS_TEST_TMPDIR/err"
}

@test "down keeps to its --timeout, also if a node is stopped and the dashboard waits for it" {
	"$SLUICE" up --ionodes 2 "$DIR" >/dev/null
	"$SLUICE" dashboard --port 0 >/dev/null
	pid=$(cat "$SLUICE_RUNTIME/default/pid-1")
	kill -STOP "$pid"
	sleep 0.5
	failed=0
	timeout 4.5 "$SLUICE" down --timeout 2s 2>"$BATS_TEST_TMPDIR/err" || failed=$?
	kill -KILL "$pid"
	[ $failed -eq 1 ]
	grep -q "I/O node 1 of layer 'default' (pid $pid) has not ended yet.* 'kill -CONT $pid' resumes it if it was stopped; 'kill -KILL $pid' ends it at once." "$BATS_TEST_TMPDIR/err"
}

@test "a node that does not start says why" {
	# With the address sanitizer, its last words would be about memory.
	export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
	run -1 --separate-stderr "$SLUICE" up --trace "$DIR/none/t" "$DIR"
	[ "${stderr_lines[0]}" = "sluice up: the node did not start. Its log ends with:" ]
	[[ "$stderr" == *"  sluiced: cannot start: No such file or directory"* ]]
	fails 1 "sluice status: no layer is up. Start one with 'sluice up DIR'." status
	SLUICED=/bin/false run -1 --separate-stderr "$SLUICE" up "$DIR"
	[[ "$stderr" == "sluice up: the node did not start."* ]]
	SLUICED=$BATS_TEST_TMPDIR/none fails 1 \
		"sluice up: SLUICED is set to $BATS_TEST_TMPDIR/none, which cannot be read." up "$DIR"
	"$SLUICE" up "$DIR"
}

@test "wrong values of options are answered with the possible ones, and nothing is started" {
	see="See 'sluice up --help'."
	fails 2 "sluice up: --device-model: 'paper' is not a device; there are hdd, raid, ssd, pastel, graphene, suno, edel, or write bandwidth=200M,seek=5ms,op=50us,streams=1. $see" up --device-model paper "$DIR"
	fails 2 "sluice up: --log-level: 'loud' is not a log level; write error, warn, info or debug. $see" up --log-level loud "$DIR"
	fails 2 "sluice up: --capacity: 'fast' is not a rate; write 200M, 1.5Gi, 100MB/s or auto. $see" up --capacity fast "$DIR"
	fails 2 "sluice up: --workers: '65' is not a number from 1 to 64. $see" up --workers 65 "$DIR"
	fails 2 "sluice up: --listen: 'here' is not HOST:PORT, like 192.0.2.7:4444, node7:4444 or :4444. $see" up --listen here "$DIR"
	fails 2 "sluice up: a secret needs --listen. $see" up --secret-file x "$DIR"
	fails 1 "sluice status: no layer is up. Start one with 'sluice up DIR'." status
}

@test "a second layer on a directory is warned of, and which the other is" {
	mkdir "$DIR/below" "$BATS_TEST_TMPDIR/other"
	"$SLUICE" up --name a "$DIR"
	run -0 --separate-stderr "$SLUICE" up --name b "$DIR"
	[ "$stderr" = "sluice up: warning: layer 'a' serves the same directory. Both use their full capacity, and do not know each other's jobs." ]
	"$SLUICE" down --name b
	run -0 --separate-stderr "$SLUICE" up --name b "$DIR/below"
	[ "$stderr" = "sluice up: warning: layer 'a' serves $DIR. If that is the same file system, both use their full capacity of it." ]
	run -0 --separate-stderr "$SLUICE" up --name c "$BATS_TEST_TMPDIR/other"
	[ "$stderr" = "" ]
}

warns() { # the warning, or "" for none; arguments of sluice
	local message=$1
	shift
	run -0 --separate-stderr "$SLUICE" "$@"
	[ "$stderr" = "${message:+sluice $1: warning: $message}" ] || { echo "got: $stderr"; return 1; }
}

@test "rates that were hardly meant are warned of, wherever they are given" {
	file=$BATS_TEST_TMPDIR/s.yaml
	bare() { echo "$1 is $2: a number without a unit is bytes per second. Write ${2%B/s}M for MB/s."; }
	warns "$(bare "the capacity" 500B/s)" up --capacity 500 "$DIR"
	warns "the capacity is only 600KB/s. Write M for MB/s or G for GB/s." set --capacity 600K
	warns "$(bare --max 10B/s)" run --max 10 -- true
	warns "$(bare --min 20B/s)" run --min 20 -- true
	warns "$(bare --rate 30B/s)" run --rate 30 -- true
	warns "--max is only 5KB/s. Write M for MB/s or G for GB/s." run --job j --max 5K -- true
	warns "$(bare max 40B/s)" set j max=40
	warns "max is only 50B/s. Write M for MB/s or G for GB/s." set j max=50B/s
	# what was meant: a unit, no limit at all, or so many bytes
	warns "" set --capacity 100M
	"$SLUICE" run --job j -- true # on a busy machine the node may have forgotten it
	warns "" set j max=200K
	warns "" set j max=0
	warns "" run --max 5000000 -- true
	"$SLUICE" down
	printf 'capacity: 200\ndirectory: %s\njobs:\n- {job: a, max: 10, weight: 3}\n' "$DIR" >"$file"
	warns "$(bare "the capacity" 200B/s)
sluice up: warning: $(bare "$file:4: job 'a': max" 10B/s)" up --config "$file"
}

@test "a directory must be one" {
	fails 1 "sluice up: cannot use $DIR/none: No such file or directory. Create it with 'mkdir'." up "$DIR/none"
	touch "$DIR/file"
	fails 1 "sluice up: $DIR/file is not a directory." up "$DIR/file"
	fails 2 "sluice up: no directory: give it, or 'directory:' in the file of --config. See 'sluice up --help'." up
}

@test "a directory may have any name, and be reached by another" {
	mkdir "$DIR/with space"
	ln -s "with space" "$DIR/link"
	cd "$DIR"
	run -0 "$SLUICE" up link
	[ "${lines[0]}" = "Layer 'default' is up for $DIR/with space" ]
	"$SLUICE" run --job x -- dd if=/dev/zero of="$DIR/link/f" bs=64K count=4 status=none
	[ "$(job x write_bytes)" -eq 262144 ]
}

@test "several layers by name, one does not know of the other" {
	mkdir "$DIR/a" "$DIR/b"
	"$SLUICE" up --name a "$DIR/a"
	"$SLUICE" up --name b "$DIR/b"
	[ "$("$SLUICE" status --name a --json | jq -r .root)" = "$DIR/a" ]
	[ "$("$SLUICE" status --name b --json | jq -r '.name + " " + .root')" = "b $DIR/b" ]
	for command in status "set j weight=2" "policy set share=wfq" "run -- true" down; do
		# shellcheck disable=SC2086 # words
		fails 1 "sluice ${command%% *}: several layers are up: 'a' for $DIR/a, 'b' for $DIR/b; choose one with --name." $command
	done
	run -0 "$SLUICE" status --all
	[ "${lines[0]}" = "LAYER            STATE      PID  DIRECTORY" ]
	[[ "${lines[1]}" =~ ^a\ +up\ +[0-9]+\ +"$DIR/a"$ ]]
	[[ "${lines[2]}" =~ ^b\ +up\ +[0-9]+\ +"$DIR/b"$ ]]
	[ "$("$SLUICE" status --all --json | jq -c '.layers | map([.name, .state, .root])')" = \
		"[[\"a\",\"up\",\"$DIR/a\"],[\"b\",\"up\",\"$DIR/b\"]]" ]
	"$SLUICE" run --name a --job j -- true
	run -1 --separate-stderr "$SLUICE" set --name b j weight=2
	[ "$stderr" = "sluice set: no job 'j'; see 'sluice status'." ]
	run -0 "$SLUICE" down --name a
	"$SLUICE" status --name b
	run -0 "$SLUICE" up --name a "$DIR/a"
	run -0 "$SLUICE" down --all
	[ "${lines[0]}" = "Layer 'a' is down." ]
	[ "${lines[1]}" = "Layer 'b' is down." ]
}

kill_named() { # layer
	kill -KILL "$(cat "$SLUICE_RUNTIME/$1/pid")"
	local i
	for ((i = 0; i < 400; i++)); do
		flock -n "$SLUICE_RUNTIME/$1/lock" true && return
		sleep 0.05
	done
	return 1
}

@test "a command without --name finds the only layer when its node has died" {
	mkdir "$DIR/a" "$DIR/b"
	"$SLUICE" up --name a "$DIR/a"
	kill_named a
	for words in status "status --json" "run -- true" "top --batch" "set j weight=5" "policy set share=fifo"; do
		# shellcheck disable=SC2086 # a list of words
		run -1 --separate-stderr "$SLUICE" $words
		echo "$words: $stderr"
		[[ "$stderr" == *"the node of layer 'a' has died; its log is $SLUICE_RUNTIME/a/log. 'sluice up --name a --revive' restarts it"* ]]
	done
	# The dashboard of a dead layer shows that it is dead.
	run -0 "$SLUICE" dashboard --json
	[ "$(jq -r .name <<<"$output")" = a ]
	"$SLUICE" dashboard --stop
	run -0 "$SLUICE" up --revive
	[[ "$output" == *"The node is back (pid "* ]]
	[ "$("$SLUICE" status --json | jq -r .name)" = a ]
	# Two dead ones: which is meant? One that is up comes first.
	"$SLUICE" up --name b "$DIR/b"
	kill_named a
	[ "$("$SLUICE" status --json | jq -r .name)" = b ]
	kill_named b
	fails 1 "sluice status: several layers have died: 'a' for $DIR/a, 'b' for $DIR/b; choose one with --name." status
}

@test "a command without --name means the only layer, whatever its name, or the default" {
	mkdir "$DIR/a" "$DIR/b"
	"$SLUICE" up --name a "$DIR/a"
	[ "$("$SLUICE" status --json | jq -r .name)" = a ]
	"$SLUICE" run --job j -- dd if=/dev/zero of="$DIR/a/f" bs=64K count=2 status=none
	"$SLUICE" set j weight=5
	"$SLUICE" policy set share=fifo
	[ "$("$SLUICE" status --name a --json | jq -c '[.share, .jobs[0].weight, .jobs[0].write_bytes]')" = '["fifo",5,131072]' ]
	# but once there is a default, that, and nothing else in its place when it has died
	"$SLUICE" up "$DIR/b"
	[ "$("$SLUICE" status --json | jq -r .name)" = default ]
	kill_node
	run -1 --separate-stderr "$SLUICE" run -- true
	[[ "$stderr" == "sluice run: the node of layer 'default' has died"* ]]
	run -1 --separate-stderr "$SLUICE" down
	run -0 "$SLUICE" down
	[ "$output" = "Layer 'a' is down." ]
	run -0 "$SLUICE" status --all
	[ "$output" = "No layer is up: 'sluice up DIR' starts one." ]
	fails 2 "sluice status: --all cannot be combined with --name or --watch. See 'sluice status --help'." status --all --name a
}

@test "names and the runtime directory are checked" {
	for name in '' . .. a/b -x "$(printf 'a\nb')" aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; do
		run -2 --separate-stderr "$SLUICE" up --name "$name" "$DIR"
		[[ "$stderr" == *"is not a valid name of a layer"* ]]
	done
	chmod 755 "$SLUICE_RUNTIME"
	run -1 --separate-stderr "$SLUICE" up "$DIR"
	[[ "$stderr" == *"is open to others. Close it with 'chmod 700"* ]]
	chmod 700 "$SLUICE_RUNTIME"
	long=$BATS_TEST_TMPDIR/$(printf 'x%.0s' {1..120})
	mkdir -m 700 "$long"
	SLUICE_RUNTIME=$long run -1 --separate-stderr "$SLUICE" up "$DIR"
	[[ "$stderr" == *"107 bytes that the path of a socket may have"* ]]
}

@test "another user can neither use nor imitate a layer" {
	if [ "$(id -u)" -ne 0 ]; then
		skip "only root can become another user"
	fi
	nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	theirs=$SLUICE_RUNTIME-theirs
	mkdir -m 755 "$theirs"
	cp "$SLUICE" "$SLUICE-tools" "$theirs" # they may not be able to reach ours
	"$SLUICE" up "$DIR"
	# by the files
	run -1 --separate-stderr nobody "$theirs/sluice" status
	[[ "$stderr" == *"the runtime directory $SLUICE_RUNTIME belongs to user 0"* ]]
	# and by the socket itself, were it open to all
	mkdir -m 700 "$theirs/runtime"
	ln -s "$SLUICE_RUNTIME/default" "$theirs/runtime/default"
	chown -h 65534 "$theirs/runtime" "$theirs/runtime/default"
	chmod 711 "$SLUICE_RUNTIME" "$SLUICE_RUNTIME/default"
	chmod 777 "$SLUICE_RUNTIME/default/node.sock"
	SLUICE_RUNTIME=$theirs/runtime run -1 --separate-stderr nobody "$theirs/sluice" status
	[ "$output" = "" ]
	grep -q "peer refused: uid" "$SLUICE_RUNTIME/default/log"
	# nor is what they put there taken for the user's own
	SLUICE_RUNTIME=$theirs/runtime run -1 --separate-stderr "$SLUICE" up "$DIR"
	[[ "$stderr" == *"belongs to user 65534"* ]]
	rm -rf "$theirs"
}

@test "sluice.yaml: a layer from a file, the command line wins" {
	mkdir "$BATS_TEST_TMPDIR/conf" "$BATS_TEST_TMPDIR/conf/data"
	cat >"$BATS_TEST_TMPDIR/conf/sluice.yaml" <<-END
		name: filed
		directory: data
		capacity: 200MB/s
		workers: 2
		device_model: ssd
		trace: t.trace
		log_level: debug
		policy:
		  share: io-sets
		  order: aioli,wait_us=100
		jobs:
		  - job: climate
		    min: 100MB/s
		    period: 20s
		  - {job: "17", max: 10M, weight: 3}
	END
	"$SLUICE" up --config "$BATS_TEST_TMPDIR/conf/sluice.yaml" --policy order=sjf --workers 1
	run -0 "$SLUICE" status --name filed --json
	[ "$(jq -r .root <<<"$output")" = "$(realpath "$BATS_TEST_TMPDIR/conf/data")" ]
	[ "$(jq -c '[.capacity_bps, .floors_bps, .workers]' <<<"$output")" = "[200000000,100000000,1]" ]
	[ "$(jq -c '[.policy.share, .policy.order]' <<<"$output")" = '["io-sets","sjf"]' ]
	[ "$(jq -c '.jobs | sort_by(.job) | map([.job, .asked_min_bps, .max_bps, .weight, .set])' \
		<<<"$output")" = '[["17",0,10000000,3,null],["climate",100000000,0,1,1]]' ]
	tr '\0' ' ' <"/proc/$(cat "$SLUICE_RUNTIME/filed/pid")/cmdline" | grep -q -- "--device-model ssd .*--log debug "
	[ -e "$BATS_TEST_TMPDIR/conf/t.trace" ]
	# what the file promises is promised
	run -1 --separate-stderr "$SLUICE" run --name filed --min 150M -- true
	[ "$stderr" = "sluice run: min 150MB/s does not fit: 100MB/s of 200MB/s are promised to other jobs." ]
	# its jobs are not forgotten for want of use
	sleep 3
	[ "$("$SLUICE" status --name filed --json | jq '[.jobs[].job] | length')" -eq 2 ]
}

@test "sluice.yaml: mistakes are told with their line, and nothing is started" {
	file=$BATS_TEST_TMPDIR/s.yaml
	see="See 'sluice up --help'."
	printf 'directory: %s\ncapcity: 2G\n' "$DIR" >"$file"
	run -2 --separate-stderr "$SLUICE" up --config "$file"
	[[ "$stderr" == "sluice up: $file:2: the file has no key 'capcity' (did you mean 'capacity'?); there are name, "*"rules. $see" ]]
	printf 'capacity: fast\n' >"$file"
	fails 2 "sluice up: $file:1: capacity: 'fast' is not a rate; write 200M, 1.5Gi, 100MB/s or auto. $see" up --config "$file" "$DIR"
	printf 'workers: 2\nlog_level: loud\n' >"$file"
	fails 2 "sluice up: $file:2: log_level: 'loud' is not a log level; write error, warn, info or debug. $see" up --config "$file" "$DIR"
	printf 'policy:\n  share: [wfq]\n' >"$file"
	fails 2 "sluice up: $file:2: share is a policy like wfq or aioli,wait_us=500, not a list. $see" up --config "$file" "$DIR"
	printf 'name: {\n' >"$file"
	run -2 --separate-stderr "$SLUICE" up --config "$file" "$DIR"
	[[ "$stderr" == "sluice up: $file:"*": this is not YAML: "* ]]
	printf 'capacity: 100M\njobs:\n- {job: a, min: 60M}\n- {job: b, min: 60M}\n' >"$file"
	run -2 --separate-stderr "$SLUICE" up --config "$file" "$DIR"
	[ "$stderr" = "sluice up: $file:4: min 60MB/s does not fit: 60MB/s of 100MB/s are promised to other jobs. $see" ]
	printf 'capacity: 100M\njobs:\n- {job: a, min: 60M, max: 20M}\n' >"$file"
	fails 2 "sluice up: $file:3: min 60MB/s is above max 20MB/s. $see" up --config "$file" "$DIR"
	printf 'jobs:\n- {job: a, min: 60M}\n' >"$file"
	fails 2 "sluice up: $file:2: a min needs a layer of known capacity: give 'capacity:' in the file, or --capacity. $see" up --config "$file" "$DIR"
	fails 1 "sluice up: cannot read $file.none: No such file or directory." up --config "$file.none"
	fails 1 "sluice status: no layer is up. Start one with 'sluice up DIR'." status
}
