# SPDX-License-Identifier: Apache-2.0
# The live experiments, much shortened: they run, all files hold what was written, what they print is whole, and
# nothing is left. The directions are those of the papers; what the figures are is not for a busy machine.
bats_require_minimum_version 1.5.0

setup() {
	TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR" "$BATS_TEST_TMPDIR/files"
	export TMPDIR
	export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
}

experiment() { # name, options: JSON into $output
	run --separate-stderr timeout 200 python3 "$SOURCE_DIR/examples/live/experiment.py" --sluice "$SLUICE" \
		--dir "$BATS_TEST_TMPDIR/files" --quick --json "$@"
	echo "$output" "$stderr"
	[ "$status" -eq 0 ]
	[ -z "$(ls -A "$TMPDIR" "$BATS_TEST_TMPDIR/files" | grep sluice-)" ]
}

holds() { # expression in Python about d
	python3 -c 'import json, sys; d = json.loads(sys.argv[1]); assert '"$1"', sys.argv[2]' "$output" "$1"
}

@test "the experiment of IO-Sets, much shortened" {
	# The direction of the paper: with known periods jobs are delayed less than without management. Three
	# seconds beside other work may show anything once, so that the live jobs have three tries.
	for _ in 1 2 3; do
		experiment iosets
		holds '[v["variant"] for v in d["variants"]] == ["unmanaged", "clairvoyant", "detected", "off by half"]'
		holds 'all(v["verified"] and v["live"].keys() == v["model"].keys() for v in d["variants"])'
		holds 'all(v["live"][k] > 0 and v["model"][k] > 0 for v in d["variants"] for k in v["live"])'
		delayed_less model
		if delayed_less live; then
			return
		fi
	done
	false
}

delayed_less() { # live or model
	holds 'all(d["variants"][1]["'$1'"][k] < d["variants"][0]["'$1'"][k] for k in ("geomean_stretch", "io_slowdown"))'
}

@test "the experiment of Gainaru et al., much shortened" {
	experiment gainaru
	holds 'sum("declared" in v["variant"] for v in d["variants"]) == 2 and len(d["variants"]) == 5'
	holds 'all(v["verified"] and v["live"][k] > 0 and v["model"][k] > 0 for v in d["variants"] for k in v["live"])'
}

@test "the experiment of GekkoFWD, much shortened" {
	experiment gekkofwd
	holds '[p["policy"] for p in d["policies"]] == ["static", "mckp"]'
	holds 'all(len(p[w]["jobs"]) == 14 and min(p[w]["jobs"].values()) > 0 for p in d["policies"] for w in ("live", "model"))'
	holds 'all(1 <= n <= 8 for p in d["policies"] for n in p["live"]["ionodes"].values() if n)'
	holds 'd["mckp_to_static_model"] > 3 and d["mckp_to_static_live"] > 1'
}

@test "the experiment of SDQoS, much shortened" {
	experiment sdqos
	holds '[len(r["apps"]) for r in d["rates"]] == [1, 2] and all(a["actual_mbps"] > 0 for r in d["rates"] for a in r["apps"])'
	holds '[r["small_max"] for r in d["table5"]] == [None, 0.125] and all(r["mbps"] > 0 for r in d["table5"])'
	holds 'all(r["off_mbps"] > 0 and r["on_mbps"] > 0 for r in d["table6"])'
}

@test "a part of the experiments that is started by itself says what to start" {
	cd "$SOURCE_DIR"
	for part in examples/live/{iosets,gainaru,gekkofwd,sdqos}.py; do
		run -1 --separate-stderr python3 -B "$part"
		echo "$stderr"
		[ "$stderr" = "${part##*/} is a part of experiment.py. 'examples/live/experiment.py --help' tells how to run it." ]
	done
	run -0 python3 -B examples/live/experiment.py --help
	[[ "$output" == *sdqos* ]]
}

@test "a file that does not hold what was written ends an experiment with status 1" {
	mkdir "$BATS_TEST_TMPDIR/live"
	cp "$SOURCE_DIR"/examples/live/*.py "$SOURCE_DIR"/examples/live/*.c "$BATS_TEST_TMPDIR/live"
	# Each call writes what the next one should.
	sed -i 's/^\t\tfill(words, s, calls);/\t\tfill(words, s, calls + 1);/' "$BATS_TEST_TMPDIR/live/stream.c"
	run --separate-stderr timeout 100 python3 "$BATS_TEST_TMPDIR/live/experiment.py" --sluice "$SLUICE" \
		--dir "$BATS_TEST_TMPDIR/files" --quick --seconds 0.1 sdqos
	echo "$output" "$stderr"
	[ "$status" -eq 1 ]
	[[ $stderr == *"does not hold what was written"* ]]
	[[ $stderr == *"are wrong"* ]]
	[ -z "$(ls -A "$TMPDIR" "$BATS_TEST_TMPDIR/files" | grep sluice-)" ]
}
