# SPDX-License-Identifier: Apache-2.0
# `sluice demo`: it repeats exactly, and what it says about the policies is so on every device.
bats_require_minimum_version 1.5.0

setup_file() {
	SLUICE=${SLUICE:-build/cli/sluice}
	for device in hdd raid ssd; do
		"$SLUICE" demo --device $device --json >"$BATS_FILE_TMPDIR/$device.json"
	done
}

setup() {
	SLUICE=${SLUICE:-build/cli/sluice}
}

# A condition on every device, with $run.NAME.phases|checkpoint|search and .total
holds() {
	local device
	for device in hdd raid ssd; do
		jq -e '(.runs | map({key: .name, value: ((.jobs | map({key: .name, value: .}) |
			from_entries) + {total: .total_ns, busy: (.busy_ns / .total_ns)})}) |
			from_entries) as $run | '"$1" "$BATS_FILE_TMPDIR/$device.json" >/dev/null || {
			echo "not so on $device: $1"
			return 1
		}
	done
}

@test "two runs print the same" {
	[ "$("$SLUICE" demo)" = "$("$SLUICE" demo)" ]
}

@test "text fits 80 columns and has every combination" {
	for device in hdd raid ssd; do
		run --separate-stderr "$SLUICE" demo --device "$device"
		[ "$status" -eq 0 ]
		[ "$stderr" = "" ]
		[ -z "$(awk 'length > 80' <<<"$output")" ]
		for name in "no scheduler" turns pool fair weights periods limits; do
			grep -q "^$name: " <<<"$output"
		done
		[[ "$output" == *"What to see:"* ]]
	done
}

@test "each combination does the same work of jobs 1 and 2, and all of it" {
	holds '.runs | length == 7 and all(.jobs[0].bytes == 40 * 4194304 and
		.jobs[1].bytes == 16 * 67108864 and .jobs[2].bytes > 0)'
}

@test "a device is never more than busy, and work is conserved without a max" {
	holds '[$run[] | .busy] | all(. > 0 and . <= 1)'
	holds '[$run["no scheduler"], $run.turns, $run.fair, $run.weights, $run.periods] |
		all(.busy > 0.99)'
}

@test "turns, periods and a guarantee each make the phases faster than the one before" {
	holds '$run["no scheduler"].phases.mb_per_s < $run.turns.phases.mb_per_s'
	holds '$run.turns.phases.mb_per_s < $run.periods.phases.mb_per_s'
	holds '$run.periods.phases.mb_per_s < $run.limits.phases.mb_per_s'
	holds '$run.pool.phases.mb_per_s <= $run["no scheduler"].phases.mb_per_s'
}

@test "fair means equal bytes, and that delays the checkpoint; the others do not" {
	holds '$run.fair | (.search.mb_per_s / .checkpoint.mb_per_s - 1 | fabs) < 0.05'
	holds '$run.fair.checkpoint.end_ns > 4 * $run["no scheduler"].checkpoint.end_ns'
	holds '[$run.weights, $run.periods, $run.limits] |
		all(.checkpoint.end_ns < 1.5 * $run["no scheduler"].checkpoint.end_ns)'
}

@test "a max is held, and leaves the device idle" {
	holds '$run.limits.search | .mb_per_s * 1000000 <= .max_bps * 1.03'
	holds '$run.limits.busy < 0.95'
}

@test "only merging policies merge, and only what is contiguous" {
	holds '$run["no scheduler"] | .phases.merge_ratio == 1 and .checkpoint.merge_ratio == 1'
	holds '$run.turns | .phases.merge_ratio > 4 and .checkpoint.merge_ratio > 4'
	holds '[$run[] | .search.merge_ratio] | all(. < 1.01)'
}

@test "wrong use is refused in one line" {
	run --separate-stderr "$SLUICE" demo --device hd
	[ "$status" -eq 2 ]
	[ "$output" = "" ]
	[ "$stderr" = "sluice demo: unknown device 'hd'. Did you mean 'hdd'? See 'sluice demo --help'." ]
	run --separate-stderr "$SLUICE" demo more
	[ "$status" -eq 2 ]
	[ "$stderr" = "sluice demo: unexpected argument 'more'. See 'sluice demo --help'." ]
}

@test "help names the devices" {
	run "$SLUICE" demo --help
	[ "$status" -eq 0 ]
	[[ "$output" == "usage: sluice demo"*hdd*raid*ssd* ]]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
}
