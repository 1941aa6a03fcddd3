# SPDX-License-Identifier: Apache-2.0
# `sluice doctor`: a machine on which the other tests run is fit; what is broken on purpose is found.
bats_require_minimum_version 1.5.0
load layer

setup() {
	layer_setup
	SLUICE=$(realpath "$SLUICE")
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
	[[ "${lines[-1]}" =~ ^[0-9]+\ ok,\ ([02-9]|[0-9]{2,})\ warnings,\ 0\ failures$|^[0-9]+\ ok,\ 1\ warning,\ 0\ failures$ ]]
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
	for check in kernel io_uring openat2 memfd SCM_RIGHTS pidfd gate "open files" processes memlock \
		"file size" /dev/shm sluiced preload sluice-httpd runtime leftovers directory "file system" "free space" O_DIRECT \
		"RWF flags" loopback FUSE MUNGE; do
		[ -n "$(state_of "$check")" ] || { echo "no $check"; false; }
	done
	[[ "$(found_by sluiced)" == "$("$SLUICE" --version | cut -d' ' -f2), "* ]]
	# what nothing here uses is nothing to be warned of
	[ "$(state_of FUSE)$(state_of MUNGE)" = okok ]
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

@test "limits that a node cannot raise count as they are, and one on files kills nobody" {
	# shellcheck disable=SC2016
	run -0 --separate-stderr bash -c 'ulimit -Sl 8; exec "$0" doctor --json' "$SLUICE"
	[ "$(found_by memlock)" = "only 8192 bytes may be locked (older kernels count io_uring)" ]
	[ "$(state_of memlock)" = warn ]
	# shellcheck disable=SC2016
	run -0 --separate-stderr bash -c 'ulimit -Sf 64; exec "$0" doctor --json' "$SLUICE"
	[ "$(found_by "file size")" = "files of this shell end at 65536 bytes" ]
	[ "$(advice_on "file size")" = "'ulimit -f unlimited': programs with such a limit bypass the layer." ]
	# shellcheck disable=SC2016
	run -1 --separate-stderr bash -c 'ulimit -f 100; exec "$0" doctor --json' "$SLUICE"
	[ "$(state_of "file size")" = warn ]
	[ "$(found_by memfd)" = "no sealed shared memory: File too large" ]
	[[ "$(advice_on memfd)" == "Raise 'fsize' "* ]]
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
	[[ "$(found_by preload)" == "LD_PRELOAD does not load "* ]]
	SLUICE_HTTPD=$BATS_TEST_TMPDIR/none run -0 --separate-stderr "$SLUICE" doctor --json
	[ "$(state_of sluice-httpd)" = warn ]
	[[ "$(found_by sluice-httpd)" == *"none, which cannot be read." ]]
	run -0 --separate-stderr env PATH=/none "$SLUICE" doctor --json
	[ "$(state_of preload)" = ok ]
}

@test "a runtime directory that is open to others is a failure" {
	chmod 777 "$SLUICE_RUNTIME"
	run -1 --separate-stderr "$SLUICE" doctor --json
	[ "$(state_of runtime)" = fail ]
	[[ "$(found_by runtime)" == *"is open to others. Close it with 'chmod 700 "* ]]
}

@test "a runtime directory that cannot be made is a failure, one that can is not" {
	SLUICE_RUNTIME=$BATS_TEST_TMPDIR/a/b run -1 --separate-stderr "$SLUICE" doctor --json
	[ "$(found_by runtime)" = "cannot create $BATS_TEST_TMPDIR/a/b: No such file or directory" ]
	SLUICE_RUNTIME=$BATS_TEST_TMPDIR/a run -0 --separate-stderr "$SLUICE" doctor --json
	[ "$(found_by runtime)" = "'sluice up' will create $BATS_TEST_TMPDIR/a" ]
	SLUICE_RUNTIME=$BATS_TEST_TMPDIR/a/b run -1 --separate-stderr "$SLUICE" doctor
	[[ "${lines[-1]}" == *" 1 failure" ]]
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
	[[ "$(advice_on leftovers)" == "'sluice up --revive --name default' restarts it with the same settings; 'sluice down --name default' removes its files;"* ]]
}

@test "wrong use of doctor" {
	fails 2 "sluice doctor: unexpected argument 'b'. See 'sluice doctor --help'." doctor a b
	fails 2 "sluice doctor: unknown option '--jsn'. Did you mean '--json'? See 'sluice doctor --help'." doctor --jsn
}
