# SPDX-License-Identifier: Apache-2.0
# The dashboard's process: what it starts, what it leaves behind, and how it comes and goes with its
# layer.
bats_require_minimum_version 1.5.0
load live

# Whether a process is there; one that has ended and is not waited for is not. Its locks are held until
# its last thread has ended, and the first may have before.
lives() { # pid
	[[ "$(cat "/proc/$1"/task/*/stat 2>/dev/null | cut -d ' ' -f 3 | tr -d '\n')" =~ [^Z] ]]
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
	printf '#!/bin/bash\n%s\n' "$1" >"$SLUICE_PROGRAM"
	chmod +x "$SLUICE_PROGRAM"
	"$SLUICE" up --charge calls --capacity 100M "$DIR" >/dev/null
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
	serve_with 'ls -l /proc/$$/fd >"$0.files"; echo $$ >"$0.pid"; exec sleep 300'
	post /api/v1/what-if '{"policies":["fair-share"]}' >/dev/null 2>&1 3>&- &
	asks=$!
	until_true 30 test -s "$SLUICE_PROGRAM.pid"
	pid=$(cat "$SLUICE_PROGRAM.pid")
	lives "$pid"
	! grep -E 'lock|socket' "$SLUICE_PROGRAM.files" || false
	until_true 10 grep -qx $'Name:\tsleep' "/proc/$pid/status"
	grep -qx $'SigBlk:\t0000000000000000' "/proc/$pid/status"
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

# A layer by a file: its keys, but for the directory
config() { # lines of YAML
	printf 'directory: %s\n%s\n' "$DIR" "$1" >"$BATS_TEST_TMPDIR/s.yaml"
	"$SLUICE" up --config "$BATS_TEST_TMPDIR/s.yaml"
}

refuses() { # line and message, lines of YAML behind the directory
	run -2 --separate-stderr config "$2"
	[ "$stderr" = "sluice up: $BATS_TEST_TMPDIR/s.yaml:$1. See 'sluice up --help'." ] ||
		{ echo "got: $stderr"; return 1; }
}

answers() { # address
	[ "$(curl -sS --max-time 20 -o /dev/null -w '%{http_code}' "$1/api/v1/status")" = 200 ]
}

free_port() {
	"$SLUICE" dashboard --port 0 --json | jq -r .address | sed 's/.*://'
	"$SLUICE" dashboard --stop >/dev/null
}

@test "sluice.yaml says whether there is a dashboard, and where" {
	run -0 config 'dashboard: {port: 0}'
	[[ "$output" == *"Dashboard of layer 'default'"*"http://127.0.0.1:"*"/#token="* ]]
	answers "$("$SLUICE" dashboard --json | jq -r .address)"
	port=$("$SLUICE" dashboard --stop >/dev/null && free_port)
	"$SLUICE" down

	run -0 config $'dashboard:\n  listen: 127.0.0.2\n  port: '"$port"
	[[ "$output" == *"http://127.0.0.2:$port/#token="* ]]
	"$SLUICE" down
	# the command line wins
	printf 'directory: %s\ndashboard: {listen: 127.0.0.2, port: 1}\n' "$DIR" >"$BATS_TEST_TMPDIR/s.yaml"
	run -0 "$SLUICE" up --config "$BATS_TEST_TMPDIR/s.yaml" --dashboard="$port"
	[[ "$output" == *"http://127.0.0.2:$port/#token="* ]]
	"$SLUICE" down
	run -0 config 'dashboard: no'
	[[ "$output" != *Dashboard* ]]
	fails_stop
}

fails_stop() { # there is none
	run -1 "$SLUICE" dashboard --stop
	[ "$output" = "sluice dashboard: layer 'default' has no dashboard." ]
}

@test "a port that is taken: the layer is up without a dashboard, and it is said what to do" {
	"$SLUICE" up --name first "$DIR"
	port=$("$SLUICE" dashboard --name first --port 0 --json | jq -r .address | sed 's/.*://')
	taken="sluice up: the dashboard cannot listen at 127.0.0.1:$port: port $port is taken by another program."
	run -1 --separate-stderr config "dashboard: {port: $port}"
	[[ "$output" == "Layer 'default' is up for $DIR"* ]]
	[ "${stderr_lines[-2]}" = "$taken Choose another with 'sluice dashboard --port PORT'; port 0: any free port." ]
	[ "${stderr_lines[-1]}" = "sluice up: layer 'default' is up, but its dashboard is not." ]
	"$SLUICE" run --name default -- true
	# nothing is missed, and what was said helps
	run -0 "$SLUICE" up --revive --name default
	[ "$output" = "No member of layer 'default' has died." ]
	run -1 --separate-stderr "$SLUICE" dashboard --name default --port "$port"
	[[ "$stderr" == "${taken/up:/dashboard:} Choose another with 'sluice dashboard --port PORT'"* ]]
	"$SLUICE" dashboard --name default --port 0 --json | jq -e .started
	run -1 --separate-stderr "$SLUICE" up --name third --dashboard="$port" "$DIR"
	[[ "$stderr" == *"'sluice dashboard --name third --port PORT'"*"layer 'third' is up, but its dashboard is not." ]]
}

@test "mistakes about the dashboard are told with their line" {
	refuses "2: dashboard: 'maybe' is neither true nor false, nor a mapping with port and listen" 'dashboard: maybe'
	refuses "2: dashboard is true, false, or a mapping with port and listen, not a list" 'dashboard: [true]'
	refuses "3: dashboard.port: '70000' is not a port, which is a number from 0 to 65535" $'dashboard:\n  port: 70000'
	refuses "4: dashboard.listen: 'localhost:80' is not a name or address of a host; the port is a separate key" \
		$'dashboard:\n  port: 1\n  listen: localhost:80'
	refuses "3: dashboard has no key 'prot' (did you mean 'port'?); there are port, listen" $'dashboard:\n  prot: 1'
	run -2 "$SLUICE" dashboard --listen '[::1]:80'
	[ ! -e "$SLUICE_RUNTIME/default/lock" ]
}

@test "up --revive brings the dashboard back where it was, unless it was stopped" {
	config 'dashboard: {port: 0}'
	before=$("$SLUICE" dashboard --json)
	kill -KILL "$(dashboard_pid)" "$(node_pid)"
	until_true 10 gone "$(node_pid)"
	run -0 "$SLUICE" up --revive
	[[ "$output" == *"The node is back (pid "*"The dashboard is back (pid $(dashboard_pid)), at $(jq -r .address <<<"$before")."* ]]
	[ "$("$SLUICE" dashboard --json | jq -c '[.address, .token, .started]')" = \
		"$(jq -c '[.address, .token, false]' <<<"$before")" ]
	answers "$(jq -r .address <<<"$before")"
	run -0 "$SLUICE" up --revive
	[ "$output" = "No member of layer 'default' has died." ]

	"$SLUICE" dashboard --stop
	run -0 "$SLUICE" up --revive
	[ "$output" = "No member of layer 'default' has died." ]
	# one that could not be started is not missed
	run -1 "$SLUICE" dashboard --listen 192.0.2.1 --port 0
	run -0 "$SLUICE" up --revive
	[ "$output" = "No member of layer 'default' has died." ]
	# nor one of a layer that went down, even if not all of it was well
	"$SLUICE" dashboard --port 0 >/dev/null
	kill -KILL "$(dashboard_pid)" "$(node_pid)"
	until_true 10 gone "$(node_pid)"
	"$SLUICE" down || true
	config 'dashboard: false' >/dev/null
	run -0 "$SLUICE" up --revive
	[ "$output" = "No member of layer 'default' has died." ]
	"$SLUICE" down
	[ ! -e "$SLUICE_RUNTIME/default" ]
}

@test "of two that revive a layer at once, one does" {
	config $'ionodes: 2\ndashboard: {port: 0}' >/dev/null
	for ((i = 0; i < 5; i++)); do
		pid=$(cat "$SLUICE_RUNTIME/default/pid-1")
		kill -KILL "$pid" "$(dashboard_pid)"
		until_true 10 gone "$pid"
		until_true 10 gone "$(dashboard_pid)"
		for one in 1 2 3; do
			"$SLUICE" up --revive >"$BATS_TEST_TMPDIR/said-$one" 2>&1 3>&- &
		done
		wait
		[ "$(cat "$BATS_TEST_TMPDIR"/said-? | grep -c '^I/O node 1 is back')" = 1 ]
		[ "$(cat "$BATS_TEST_TMPDIR"/said-? | grep -c '^The dashboard is back')" = 1 ]
		[ "$(sort -u "$BATS_TEST_TMPDIR"/said-? | grep -vE 'is back|^No member of layer|try again.$')" = "" ]
	done
}
