# SPDX-License-Identifier: Apache-2.0
# A controller among peers that are many, slow, silent, twins or out of their minds; and I/O nodes
# whose controller hangs.
bats_require_minimum_version 1.5.0
load daemons

setup() {
	cd "$BATS_TEST_TMPDIR"
	PIDS=()
	start_controller
}

teardown() {
	for pid in "${PIDS[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
	done
}

peer() { # kind
	python3 "$SOURCE_DIR/tests/e2e/programs/controller-peer.py" "$1" c.sock "${CONTROLLER%:*}" \
		"${CONTROLLER##*:}"
}

@test "nonsense is hung up, and nothing else happens" {
	peer random
}

@test "4096 jobs with long names are a report like any other" {
	peer many
}

@test "who takes nothing holds up nobody" {
	peer slow
}

@test "who comes over TCP and says nothing is turned out" {
	peer silent
}

@test "the second node of a name is told to take another, and the first stays" {
	run -0 peer twin
	[ "$output" = "another I/O node has its name: give it one with --name" ]
}

@test "nodes that are gone for good make room for others" {
	peer come
}

@test "a node that is not heard for five seconds is down, though its connection is not" {
	run -0 peer quiet
	[ "$output" -ge 4 ]
	grep -q 'ionode=0 gone: nothing was heard of it for 5 s' c.log
}

@test "a node says once that it is refused, and why" {
	for i in 1 2; do
		start n$i.log ionode --root "$PWD" --socket "$PWD/n$i.sock" --controller "$PWD/c.sock"
		until_true grep -q "controller=" n$i.log
	done
	until_true grep -q 'refuses this node: another I/O node has its name' n1.log n2.log
	sleep 1 # it tries again five times
	[ "$(cat n1.log n2.log | grep -c refuses)" -eq 1 ]
	# When the other is gone, it is that node.
	if grep -q refuses n1.log; then kill "${PIDS[2]}"; else kill "${PIDS[1]}"; fi
	until_true eval '[ "$(grep -c "info ionode=0 socket=" c.log)" -eq 2 ]'
}

@test "a period that was found is not taken for one that was asked for" {
	mkfifo end
	python3 "$SOURCE_DIR/tests/e2e/programs/controller-peer.py" found f.sock <end 3>&- &
	PIDS+=($!)
	exec 8>end
	until_true [ -S f.sock ]
	start n.log ionode --root "$PWD" --socket "$PWD/n.sock" --controller "$PWD/f.sock"
	for wanted in "0 2" "5 5" "auto 2"; do
		"$ASK" n.sock "job 7 pid=$$ period=${wanted% *}"
		until_true eval '"$ASK" n.sock status |
			jq -e --argjson p ${wanted#* } ".jobs[] | .period_s == \$p"' >/dev/null
	done
	"$ASK" n.sock status | jq -e '.jobs[0].asked_period_s == 0' # what --revive goes by
	exec 8>&-
}

@test "a node ends though its controller hangs" {
	start n.log ionode --root "$PWD" --socket "$PWD/n.sock" --controller "$PWD/c.sock"
	until_true grep -q "ionode=0 socket=" c.log
	kill -STOP "${PIDS[0]}"
	# Each phase that begins or ends is a report.
	cat >phases.py <<-'END'
		import ctypes
		layer = ctypes.CDLL(None)
		open("file", "w").write("x")
		for i in range(100000):
		    assert layer.sl_phase_begin() == 0 and layer.sl_phase_end() == 0
	END
	SLUICE_ROOT=$PWD SLUICE_SOCKET=$PWD/n.sock LD_PRELOAD=$PRELOAD python3 phases.py
	until_true grep -qE "gone: (Broken pipe|Connection timed out)" n.log # it does not read, or answer
	kill "${PIDS[1]}"
	until_true eval '! kill -0 "${PIDS[1]}" 2>/dev/null'
	grep -q stopped n.log
}
