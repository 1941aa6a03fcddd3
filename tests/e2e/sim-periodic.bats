# SPDX-License-Identifier: Apache-2.0
# `sluice sim` with the periodic policies: PerSched's sets, and applications that are not periodic.
bats_require_minimum_version 1.5.0

setup() {
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	SCENARIOS=$(realpath "${SOURCE_DIR:-.}")/examples/scenarios
	cd "$BATS_TEST_TMPDIR"
}

# One figure of one policy on a scenario.
figure() { # scenario policy figure
	"$SLUICE" sim "$1" --policy "$2" --json | jq -r ".policies[0].$3"
}

holds() { # an expression of awk
	awk "BEGIN { exit !($1) }" || {
		echo "not so: $1"
		return 1
	}
}

# Whole runs: start-up included.
@test "periodic-congestion meets the dilations published for PerSched when simulated" {
	set -- 1.896 1.428 1.087 1.014 1.024 1.005
	for i in 1 2 3 4 5 6; do
		got=$(figure "$SCENARIOS/persched-set$i.yaml" periodic-congestion dilation)
		echo "set $i: $got, published $1"
		holds "$got <= $1"
		shift
	done
}

@test "periodic-throughput meets the SysEfficiency published for PerSched when simulated" {
	set -- 0.0973 0.2898 0.4798 0.6474 0.8152 0.8142
	for i in 1 2 3 4 5 6; do
		got=$(figure "$SCENARIOS/persched-set$i.yaml" periodic-throughput sys_efficiency)
		echo "set $i: $got, published $1"
		holds "$got >= $1"
		shift
	done
}

@test "two applications that fit exactly reach the upper limit under a plan" {
	cat >two.yaml <<-END
		platform: {bandwidth: 10M}
		window: [0, 200000]
		jobs:
		  - {name: a, count: 2, compute: 10, volume: 100M}
	END
	holds "$(figure two.yaml periodic-congestion dilation) < 1.0002"
}

@test "late applications use what is free, unless windows are strict" {
	cat >vary.yaml <<-END
		platform: {bandwidth: 10M}
		window: [0, 200000]
		jobs:
		  - {name: a, count: 4, compute: {uniform: [95, 105]}, volume: 100M}
	END
	late=$(figure vary.yaml periodic-congestion sys_efficiency)
	strict=$(figure vary.yaml periodic-congestion,spare=none sys_efficiency)
	fcfs=$(figure vary.yaml fcfs sys_efficiency)
	echo "late $late strict $strict fcfs $fcfs"
	holds "$late > $strict"
	holds "$late > 0.9 * $fcfs"
}

@test "applications that come and go are planned for anew" {
	cat >come.yaml <<-END
		platform: {bandwidth: 10M}
		window: [0, end]
		jobs:
		  - {name: a, compute: 10, volume: 100M, iterations: 40}
		  - {name: b, release: 1m, compute: 30, volume: 50M, iterations: 5}
		  - {name: c, release: 2m, compute: 0, volume: 200M, iterations: 3}
	END
	for policy in periodic-congestion periodic-congestion,spare=none; do
		run --separate-stderr "$SLUICE" sim come.yaml --policy "$policy" --json
		[ "$status" -eq 0 ]
		holds "$(jq -r '.policies[0].dilation' <<<"$output") < 5"
	done
}

@test "what a parameter cannot be is told" {
	run --separate-stderr "$SLUICE" sim "$SCENARIOS/persched-set6.yaml" \
		--policy periodic-congestion,effort=0
	[ "$status" -eq 2 ]
	[[ "$stderr" == *effort* ]]
}
