# SPDX-License-Identifier: Apache-2.0
# The gate: programs that the library cannot be in are scheduled all the same, and nothing of a job
# passes unseen. Times are only compared with what a limit makes them take at least: a busy machine
# is slower, never faster.
bats_require_minimum_version 1.5.0
load layer

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	local source=$SOURCE_DIR/tests/e2e/programs/gated.c
	$CC -std=gnu17 -D_GNU_SOURCE -w -O2 -o dynamic "$source" -lpthread
	$CC -std=gnu17 -D_GNU_SOURCE -w -O2 -static -no-pie -o static "$source" -lpthread
	musl-gcc -std=gnu17 -D_GNU_SOURCE -w -O2 -static -o musl "$source"
}

setup() {
	layer_setup
	unset SLUICE_GATE SLUICE_IO_URING
	P=$BATS_FILE_TMPDIR
	"$SLUICE" up "$DIR"
	"$SLUICE" doctor | grep -Eq 'gate .*programs can run behind a gate' || skip 'no seccomp user notification here'
}

teardown() {
	[ -z "${PROGRAM:-}" ] || kill -9 "$PROGRAM" 2>/dev/null || true
	layer_teardown
}

# Keepers and supervisors of a job, by the command line of the program that they are for.
gates() { # the program
	local p
	for p in $(grep -slFx sluice-gate /proc/[0-9]*/comm); do
		p=${p%/comm}
		! grep -szFxq "$1" "$p/cmdline" || echo "${p#/proc/}" # of a zombie it is empty
	done
}

