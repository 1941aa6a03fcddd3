# SPDX-License-Identifier: Apache-2.0
# What the tests of a whole layer under load share. Each has a directory, a runtime directory and
# processes of its own; whatever it leaves behind is stopped by its pid and removed.
#
#	live_setup                 $DIR, in memory if there is a /dev/shm; $SLUICE_RUNTIME
#	compile PROGRAM [FLAGS]    tests/e2e/programs/PROGRAM.c into $BIN, with $CC
#	start_load JOB OPTIONS -- COMMAND
#	                           `sluice run` in the background, pid in $LOADS
#	end_load INDEX             end it; fails if it had something to complain about
#	served JOB…                bytes that the node has moved, and its clock in ms
#	within PERCENT A B         true if A is B, give or take
#
# It also has node_pid, kill_node and fails of layer.bash, and until_true of wait.bash. A file that
# needs more than live_setup and live_teardown defines setup or teardown behind the line that loads this.
load layer

SOURCE_DIR=${SOURCE_DIR:-$PWD}
CC=${CC:-cc}
BIN=${BATS_FILE_TMPDIR:-}

live_setup() {
	clean_environment
	if [ -w /dev/shm ]; then
		DIR=$(mktemp -d /dev/shm/sluice-live-XXXXXX)
	else
		DIR=$(mktemp -d "$BATS_TEST_TMPDIR/XXXXXX")
	fi
	SLUICE_RUNTIME=$(mktemp -d /tmp/sluice-live-XXXXXX)
	export SLUICE_RUNTIME
	LOADS=()
}

live_teardown() {
	local pid
	for pid in "${LOADS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	"$SLUICE" down --all --if-up --timeout 20 >/dev/null || cat "$SLUICE_RUNTIME"/*/log
	rm -rf "$SLUICE_RUNTIME" "$DIR"
}

setup() {
	live_setup
}

teardown() {
	live_teardown
}

compile() { # program, flags
	local program=$1
	shift
	# shellcheck disable=SC2086 # $CC may have arguments
	$CC -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -pthread -o "$BIN/$program" \
		"$SOURCE_DIR/tests/e2e/programs/$program.c" "$@"
}

start_load() { # job, options of run, --, command
	local job=$1
	shift
	"$SLUICE" run --job "$job" "$@" <&0 3>&- &
	LOADS+=($!)
}

# End a load by its number, and see that it was content.
end_load() { # index in LOADS
	kill -TERM "${LOADS[$1]}"
	wait "${LOADS[$1]}"
}

status() { # jq filter
	"$SLUICE" status --json | jq -r "$1"
}

job() { # job, key of its status: null if there is none
	status "[.jobs[] | select(.job == \"$1\")][0].$2"
}

# "MS BYTES…": the node's own clock and counters, taken at one moment.
served() { # job…
	local jobs
	jobs=$(printf '"%s",' "$@")
	status "[(.uptime_s * 1000 | round), ([${jobs%,}][] as \$j | [.jobs[] | select(.job == \$j) |
		.read_bytes + .write_bytes] | add // 0)] | @tsv" | tr '\t' ' '
}

within() { # percent, got, expected
	awk -v p="$1" -v a="$2" -v b="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= b * p / 100) }'
}
