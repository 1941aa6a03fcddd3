# SPDX-License-Identifier: Apache-2.0
# `sluice doctor`: a machine on which the other tests run is fit; what is broken on purpose is found.
bats_require_minimum_version 1.5.0
load layer

setup() {
	layer_setup
	SLUICE=$(realpath "$SLUICE")
}

teardown() {
	layer_teardown
}

# The states of a check, and what is advised, from $output.
state_of() { # check
	jq -r --arg c "$1" '[.checks[] | select(.check == $c).state] | join(" ")' <<<"$output"
}

advice_on() { # check
	jq -r --arg c "$1" '.checks[] | select(.check == $c).advice' <<<"$output"
}

found_by() { # check
	jq -r --arg c "$1" '.checks[] | select(.check == $c).found' <<<"$output"
}

@test "a machine that runs layers has no failures" {
	run -0 --separate-stderr "$SLUICE" doctor "$DIR"
	[ "$stderr" = "" ]
	[[ "${lines[-1]}" =~ ^[0-9]+\ ok,\ [0-9]+\ warnings,\ 0\ failures$ ]]
	run ! grep '.\{81\}' <<<"$output"
	run -0 "$SLUICE" doctor "$DIR"
	run ! grep '^fail' <<<"$output"
	[ -z "$(ls -A "$DIR")" ]
}

@test "doctor --json has every check with its state, and the numbers are theirs" {
	run -0 --separate-stderr "$SLUICE" doctor --json "$DIR"
	jq -e '(.checks | length) == .ok + .warn + .fail and .fail == 0 and
		(.checks | all(.state == "ok" or .state == "warn")) and
		(.checks | map(select(.state == "ok")) | length) == .ok and
		(.checks | all(.found | length > 0))' <<<"$output"
	for check in kernel io_uring openat2 memfd SCM_RIGHTS pidfd "open files" processes memlock \
		/dev/shm sluiced preload runtime leftovers directory "file system" "free space" O_DIRECT \
		"RWF flags" loopback FUSE MUNGE; do
		[ -n "$(state_of "$check")" ] || { echo "no $check"; false; }
	done
	[[ "$(found_by sluiced)" == "$("$SLUICE" --version | cut -d' ' -f2), "* ]]
}

@test "without a directory there is nothing said of one" {
	run -0 --separate-stderr "$SLUICE" doctor --json
	[ "$(state_of directory)" = "" ]
}

@test "a directory that is none, and one that is not there, are failures" {
	run -1 --separate-stderr "$SLUICE" doctor --json "$DIR/no"
	[ "$(state_of directory)" = fail ]
	[ "$(found_by directory)" = "$DIR/no: No such file or directory" ]
	touch "$DIR/file"
	run -1 --separate-stderr "$SLUICE" doctor --json "$DIR/file"
	[ "$(found_by directory)" = "$DIR/file: Not a directory" ]
}

@test "a limit of open files that is too low is a failure" {
	# shellcheck disable=SC2016 # for the inner shell
	run -1 --separate-stderr bash -c 'ulimit -n 128; exec "$0" doctor --json' "$SLUICE"
	[ "$(state_of "open files")" = fail ]
	[[ "$(advice_on "open files")" == *nofile* ]]
	# shellcheck disable=SC2016
	run -0 --separate-stderr bash -c 'ulimit -n 1000; exec "$0" doctor --json' "$SLUICE"
	[ "$(state_of "open files")" = warn ]
}

@test "parts of another version, broken or missing ones are failures" {
	printf '#!/bin/sh\necho sluiced 0.0.1\n' >"$BATS_TEST_TMPDIR/old"
	printf '#!/bin/sh\nexit 3\n' >"$BATS_TEST_TMPDIR/broken"
	chmod +x "$BATS_TEST_TMPDIR"/{old,broken}
	SLUICED=$BATS_TEST_TMPDIR/old run -1 --separate-stderr "$SLUICE" doctor --json
	[[ "$(found_by sluiced)" == *"says 'sluiced 0.0.1', but this is version "* ]]
	SLUICED=$BATS_TEST_TMPDIR/broken run -1 --separate-stderr "$SLUICE" doctor --json
	[[ "$(found_by sluiced)" == *"broken does not run" ]]
	SLUICED=$BATS_TEST_TMPDIR/none run -1 --separate-stderr "$SLUICE" doctor --json
	[[ "$(found_by sluiced)" == *"none, which cannot be read." ]]
	SLUICE_PRELOAD=$BATS_TEST_TMPDIR/old run -1 --separate-stderr "$SLUICE" doctor --json
	[[ "$(found_by preload)" == *"is not this project's library" ]]
	printf 'sluice-preload-version=0.0.1\0' >"$BATS_TEST_TMPDIR/lib.so"
	SLUICE_PRELOAD=$BATS_TEST_TMPDIR/lib.so run -1 --separate-stderr "$SLUICE" doctor --json
	[[ "$(found_by preload)" == *"is version 0.0.1, but this is "* ]]
	version=$("$SLUICE" --version | cut -d' ' -f2)
	printf 'sluice-preload-version=%s\0' "$version" >"$BATS_TEST_TMPDIR/lib.so"
	SLUICE_PRELOAD=$BATS_TEST_TMPDIR/lib.so run -1 --separate-stderr "$SLUICE" doctor --json
	[[ "$(found_by preload)" == "a program does not get "* ]]
}

@test "a runtime directory that is open to others is a failure" {
	chmod 777 "$SLUICE_RUNTIME"
	run -1 --separate-stderr "$SLUICE" doctor --json
	[ "$(state_of runtime)" = fail ]
	[[ "$(found_by runtime)" == *"is open to others. Close it with 'chmod 700 "* ]]
}

@test "a layer that has died is left over, one that is up is not" {
	"$SLUICE" up "$DIR" >/dev/null
	run -0 --separate-stderr "$SLUICE" doctor --json
	[ "$(state_of leftovers)" = ok ]
	[[ "$(found_by runtime)" == *", 1 layer up" ]]
	kill_node
	run -0 --separate-stderr "$SLUICE" doctor --json
	[ "$(state_of leftovers)" = warn ]
	[ "$(found_by leftovers)" = "layer 'default' has died" ]
	[[ "$(advice_on leftovers)" == "'sluice down --name default' removes what it left;"* ]]
}

@test "wrong use of doctor" {
	fails 2 "sluice doctor: unexpected argument 'b'. See 'sluice doctor --help'." doctor a b
	fails 2 "sluice doctor: unknown option '--jsn'. Did you mean '--json'? See 'sluice doctor --help'." doctor --jsn
}
