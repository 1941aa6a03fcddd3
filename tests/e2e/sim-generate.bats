# SPDX-License-Identifier: Apache-2.0
# The workload makers as people use them: `sluice sim --generate` and `--import-darshan`.
bats_require_minimum_version 1.5.0

setup() {
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	source=${SOURCE_DIR:-$PWD}
	scenarios=$source/examples/scenarios
	logs=$source/tests/data/darshan
	cd "$BATS_TEST_TMPDIR"
}

@test "every kind makes a scenario that runs" {
	for kind in intrepid mira mix iosets persched; do
		"$SLUICE" sim --generate $kind -o $kind.yaml
		"$SLUICE" sim $kind.yaml --policy fair-share --json >$kind.json
		jq -e '.policies[0] | .sys_efficiency > 0 and .sys_efficiency <= .upper_limit + 1e-9' $kind.json
	done
}

@test "the head of a scenario has the command that makes it again" {
	"$SLUICE" sim --generate mix --seed 7 --apps 6 --vary 20 --burst-buffer -o a.yaml
	command=$(sed -n 's/^#\tsluice //p' a.yaml)
	# shellcheck disable=SC2086
	"$SLUICE" $command >b.yaml
	cmp a.yaml b.yaml
	grep -q 'RR-8519' a.yaml
}

@test "another seed makes another scenario" {
	"$SLUICE" sim --generate intrepid --seed 1 | grep -v '^#' >a.yaml
	"$SLUICE" sim --generate intrepid --seed 2 | grep -v '^#' >b.yaml
	! cmp -s a.yaml b.yaml || false
}

@test "so many applications as asked for, of each class" {
	"$SLUICE" sim --generate mira --small 3 --large 2 --very-large 1 -o a.yaml
	[ "$(grep -c "name: 'small-" a.yaml)" = 3 ]
	[ "$(grep -c "name: 'large-" a.yaml)" = 2 ]
	[ "$(grep -c "name: 'very-large-" a.yaml)" = 1 ]
	"$SLUICE" sim --generate intrepid --apps 22 -o b.yaml
	[ "$(grep -c "name: 'small-" b.yaml)" = 20 ]
	[ "$(grep -c "name: 'large-" b.yaml)" = 2 ]
}

@test "help is there wherever it is asked for" {
	for args in "--generate --help" "--generate mix --help" "--import-darshan --help" "--import-darshan -h"; do
		# shellcheck disable=SC2086
		run -0 "$SLUICE" sim $args
		[[ $output == "usage: sluice sim --generate KIND"* ]]
	done
}

@test "wrong use is refused with what would be right" {
	run -2 "$SLUICE" sim --generate zork
	[[ $output == *"there are intrepid, mira, mix, iosets and persched. See 'sluice sim --generate --help'." ]]
	run -2 "$SLUICE" sim --generate intrepidd
	[[ $output == *"Did you mean 'intrepid'?"* ]]
	run -2 "$SLUICE" sim --generate iosets --large 3
	[[ $output == *"--large means nothing for iosets."* ]]
	run -2 "$SLUICE" sim --generate mix --io-ratio nan
	[[ $output == *"--io-ratio 'nan' is not a number of 0 or more."* ]]
	run -2 "$SLUICE" sim --generate intrepid --large 100
	[[ $output == *"the machine has 40960"* ]]
	run -2 "$SLUICE" sim --generate persched --set 0
	[[ $output == *"there are sets 1 to 10"* ]]
	run -1 "$SLUICE" sim --generate mix -o /none/such/file
	[[ $output == *"cannot write /none/such/file"* ]]
}

@test "logs of Darshan become jobs with all their bytes" {
	"$SLUICE" sim --import-darshan "$logs/ior_hdf5_example.parser.txt" "$logs/worker.dxt.txt" \
		--bandwidth 100M -o a.yaml
	grep -q '8398304 bytes (4202504 read, 4195800 written) in 1 phase, 4 processes' a.yaml
	grep -q '2076823 bytes (2075621 read, 1202 written) in 4 phases, 1 process' a.yaml
	"$SLUICE" sim a.yaml --policy fair-share --json |
		jq -e '.policies[0].dilation | . >= 1 and . < 1.001'
}

@test "the gap decides what is one phase" {
	"$SLUICE" sim --import-darshan "$logs/worker.dxt.txt" --gap 10 | grep -q 'in 3 phases'
	"$SLUICE" sim --import-darshan "$logs/worker.dxt.txt" --iterations 7 >seven.yaml
	grep -q 'volume: [0-9.]*, iterations: 7' seven.yaml
	cp "$logs/worker.dxt.txt" "it's one"
	"$SLUICE" sim --import-darshan "it's one" >quoted.yaml
	eval "\"\$SLUICE\" $(sed -n 's/^#\tsluice //p' quoted.yaml)" | cmp - quoted.yaml
}

@test "what is no log is refused with its line" {
	printf '# nprocs: 4\n X_POSIX 0 write 0 0 12 5.0 4.0\n' >bad.txt
	run -2 "$SLUICE" sim --import-darshan bad.txt
	[[ $output == *"bad.txt:2: an access ends at 4 s, before it starts at 5 s"* ]]
	run -2 "$SLUICE" sim --import-darshan "$SLUICE"
	[[ $output == *"darshan-parser"* ]]
	run -1 "$SLUICE" sim --import-darshan none.txt
	[[ $output == *"none.txt: No such file or directory"* ]]
}

# bats test_tags=plain
@test "every example scenario runs under each of its policies" {
	for file in $(grep -l '^platform:' "$scenarios"/*.yaml); do
		"$SLUICE" sim "$file" --json >out.json
		[ "$(jq '.policies | length' out.json)" -ge 3 ]
		jq -e '[.policies[] | .sys_efficiency <= .upper_limit + 1e-9] | all' out.json
		n=$((${n:-0} + 1))
	done
	[ "${n:-0}" -ge 7 ]
}

@test "the examples that were generated are what their command makes" {
	for name in intrepid intrepid-buffer mira mira-buffer; do
		command=$(sed -n 's/^#\tsluice \(sim --generate .*\)/\1/p' "$scenarios/$name.yaml")
		[ -n "$command" ]
		# shellcheck disable=SC2086
		"$SLUICE" $command | sed '/^#/d' >made.yaml
		sed '/^#/d' "$scenarios/$name.yaml" | diff -u made.yaml -
	done
}
