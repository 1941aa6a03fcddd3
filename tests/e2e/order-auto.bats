# SPDX-License-Identifier: Apache-2.0
# What a layer sees of its jobs' access patterns, and what order=auto makes of it.
bats_require_minimum_version 1.5.0
load live

setup() {
	live_setup
}

teardown() {
	live_teardown
}

job() { # filter on the object of job j
	"$SLUICE" status --json | jq -e ".jobs[] | select(.job == \"j\") | $1"
}

@test "status says what a job's requests look like" {
	"$SLUICE" up "$DIR" >/dev/null
	"$SLUICE" run --job j -- dd if=/dev/zero of="$DIR/f" bs=4K count=64 status=none
	job '.pattern == {spatiality: "contiguous", size: "small", op: "write", files: 1, call_bytes: 4096}'
	run -0 timeout 20 script -qec 'stty cols 200; "$SLUICE" status' /dev/null
	[[ "$output" == *" PATTERN"* ]]
	[[ "$output" == *" w contiguous 4.10K/1"* ]]
}
