# SPDX-License-Identifier: Apache-2.0
# The page of a running layer in a real browser: tests/dashboard/live.mjs does the looking. That no
# other host is asked and no error logged is checked each time.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile live-load
}

setup() {
	live_setup
	export SLUICE
}

# A job that always has something to write.
greedy() { # job, options of run
	local job=$1
	shift
	start_load "$job" "$@" -- "$BIN/live-load" -t 4 -T 300 "$DIR/$job" >/dev/null
	until_true 20 moves "$job"
}

moves() { # job
	[ "$(job "$1" write_bytes)" -gt 0 ]
}

up() { # options of up
	"$SLUICE" up --charge calls "$@" "$DIR" >/dev/null
	"$SLUICE" dashboard --port 0 >/dev/null
}

browse() { # case
	export LOAD_PIDS="${LOADS[*]}"
	run "$SOURCE_DIR/tests/dashboard/run" "$SOURCE_DIR/tests/dashboard/live.mjs" "$1"
	if [[ "$output" == "1..0 # SKIP "* ]]; then
		skip "${output#1..0 # SKIP }"
	fi
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "the page shows the numbers of sluice status" {
	up --ionodes 2 --capacity 100M
	greedy a --max 20M
	greedy b --max 10M --min 5M --weight 3
	browse numbers
}

@test "a max, a weight and policies set on the page are obeyed by the layer" {
	up --ionodes 2 --capacity 100M
	greedy a
	browse steer
}

@test "what if: the simulator answers for the jobs that run" {
	up --ionodes 2 --capacity 100M --gap 200ms
	# shellcheck disable=SC2016 # for that shell
	start_load p -- sh -c 'while sleep 0.5; do dd if=/dev/zero of="$0" bs=1M count=20 status=none; done' "$DIR/p"
	browse what-if
}

@test "the page survives the controller and its own server" {
	up --ionodes 2 --capacity 100M
	greedy a --max 20M
	browse restarts
}

@test "a page at another address survives its server, too" {
	"$SLUICE" up "$DIR" >/dev/null
	"$SLUICE" dashboard --listen 0.0.0.0 --port 0 >/dev/null
	browse elsewhere
}
