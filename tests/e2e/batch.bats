# SPDX-License-Identifier: Apache-2.0
# The prolog and epilog for batch systems without a plugin. A shell stands in for the batch system: it starts a job
# script between the two, as job starters do.
bats_require_minimum_version 1.5.0
load live

setup() {
	live_setup
	export SLUICE_PROGRAM=$SLUICE PBS_JOBID=17.server
	BATCH=$SOURCE_DIR/integrate/batch
	cat >"$BATS_TEST_TMPDIR/starter" <<-END
		eval "\$('$BATCH/prolog')"
		"\$@"
		status=\$?
		'$BATCH/epilog'
		exit \$status
	END
}

starter() {
	bash "$BATS_TEST_TMPDIR/starter" "$@"
}

@test "a job runs in the layer, under its limits and its number, with one line at its end" {
	"$SLUICE" up "$DIR"
	export SLUICE_IO_MAX=10M SLUICE_IO_WEIGHT=3
	run -7 --separate-stderr starter sh -c 'dd if=/dev/zero of="$0/f" bs=1M count=5 status=none
		"$SLUICE_PROGRAM" status --json; exit 7' "$DIR"
	echo "$stderr"
	jq -e '.jobs[] | select(.job == "17.server") | .max_bps == 10000000 and .weight == 3 and
		.write_bytes == 5242880' <<<"$output"
	[[ "$stderr" == "sluice: job 17.server read 0B and wrote 5MiB in 5 requests, "* ]]
	[ "${#stderr_lines[@]}" = 1 ]
}

@test "without a layer a job runs; one line says so if it had wishes" {
	run -7 --separate-stderr starter sh -c 'echo ran; exit 7'
	[ "$output" = ran ]
	[ "$stderr" = "" ]
	SLUICE_IO_MAX=10M run -0 --separate-stderr starter echo ran
	[ "$output" = ran ]
	[ "${#stderr_lines[@]}" = 1 ]
	[[ "$stderr" == "sluice run: "* ]]
}

@test "without Sluice a job runs" {
	SLUICE_PROGRAM=/none/sluice run -0 --separate-stderr starter echo ran
	[ "$output" = ran ]
}