parent() { # pid
	awk '/^PPid/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

# Of the program: in the session of its parent, the keeper. While the gate is put on, other processes
# are called so, too. A keeper that a supervisor has started is in the session of an earlier one.
supervisor() {
	local pid stat
	for pid in $(gates "$1"); do
		read -ra stat <<<"$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null)"
		[ -z "${stat[1]:-}" ] || [ "${stat[1]}" != "${stat[3]}" ] || { echo "$pid"; return; }
	done
}

written_is() { # job, bytes
	[ "$(job "$1" write_bytes)" -eq "$2" ]
}

within() { # job, key, bytes: five percent more or less
	local value
	for _ in $(seq 100); do
		value=$(job "$1" "$2")
		[ "$value" -lt $(($3 * 95 / 100)) ] || break
		sleep 0.02
	done
	echo "$1: $2 is $value, not $3"
	[ "$value" -ge $(($3 * 95 / 100)) ] && [ "$value" -le $(($3 * 105 / 100)) ]
}

# 10 MB at 10 MB/s, and all of them are counted.
held() { # job, command: prints milliseconds
	local name=$1 ms
	shift
	ms=$("$SLUICE" run --max 10M --job "$name" "$@") || { echo "$ms"; return 1; }
	[ "$ms" -ge 800 ] || { echo "$name: 10 MiB took $ms ms"; return 1; }
	until_true 5 written_is "$name" 10485760 || # not longer than the node keeps a job that has ended
		{ echo "$name: counted $("$SLUICE" status --json | jq -c ".jobs[] | select(.job == \"$name\")")"; return 1; }
}

@test "static programs, raw system calls and other ABIs are held by a max, and counted" {
	local failed=0 pids=() pid
	held static -- "$P/static" write "$DIR/static" 10 & pids+=($!)
	held writev -- "$P/static" writev "$DIR/writev" 10 & pids+=($!)
	held sendfile -- "$P/static" sendfile "$DIR/sendfile" 10 & pids+=($!)
	held i386 -- "$P/static" i386 "$DIR/i386" 10 & pids+=($!)
	held aio -- "$P/static" aio "$DIR/aio" 10 & pids+=($!)
	held raw --intercept gate -- "$P/dynamic" raw "$DIR/raw" 10 & pids+=($!)
	held unset -- env -u LD_PRELOAD "$P/dynamic" write "$DIR/unset" 10 & pids+=($!)
	held clean -- env -i "$P/dynamic" write "$DIR/clean" 10 & pids+=($!)
	held dynamic -- "$P/dynamic" write "$DIR/dynamic" 10 & pids+=($!)
	held musl -- "$P/musl" write "$DIR/musl" 10 & pids+=($!)
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	[ "$failed" -eq 0 ]
	[ "$(job static unscheduled_bytes)" -eq 0 ]
}

@test "a script that starts all kinds of programs is one job, and each of them is held" {
	local ms
	cat >"$BATS_TEST_TMPDIR/script" <<-END
		#!/bin/sh
		"$P/static" write "$DIR/a" 4
		"$P/dynamic" write "$DIR/b" 4
		sh -c 'env -u LD_PRELOAD "$P/dynamic" write "$DIR/c" 2; exit 0'
	END
	chmod +x "$BATS_TEST_TMPDIR/script"
	held script -- sh -c "$BATS_TEST_TMPDIR/script | awk '{ s += \$1 } END { print s }'"
	# once more, behind one gate for all
	held gated --intercept gate -- sh -c "$BATS_TEST_TMPDIR/script | awk '{ s += \$1 } END { print s }'"
}

@test "reads are charged for what a file has, and with --intercept preload nothing is seen" {
	head -c 1000000 /dev/zero >"$DIR/short"
	"$SLUICE" run --job cat --intercept gate -- cat "$DIR/short" >/dev/null
	until_true test "$(job cat read_bytes)" -ge 1000000
	[ "$(job cat read_bytes)" -lt 1100000 ]
	"$SLUICE" run --job blind --intercept preload -- "$P/static" write "$DIR/x" 1
	[ "$(job blind write_bytes)" -eq 0 ]
	"$SLUICE" run --job left --bypass static -- "$P/static" write "$DIR/x" 1
	[ "$(job left write_bytes)" -eq 0 ]
}

@test "a call that waits for its turn holds no other" {
	local wrote
	wrote=$("$SLUICE" run --max 100K --intercept gate -- "$P/static" beside "$DIR/x")
	[ "$wrote" -lt 60 ] # 400 calls on a pipe, while 4 MB take 40 s
}

@test "behind a gate io_uring is refused, and mappings are reported" {
	[ "$("$SLUICE" run -- "$P/static" uring)" -eq 38 ]
	[ "$("$SLUICE" run --io-uring allow -- "$P/static" uring)" -ne 38 ] ||
		[ "$("$P/static" uring)" -eq 38 ]
	"$SLUICE" run --job map -- "$P/static" map "$DIR/map" 80 # writes a quarter of it
	within map unscheduled_bytes 20971520
	"$SLUICE" status | grep -q 'Unscheduled: *2[0-9.]*MB of job map'
	"$SLUICE" report | grep -q 'Unscheduled: .* of job map'
	"$SLUICE" run --job window --strict -- "$P/dynamic" window "$DIR/window" 20
	within window unscheduled_bytes 20971520
}

@test "many mappings are counted once, and files by other mounts as the layer's" {
	"$SLUICE" run --job many --intercept gate -- "$P/static" windows "$DIR/many" 100 &
	local pid=$! jail=$BATS_TEST_TMPDIR/jail
	mkdir -p "$jail/data" "$jail/tmp"
	cp "$P/static" "$jail"
	if unshare -m mount --bind "$DIR" "$jail/data"; then
		"$SLUICE" run --job bind --strict -- unshare -m sh -c "mount --bind '$DIR' '$jail/data' &&
			'$P/static' write '$jail/data/x' 1 && exec chroot '$jail' /static write /data/y 2"
		until_true written_is bind 3145728
	fi
	wait "$pid"
	within many unscheduled_bytes 26214400
}

@test "a file whose path is too long to be read is the layer's" {
	"$SLUICE" run --job deep --strict -- python3 -c '
import os, sys; os.chdir(sys.argv[1])
for _ in range(20): os.mkdir("d" * 250); os.chdir("d" * 250)
os.pwrite(os.open("f", os.O_CREAT | os.O_WRONLY), bytes(1000), 0)' "$DIR"
	until_true 5 written_is deep 1000
}

@test "a call that the kernel refuses is not held, and one whose memory does not come holds no other" {
	local how
	for how in --strict "--intercept gate" "--intercept preload"; do
		run -0 timeout 60 "$SLUICE" run --max 1M $how -- "$P/dynamic" huge "$DIR/huge"
		[ "$output" -eq 14 ] || [ "$output" -eq 22 ] # EFAULT, EINVAL
	done
	run timeout 60 "$SLUICE" run -- "$P/static" stuck "$DIR/stuck"
	[ "$status" -eq 77 ] || { [ "$status" -eq 0 ] && [ "$output" -lt 30000 ]; }
}

@test "without what later kernels can, and where Yama is, calls are held all the same" {
	local old
	for old in killable pidfd yama; do
		printf '#!/bin/sh\nexec "%s" old %s "%s" "$@"\n' "$P/static" "$old" "$SLUICE" >"$BATS_TEST_TMPDIR/$old"
		chmod +x "$BATS_TEST_TMPDIR/$old"
		SLUICE=$BATS_TEST_TMPDIR/$old held "$old" -- "$P/static" write "$DIR/$old" 10
	done
	SLUICE_GATE_WAKE=async held async -- "$P/static" write "$DIR/async" 10
	"$BATS_TEST_TMPDIR/yama" run --job blind -- "$P/static" writev "$DIR/blind" 1
	[ "$(job blind write_bytes)" -eq 0 ] # documented: vectors cannot be read
}

@test "what a mapping has moved is charged: the next call waits for it" {
	local begin end
	begin=$(date +%s%N)
	"$SLUICE" run --job debt --max 10M -- "$P/static" mapwrite "$DIR/debt" 40 # maps a quarter of it
	end=$(date +%s%N)
	[ $((end - begin)) -ge 800000000 ]
}

@test "the library makes its calls past the supervisor, unless the gate is strict" {
	local page='5354550000-' # where it makes them: client/gate/filter.h
	run -0 "$SLUICE" run --intercept gate --job a -- grep -c "$page" /proc/self/maps
	[ "$output" = 1 ]
	run -1 "$SLUICE" run --strict --job b -- grep -c "$page" /proc/self/maps
	run -1 "$SLUICE" run --job c -- grep -c "$page" /proc/self/maps # no gate
	# Both ways a call is held and counted, and once.
	held loose --intercept gate -- "$P/dynamic" write "$DIR/loose" 10 & local pid=$!
	held strict --strict -- "$P/dynamic" write "$DIR/strict" 10
	wait "$pid"
	# Behind the gate of a job, calls of another one are the first one's.
	"$SLUICE" run --intercept gate --job outer -- "$SLUICE" run --job inner -- "$P/dynamic" write "$DIR/in" 1 >/dev/null
	until_true written_is outer 1048576
	[[ "$(job inner write_bytes)" =~ ^(0|null)$ ]]
	# Set-user-ID programs, --bypass and scripts without "#!" have the gate, too.
	"$SLUICE" run --strict --bypass dynamic --job bypass -- "$P/dynamic" write "$DIR/by" 1 >/dev/null
	until_true written_is bypass 1048576
	echo "$P/static write $DIR/script 1" >"$BATS_TEST_TMPDIR/plain"
	chmod +x "$BATS_TEST_TMPDIR/plain"
	"$SLUICE" run --strict --job plain -- "$BATS_TEST_TMPDIR/plain" >/dev/null
	until_true written_is plain 1048576
	run -2 "$SLUICE" run --strict --intercept preload -- true
}

@test "a layer can ask for a strict gate before all programs of its jobs" {
	local strict='grep -q "^Seccomp:.*2" /proc/self/status && ! grep -q 5354550000- /proc/self/maps'
	"$SLUICE" down >/dev/null
	"$SLUICE" up --intercept strict "$DIR"
	"$SLUICE" run -- sh -c "$strict"
	"$SLUICE" run --bypass sh -- sh -c "$strict"
	# A shell that runs already has no library: gates begin with what its programs start.
	bash -c 'eval "$("$SLUICE" run --print-env --bypass sh --job env 2>/dev/null)" && sh -c "$1"' bash "$strict"
	run -2 "$SLUICE" run --strict --print-env
	run -1 --separate-stderr "$SLUICE" run --intercept preload -- true
	[[ "$stderr" == *"requires a strict gate"*"leave out --intercept." ]]
	run -1 --separate-stderr "$SLUICE" run --mode forward -- true
	[[ "$stderr" == *"leave out --mode forward." ]]
}

@test "a program that nobody can supervise runs without a gate, and a line says so" {
	local mute=$BATS_TEST_TMPDIR/mute.so
	echo 'int sendmsg(void) { return -1; }' | $CC -w -shared -fPIC -x c -o "$mute" - # the listener is not passed on
	run -0 --separate-stderr env LD_PRELOAD="$mute" ASAN_OPTIONS=verify_asan_link_order=0 \
		"$SLUICE" run -- "$P/static" write "$DIR/alone" 1
	[[ "$stderr" == *"is not scheduled: the supervisor could not be started" ]]
	[ "$(stat -c %s "$DIR/alone")" -eq 1048576 ]
	run -126 env LD_PRELOAD="$mute" ASAN_OPTIONS=verify_asan_link_order=0 \
		"$SLUICE" run --strict -- "$P/static" write "$DIR/none" 1
	[ ! -e "$DIR/none" ]
}

@test "a program gets its own arguments, environment, descriptors and errors" {
	local how direct=0 gated=0
	cd "$BATS_TEST_TMPDIR"
	for how in spawn fexec execlp; do
		run -0 env -i PATH="$PATH" SLUICE_RUNTIME="$SLUICE_RUNTIME" \
			"$SLUICE" run --job show -- sh -c "'$P/dynamic' $how '$P/static' >gated; echo \$?"
		[ "$output" = 7 ]
		env -i PATH="$PATH" sh -c "'$P/dynamic' $how '$P/static'" >direct || [ $? -eq 7 ]
		# execlp() passes on the environment of the job
		diff <(grep -Ev '^(SLUICE|LD_PRELOAD|ASAN|_=|PWD)' direct) \
			<(grep -Ev '^(SLUICE|LD_PRELOAD|ASAN|_=|PWD)' gated)
	done
	# exec fails as it does without a gate
	printf '#!%s\n' "$P/nowhere" >lost
	chmod +x lost
	run -7 "$P/dynamic" execlp "$P/static"
	"$P/dynamic" execlp ./lost || direct=$?
	gated=0
	"$SLUICE" run -- "$P/dynamic" execlp ./lost || gated=$?
	[ "$gated" -eq "$direct" ]
	$CC -o orphan -Wl,--dynamic-linker="$P/nowhere" -x c - <<<'int main(void) { return 0; }'
	direct=0 gated=0
	"$P/dynamic" execlp ./orphan || direct=$?
	"$SLUICE" run -- "$P/dynamic" execlp ./orphan || gated=$?
	[ "$direct" -eq 2 ] && [ "$gated" -eq 2 ] # ENOENT
	run -127 "$SLUICE" run -- sh -c "$P/nowhere"
	run -126 "$SLUICE" run -- sh -c "$DIR"
	run -7 "$SLUICE" run -- "$P/static" show
}

@test "the supervisor is killed 20 times, and the keeper: no call fails, and then both end" {
	local pid n=0
	"$SLUICE" run --max 100M --job load --intercept gate -- "$P/static" load "$DIR/load" 4 >out &
	PROGRAM=$!
	for _ in $(seq 600); do
		pid=$(supervisor "$P/static")
		[ -n "$pid" ] && kill -9 "$pid" 2>/dev/null && n=$((n + 1))
		[ "$n" -lt 20 ] || break
		sleep 0.02
	done
	[ "$n" -eq 20 ]
	there() { pid=$(supervisor "$P/static") && [ -n "$pid" ]; }
	until_true there
	kill -9 "$(parent "$pid")"
	two() { [ "$(gates "$P/static" | wc -l)" -eq 2 ]; }
	until_true two
	kill -9 "$pid"
	until_true two
	kill -TERM "$PROGRAM"
	wait "$PROGRAM"
	PROGRAM=
	read -r errors longest calls <out
	echo "errors $errors, longest round $longest ms, $calls calls"
	[ "$errors" -eq 0 ]
	[ "$longest" -lt 10000 ]
	[ "$calls" -gt 100 ]
	none() { [ -z "$(gates "$P/static")" ]; }
	until_true none
}

@test "--summary says what went through the layer and past it, and ends as the program does" {
	run -0 --separate-stderr "$SLUICE" run --summary --job sum --max 10M --intercept gate -- \
		"$P/static" write "$DIR/x" 3
	[[ $stderr == 'sluice: job sum: 0B read, 3.15MB written through the layer; held '*'unscheduled: 0B' ]]
	run -3 --separate-stderr "$SLUICE" run --summary --job sum2 -- sh -c 'exit 3'
	[[ $stderr == *'not held; unscheduled: 0B, and at most '*' unseen (other files and pipes included)' ]]
	run -143 --separate-stderr "$SLUICE" run --summary -- sh -c 'kill -TERM $$; sleep 5'
	run -0 --separate-stderr "$SLUICE" run -- true
	[ "$stderr" = "" ]
}
