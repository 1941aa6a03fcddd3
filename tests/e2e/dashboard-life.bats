# SPDX-License-Identifier: Apache-2.0
# The dashboard's process: what it starts, what it leaves behind, and how it comes and goes with its
# layer.
bats_require_minimum_version 1.5.0
load live

setup() {
	live_setup
}

teardown() {
	live_teardown
}

# Whether a process is there; one that has ended and is not waited for is not.
lives() { # pid
	[[ "$(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null)" =~ ^[^Z]$ ]]
}

gone() { # pid
	! lives "$1"
}

dashboard_pid() {
	cat "$SLUICE_RUNTIME/default/pid-dashboard"
}

post() { # path, body
	curl -sS --max-time 60 -H "Authorization: Bearer $TOKEN" -d "$2" "$AT$1"
}

# A layer with a job that the simulator can be asked about, and something else instead of that.
serve_with() { # text of a program
	export SLUICE_PROGRAM=$BATS_TEST_TMPDIR/simulator
	printf '#!/bin/sh\n%s\n' "$1" >"$SLUICE_PROGRAM"
	chmod +x "$SLUICE_PROGRAM"
	"$SLUICE" up --capacity 100M "$DIR" >/dev/null
	local json
	json=$("$SLUICE" dashboard --port 0 --json)
	AT=$(jq -r .address <<<"$json")
	TOKEN=$(jq -r .token <<<"$json")
	"$SLUICE" run --job a -- dd if=/dev/zero of="$DIR/a" bs=1M count=10 status=none
	until_true 30 phase_ended
}

phase_ended() {
	curl -sS --max-time 20 "$AT/api/v1/history?seconds=60" | jq -e '.phases[0].to_ms'
}

@test "a simulation ends with the server that asked for it, and takes nothing of it along" {
	# shellcheck disable=SC2016 # for that shell
	serve_with 'ls -l /proc/$$/fd >"$0.files"; grep ^SigBlk: /proc/$$/status >"$0.signals"
		echo $$ >"$0.pid"; exec sleep 300'
	post /api/v1/what-if '{"policies":["fair-share"]}' >/dev/null 2>&1 3>&- &
	asks=$!
	until_true 30 test -s "$SLUICE_PROGRAM.pid"
	pid=$(cat "$SLUICE_PROGRAM.pid")
	lives "$pid"
	! grep -E 'lock|socket' "$SLUICE_PROGRAM.files" || false
	[ "$(cut -f 2 "$SLUICE_PROGRAM.signals")" = 0000000000000000 ]
	kill -KILL "$(dashboard_pid)"
	until_true 10 gone "$pid"
	wait "$asks" || true
	# and nothing is in the way of the next one
	until_true 10 gone "$(dashboard_pid)"
	"$SLUICE" dashboard --port 0 --json | jq -e .started
}

@test "a simulator that breaks is not said to have been slow" {
	# shellcheck disable=SC2016 # for that shell
	serve_with 'kill -SEGV $$'
	post /api/v1/what-if '{"policies":["fair-share"]}' | jq -e '.error | startswith("the simulator failed")'
	printf '#!/bin/sh\necho no such mood >&2; exit 1\n' >"$SLUICE_PROGRAM"
	post /api/v1/what-if '{"policies":["fair-share"]}' | jq -e '.error == "the simulator refuses: no such mood"'
}
