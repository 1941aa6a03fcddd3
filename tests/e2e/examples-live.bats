# SPDX-License-Identifier: Apache-2.0
# The live experiments run, verify their files, and print live figures beside the model's.
bats_require_minimum_version 1.5.0

@test "the experiment of IO-Sets, much shortened" {
	run --separate-stderr timeout 100 python3 "$SOURCE_DIR/examples/live/experiment.py" --sluice "$SLUICE" \
		--dir "$BATS_TEST_TMPDIR" --scale 200 --seconds 4 iosets
	echo "$output" "$stderr"
	[ "$status" -eq 0 ]
	[ "$(grep -c ' live ' <<<"$output")" -eq 3 ]
	[ "$(grep -c ' model ' <<<"$output")" -eq 3 ]
}
