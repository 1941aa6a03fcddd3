# SPDX-License-Identifier: Apache-2.0
# What the tests of layers share: each has a directory and a runtime directory of its own, and
# whatever it leaves running is stopped by its pid. A file that needs more than layer_setup and
# layer_teardown defines setup or teardown behind the line that loads this.
load wait
load fails

# Nothing of the user's own jobs and settings.
clean_environment() {
	SLUICE=${SLUICE:-build/cli/sluice}
	unset SLUICE_JOB_ID SLURM_JOB_ID PBS_JOBID LSB_JOBID FLUX_JOB_ID SLUICE_JOB_CONF
	unset SLUICE_MODE SLUICE_TIMEOUT SLUICE_FALLBACK SLUICE_BYPASS SLUICE_LOG SLUICED SLUICE_PRELOAD
	# For builds with the address sanitizer: a library may be preloaded into sluice too.
	export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
}

layer_setup() {
	clean_environment
	DIR=$BATS_TEST_TMPDIR/dir
	mkdir "$DIR"
	DIR=$(realpath "$DIR")
	# The path of a socket is short; that of a test need not be.
	SLUICE_RUNTIME=$(mktemp -d /tmp/sluice-e2e-XXXXXX)
	export SLUICE_RUNTIME
}

layer_teardown() {
	chmod 700 "$SLUICE_RUNTIME"
	"$SLUICE" down --all --if-up --timeout 20 >/dev/null || cat "$SLUICE_RUNTIME"/*/log
	rm -rf "$SLUICE_RUNTIME"
}

setup() {
	layer_setup
}

teardown() {
	layer_teardown
}

node_pid() {
	cat "$SLUICE_RUNTIME/default/pid"
}

# Kill the node, and wait until it has let go of everything.
kill_node() {
	kill -KILL "$(node_pid)"
	until_true 10 flock -n "$SLUICE_RUNTIME/default/lock" true
}

job() { # job, key of its status: null if there is none
	"$SLUICE" status --json | jq "[.jobs[] | select(.job == \"$1\")][0].$2"
}
