# SPDX-License-Identifier: Apache-2.0
# `sluice period`: the traces of FTIO, made-up ones, and mistakes.
bats_require_minimum_version 1.5.0
load fails

setup() {
	COMMAND=period
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	DATA=$(realpath "${SOURCE_DIR:-.}")/tests/data/ftio
	cd "$BATS_TEST_TMPDIR"
}

json() {
	"$SLUICE" period --json "$@"
}

# See tests/data/ftio/README.md for what FTIO says, and why we differ where we do.
@test "the traces of FTIO have their periods and confidences" {
	json --fs 10 "$DATA/custom4_write_sync_intervals.csv" |
		jq -e '.periodic and (.period_s / 2.69 - 1 | fabs) < 0.01 and .confidence > 0.99'
	json --fs 10 "$DATA/api_test_intervals.csv" |
		jq -e '(.period_s / 20 - 1 | fabs) < 0.001 and (.confidence - 0.80 | fabs) < 0.01 and
			(.spectrum.frequency_hz - 0.04615 | fabs) < 0.00001 and
			(.spectrum.confidence - 0.80 | fabs) < 0.01'
	json --fs 10 "$DATA/ior8_write_sync_intervals.csv" |
		jq -e '(.period_s / 1.927 - 1 | fabs) < 0.03 and .confidence > 0.68'
}

@test "without --fs it is the same" {
	for t in custom4_write_sync api_test ior8_write_sync; do
		[ "$(json --fs 10 "$DATA/${t}_intervals.csv" | jq .period_s)" = \
			"$(json "$DATA/${t}_intervals.csv" | jq .period_s)" ]
	done
}

@test "half a second and an hour are found from standard input too" {
	for period in 0.5 3600; do
		awk -v p=$period 'BEGIN {
			print "t_start,t_end,bytes"
			for (i = 0; i < 12; i++)
				print i * p "," (i + 0.2) * p ",1e6"
		}' | json - >out.json
		jq -e --argjson p $period '.source == "phases" and (.period_s / $p - 1 | fabs) < 0.02 and
			.phases.phases == 12 and .phases.missing == 0' out.json
	done
}

@test "one burst is not periodic, and that is no failure" {
	printf 't_start,t_end,bytes\n0,1,1\n50,51,1000\n100,101,1\n' >one.csv
	json one.csv | jq -e '.periodic == false and .source == "none" and .period_s == null and
		.frequency_hz == null and .confidence == 0 and (has("phases") | not)'
	run "$SLUICE" period one.csv
	[ "$status" -eq 0 ]
	[[ "$output" == *"not periodic"* ]]
}

@test "the text has the verdict, the candidates and the reason, in 80 columns" {
	cp "$DATA/api_test_intervals.csv" api.csv
	run --separate-stderr "$SLUICE" period --fs 10 api.csv
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ -z "$(LC_ALL=C.UTF-8 awk 'length > 80' <<<"$output")" ]
	[[ "${lines[0]}" == "api.csv: 14 intervals, 65s; 720 bins of 90.3ms" ]]
	[[ "$output" == *"period      20 s (0.05 Hz)"*"confidence  0.80"*"3 phases"* ]]
	[[ "$output" =~ 0\.046154\ +21\.667\ .*dominant ]]
	[[ "$output" == *"spectrum alone: 21.67 s"* ]]
}

@test "a mistake names file and line" {
	printf 't_start,t_end,bytes\n0,1,5\n2,x,5\n' >a.csv
	wrong "sluice period: a.csv:3: t_end 'x' is not a number." a.csv
	printf 'start,end,bytes\n0,1,5\n' >b.csv
	wrong "sluice period: b.csv:1: no column t_start. *" b.csv
	printf 't_start,t_end,bytes\n3,1,5\n' >c.csv
	wrong "sluice period: c.csv:2: t_end 1 is before t_start 3." c.csv
	wrong "sluice period: --fs 'x' is not a number of bins a second. *" --fs x a.csv
	wrong "sluice period: --fs '-1' is not a number of bins a second. *" --fs=-1 a.csv
	printf 't_start,t_end,bytes\n0,1e6,5\n' >long.csv
	wrong "sluice period: --fs 1e6 makes 1e+12 bins of 1e+06 s; at most 16777216. *" --fs 1e6 long.csv
	wrong "sluice period: no trace given. *"
	run "$SLUICE" period missing.csv
	[ "$status" -eq 1 ]
	[[ "$output" == "sluice period: missing.csv: No such file or directory." ]]
}
