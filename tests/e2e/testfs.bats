# SPDX-License-Identifier: Apache-2.0
# The file system for tests, and what is measured on it: short forms of `sluice bench wire`.
bats_require_minimum_version 1.5.0
load live

setup() {
	live_setup
	TESTFS=$SOURCE_DIR/scripts/testfs
	FS=$BATS_TEST_TMPDIR/fs
	mkdir "$FS"
}

teardown() {
	live_teardown
	[ ! -d "$FS" ] || "$TESTFS" stop "$FS" 2>/dev/null || true
}

start_fs() {
	local why
	if ! why=$("$TESTFS" check 2>&1); then
		skip "${why#scripts/testfs: }"
	fi
	"$TESTFS" start --size 512Mi --read 100M --write 100M "$FS"
}

@test "the test file system starts, counts, is throttled, and leaves nothing behind" {
	start_fs
	run -1 "$TESTFS" start "$FS"
	[[ "$output" == *"has one already"* ]]
	before=$("$TESTFS" count "$FS" | cut -d' ' -f4)
	dd if=/dev/zero of="$FS/a" bs=1M count=32 conv=fsync status=none
	after=$("$TESTFS" count "$FS" | cut -d' ' -f4)
	[ $((after - before)) -ge $((32 << 20)) ]
	# At 10 MB/s 32 MiB take 3 s at least, however busy the machine is.
	"$TESTFS" set --write 10M "$FS"
	begin=$(date +%s%N)
	dd if=/dev/zero of="$FS/a" bs=1M count=32 conv=fsync status=none
	[ $((($(date +%s%N) - begin) / 1000000)) -ge 2500 ]
	loop=$(findmnt -n -o SOURCE "$FS")
	losetup "$loop"
	"$TESTFS" stop "$FS"
	run ! mountpoint -q "$FS"
	until_true 10 eval '! losetup '"$loop"' 2>/dev/null'
	run -1 "$TESTFS" count "$FS"
}

@test "a start that is killed at any moment leaves nothing that 'stop' does not remove" {
	local after
	start_fs
	"$TESTFS" stop "$FS"
	for after in .02 .04 .06 .08 .1 .15; do
		# All of its process group, as by the end of a terminal or of a batch job.
		timeout --signal KILL "$after" "$TESTFS" start --size 64Mi "$FS" || true
		[ ! -d "/run/sluice-testfs/${FS//\//-}" ] || "$TESTFS" stop "$FS"
		run ! mountpoint -q "$FS"
		until_true 10 eval '! losetup -n -O BACK-FILE | grep -F "${FS//\//-}"'
	done
}

@test "wrong use of the test file system says what is wrong" {
	run -2 "$TESTFS" start --kind zfs "$FS"
	[[ "$output" == *"there is no kind 'zfs'"* ]]
	run -2 "$TESTFS" start --size big "$FS"
	run -2 "$TESTFS" frobnicate
	run -0 "$TESTFS" --help
	run -2 "$SLUICE" bench wire
	[[ "$output" == *"no directory given"* ]]
	run -2 "$SLUICE" bench wire --rows nothing "$FS"
}

found() { # bytes a second, within a quarter
	[ "$(status "(.capacity_auto.write_bps - $1 | fabs) <= $1 / 4")" = true ]
}

# How fast it is found: sluice bench wire.
@test "capacity auto finds the bandwidth of two writers, and again when it changes" {
	start_fs
	compile live-load
	"$TESTFS" set --write 20M "$FS"
	"$SLUICE" up --capacity auto "$FS"
	start_load a -- "$BIN/live-load" -T 200 -t 2 -d "$FS/a"
	start_load b -- "$BIN/live-load" -T 200 -t 2 -d "$FS/b"
	for bps in 20000000 10000000 20000000; do
		"$TESTFS" set --write "$bps" "$FS"
		until_true 60 found "$bps"
	done
	end_load 0
	end_load 1
}

@test "with capacity auto a job alone is never held, and status says what is known" {
	start_fs
	"$SLUICE" up --capacity auto "$FS"
	"$SLUICE" run --job a --min 10M -- dd if=/dev/zero of="$FS/a" bs=1M count=64 oflag=direct status=none
	[ "$(status .capacity_auto.state)" = clear ]
	[ "$(status .capacity_auto.paced_bps)" = 0 ]
	[ "$(status .capacity_auto.sensor)" = block ]
	run -0 "$SLUICE" status
	[[ "$output" == *"Capacity: auto"*"no job is held now"* ]]
	"$SLUICE" set --capacity 50M
	[ "$(status .capacity_auto)" = null ]
	[ "$(status .capacity_bps)" = 50000000 ]
	"$SLUICE" set --capacity auto
	[ "$(status .capacity_auto.state)" = clear ]
	[ "$(status .capacity_auto.mounted_below)" = null ]
	# A layer above it: auto finds one number for two file systems, and status says so.
	"$SLUICE" down
	"$SLUICE" up --capacity auto "$BATS_TEST_TMPDIR"
	until_true 10 eval '[ "$(status .capacity_auto.mounted_below)" = "$FS" ]'
	run -0 "$SLUICE" status
	[[ "$output" == *"mounted at $FS."* ]]
}

@test "a sensor that knows the capacity is obeyed while two jobs run" {
	echo 20000000 >"$BATS_TEST_TMPDIR/number"
	"$SLUICE" up --capacity "auto,capacity=command:cat $BATS_TEST_TMPDIR/number" "$DIR"
	compile live-load
	start_load a -- "$BIN/live-load" -T 100 -t 1 "$DIR/a"
	start_load b -- "$BIN/live-load" -T 100 -t 1 "$DIR/b"
	until_true 10 eval '[ "$(status .capacity_auto.paced_bps)" = 20000000 ]'
	[ "$(status .capacity_auto.state)" = told ]
	end_load 0
	end_load 1
	"$SLUICE" down
	# A command that hangs neither delays the end of the node nor outlives it.
	"$SLUICE" up --capacity "auto,queue=command:sleep 4711$$" "$DIR"
	until_true 10 pgrep -f "sleep 4711$$"
	"$SLUICE" down
	until_true 10 eval '! pgrep -f "sleep 4711$$"'
	run -1 --separate-stderr "$SLUICE" up --name other --capacity auto,weather "$DIR"
	[[ "$stderr" == *"is no sensor"* ]]
}
