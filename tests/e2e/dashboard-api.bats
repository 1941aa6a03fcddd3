# SPDX-License-Identifier: Apache-2.0
# `sluice dashboard` and the HTTP interface of a layer, as curl sees it.
bats_require_minimum_version 1.5.0
load layer

# The server of a layer on a free port: $AT, $TOKEN
serve() { # options of up
	"$SLUICE" up --charge calls "$@" "$DIR" >/dev/null
	local json
	json=$("$SLUICE" dashboard --port 0 --json)
	AT=$(jq -r .address <<<"$json")
	TOKEN=$(jq -r .token <<<"$json")
}

get() { # path, options of curl
	local path=$1
	shift
	curl -sS --max-time 20 "$@" "$AT$path"
}

code() { # path, options of curl
	get "$@" -o /dev/null -w '%{http_code}'
}

# The first N events; however long they take.
events() { # N, path
	local left=$1 line
	while ((left > 0)) && read -r line; do
		echo "$line"
		[[ "$line" != "data: "* ]] || left=$((left - 1))
	done < <(get "$2" -N --max-time 60 2>/dev/null)
	((left == 0))
}

some_job() { # name, options of run
	local name=$1
	shift
	"$SLUICE" run --job "$name" "$@" -- dd if=/dev/zero of="$DIR/$name" bs=64K count=4 status=none
}

@test "the dashboard starts once, tells where it is, and goes with its layer" {
	serve
	[[ "$AT" == http://127.0.0.1:* ]]
	[ "${#TOKEN}" -eq 48 ]
	[ "$(stat -c %a "$SLUICE_RUNTIME/default/dashboard-token")" = 600 ]
	run -0 "$SLUICE" dashboard
	[[ "$output" == *"$AT/#token=$TOKEN"* ]]
	pid=$("$SLUICE" dashboard --json | jq .pid)
	[ "$pid" = "$(cat "$SLUICE_RUNTIME/default/pid-dashboard")" ]
	"$SLUICE" dashboard --stop
	! get /api/v1/status 2>/dev/null || false
	fails 1 "sluice dashboard: layer 'default' has no dashboard." dashboard --stop
	# pages that are open go on with the token that they have
	[ "$("$SLUICE" dashboard --json | jq -r .token)" = "$TOKEN" ]
	"$SLUICE" down
	[ ! -e "$SLUICE_RUNTIME/default" ]
	fails 1 "sluice dashboard: no layer is up. Start one with 'sluice up DIR'." dashboard
	fails 2 "sluice dashboard: '70000' is not a port, which is a number from 0 to 65535. See 'sluice dashboard --help'." \
		dashboard --port 70000
}

@test "status is what sluice status says, and events are that again and again" {
	serve --ionodes 2 --capacity 100M
	some_job a --weight 3
	# but for what changes from one moment to the next
	same='del(.api, .time_ms, .uptime_s, .controller.uptime_s, .controller.epoch, .decisions, .decisions_per_s,
		.bandwidth_bps, .iops, .draw_bps, .ionodes[].draw_bps, .ionodes[].uptime_s, .ionodes[].decisions_per_s,
		.ionodes[].bandwidth_bps, .ionodes[].iops) |
		.jobs |= map({job, weight, write_bytes, requests, asked_max_bps, clients})'
	# the node hears that the job's process has ended a moment after it has
	is_same() {
		get /api/v1/status >"$BATS_TEST_TMPDIR/api"
		"$SLUICE" status --json >"$BATS_TEST_TMPDIR/cli"
		diff <(jq -S "$same" "$BATS_TEST_TMPDIR/api") <(jq -S "$same" "$BATS_TEST_TMPDIR/cli")
	}
	until_true 10 is_same
	jq -e '.api == 1 and .time_ms > 1e12' "$BATS_TEST_TMPDIR/api"
	events 3 '/api/v1/events?interval_ms=200' >"$BATS_TEST_TMPDIR/events"
	[ "$(grep -c '^event: status$' "$BATS_TEST_TMPDIR/events")" -eq 3 ]
	sed -n 's/^data: //p' "$BATS_TEST_TMPDIR/events" | jq -e -s 'length == 3 and all(.api == 1) and
		([.[].time_ms] | . == sort and . == unique)'
	[ "$(code '/api/v1/events?interval_ms=100')" = 400 ]
}

@test "a layer of one node has the same form" {
	serve
	some_job a
	get /api/v1/status | jq -e '.controller == null and (.ionodes | length) == 1 and
		.ionodes[0].state == "up" and .jobs[0].ionodes == [] and .jobs[0].write_bytes == 262144'
}

@test "the page and its files are there, and say that nothing else may come in" {
	serve
	for path in / /app.js /app.css /uplot.js /uplot.css; do
		[ "$(code "$path")" = 200 ]
	done
	head=$(get / -D - -o /dev/null)
	grep -qi "^content-security-policy: default-src 'self';.*frame-ancestors 'none'" <<<"$head"
	grep -qi '^x-content-type-options: nosniff' <<<"$head"
	grep -qi '^content-type: text/html' <<<"$head"
	[ "$(code /no-such-file)" = 404 ]
	[ "$(code /../../etc/passwd --path-as-is)" = 404 ]
	[ "$(code /app.js -X DELETE -H "Authorization: Bearer $TOKEN")" = 405 ]
}

@test "who may not is refused" {
	serve
	# foreign hosts and origins, as DNS rebinding and foreign pages have them
	[ "$(code /api/v1/status -H 'Host: evil.example')" = 421 ]
	[ "$(code /api/v1/status -H "Host: localhost")" = 200 ]
	[ "$(code /api/v1/status -H 'Origin: http://evil.example')" = 403 ]
	[ "$(code /api/v1/status -H 'Origin: null')" = 403 ]
	[ "$(code /api/v1/status -H "Origin: $AT")" = 200 ]
	# writes
	[ "$(code /api/v1/policy -d '{}')" = 401 ]
	[ "$(code /api/v1/policy -d '{}' -H 'Authorization: Bearer x')" = 401 ]
	[ "$(code "/api/v1/policy?token=$TOKEN" -d '{}')" = 401 ]
	get /api/v1/policy -d '{}' | jq -e '.error | contains("sluice dashboard")'
}

@test "at another address everything needs the token" {
	"$SLUICE" up "$DIR" >/dev/null
	json=$("$SLUICE" dashboard --listen 0.0.0.0 --port 0 --json)
	TOKEN=$(jq -r .token <<<"$json")
	address=$(jq -r .address <<<"$json")
	AT=http://127.0.0.1:${address##*:}
	[[ "$(jq -r .url <<<"$json")" == "$address/?token=$TOKEN#token=$TOKEN" ]]
	for path in / /app.js /api/v1/status /api/v1/events /metrics; do
		[ "$(code "$path")" = 401 ]
	done
	[ "$(code /api/v1/status -H "Authorization: Bearer $TOKEN")" = 200 ]
	[ "$(code "/api/v1/status?token=${TOKEN}x")" = 401 ]
	# the page, opened by its address, lets in what it loads; but a cookie is not enough to write
	[ "$(code "/?token=$TOKEN" -c "$BATS_TEST_TMPDIR/jar")" = 200 ]
	! grep -q "$TOKEN" "$BATS_TEST_TMPDIR/jar" || false
	[ "$(code /app.js -b "$BATS_TEST_TMPDIR/jar")" = 200 ]
	[ "$(code /api/v1/policy -b "$BATS_TEST_TMPDIR/jar" -d '{}')" = 401 ]
	[ "$(code /api/v1/status -H "Host: evil.example" -H "Authorization: Bearer $TOKEN")" = 421 ]
}

@test "dashboards of two layers on one machine stay open side by side" {
	# browsers send cookies to every port of a host, and so does curl
	jar=$BATS_TEST_TMPDIR/jar
	touch "$jar"
	at=()
	for layer in a b; do
		mkdir "$DIR/$layer"
		"$SLUICE" up --name "$layer" "$DIR/$layer" >/dev/null
		json=$("$SLUICE" dashboard --name "$layer" --listen 0.0.0.0 --port 0 --json)
		address=$(jq -r .address <<<"$json")
		AT=http://127.0.0.1:${address##*:}
		at+=("$AT")
		[ "$(code "/?token=$(jq -r .token <<<"$json")" -b "$jar" -c "$jar")" = 200 ]
	done
	for AT in "${at[@]}"; do
		[ "$(code /app.js -b "$jar")" = 200 ]
	done
}

@test "nodes and the controller come and go, the dashboard stays" {
	serve --ionodes 2
	kill -KILL "$(cat "$SLUICE_RUNTIME/default/pid-controller")"
	for ((i = 0; i < 100; i++)); do
		get /api/v1/status | jq -e '.controller.state == "died"' >/dev/null && break
		sleep 0.1
	done
	get /api/v1/status | jq -e '.controller.state == "died"'
	[ "$(post /api/v1/policy '{"share":"io-sets"}')" = '{"ok":true}' ]
	kill -KILL "$(cat "$SLUICE_RUNTIME/default/pid")" "$(cat "$SLUICE_RUNTIME/default/pid-1")"
	for ((i = 0; i < 100; i++)); do
		[ "$(code /api/v1/status)" = 503 ] && break
		sleep 0.1
	done
	get /api/v1/status | jq -e '.error == "no node of layer '"'default'"' answers"'
	[[ "$(events 1 /api/v1/events)" == *"event: down"* ]]
	"$SLUICE" up --revive >/dev/null
	get /api/v1/status | jq -e '.controller.state == "up" and ([.ionodes[].state] | all(. == "up"))'
	get /api/v1/status | jq -e '.share == "io-sets"' # what was changed is kept
}

post() { # path, body
	get "$1" -d "$2" -H "Authorization: Bearer $TOKEN"
}

@test "a job and the policies are changed, or the reason is told why not" {
	serve --ionodes 2 --capacity 100M
	some_job a
	[ "$(post /api/v1/jobs/a '{"max":"20M","weight":3,"best_effort":true}')" = '{"ok":true}' ]
	"$SLUICE" status --json | jq -e '.jobs[0] | .asked_max_bps == 20000000 and .weight == 3'
	post /api/v1/jobs/a '{"max":"lots"}' | jq -e '.error | startswith("max: '"'lots'"' is not a rate")'
	post /api/v1/jobs/a '{"max":"1 policy"}' | jq -e '.error == "max: a value has no spaces in it"'
	post /api/v1/jobs/a '{"size":1}' | jq -e '.error | contains("there are min, max")'
	post /api/v1/jobs/zz '{"max":1000000}' | jq -e '.error | startswith("no job '"'zz'"'")'
	[ "$(code /api/v1/jobs/zz -d '{"max":1000000}' -H "Authorization: Bearer $TOKEN")" = 404 ]
	[ "$(code /api/v1/jobs/a -d '{"min":"90M"}' -H "Authorization: Bearer $TOKEN")" = 409 ]
	[ "$(code /api/v1/jobs/a -d '{"max":' -H "Authorization: Bearer $TOKEN")" = 400 ]
	[ "$(code /api/v1/jobs/ -d '{}' -H "Authorization: Bearer $TOKEN")" = 404 ]
	[ "$(code /api/v1/jobs/a -H "Authorization: Bearer $TOKEN")" = 405 ]
	"$SLUICE" status --json | jq -e '.jobs[0] | .asked_max_bps == 20000000 and .asked_min_bps == 0'

	[ "$(post /api/v1/policy '{"share":"io-sets","order":"aioli,wait_us=500"}')" = '{"ok":true}' ]
	[ "$(post /api/v1/policy '{"grant":"fair-share"}')" = '{"ok":true}' ]
	"$SLUICE" status --json | jq -e '.policy.share == "io-sets" and
		.policy.order == "aioli,wait_us=500" and .controller.grant == "fair-share"'
	post /api/v1/policy '{"share":"io-set"}' | jq -e '.error | contains("io-set")'
	get /api/v1/policies | jq -S .policies >"$BATS_TEST_TMPDIR/api"
	"$SLUICE" policy list --json | jq -S .policies | diff "$BATS_TEST_TMPDIR/api" -
}

@test "what one node of several refuses is told with its name" {
	printf 'directory: %s\nionodes: 2\ncapacity: 100M\njobs: [{job: a}]\n' "$DIR" >"$BATS_TEST_TMPDIR/s.yaml"
	serve --config "$BATS_TEST_TMPDIR/s.yaml"
	"${ASK:-build/tests/e2e/ask}" "$SLUICE_RUNTIME/default/node-1.sock" job b keep=1 min=90M
	post /api/v1/jobs/a '{"min":"20M"}' | jq -e '.error | startswith("I/O node 1: min 20MB/s does not fit")'
}

@test "of changes at the same time one is kept: that which is in force" {
	serve --ionodes 2
	to=(-sS --max-time 20 -H "Authorization: Bearer $TOKEN" -o /dev/null "$AT/api/v1/policy")
	for ((i = 0; i < 20; i++)); do
		# by the page and by the command
		curl -Z --parallel-immediate "${to[@]}" -d '{"grant":"fair-share"}' \
			--next "${to[@]}" -d '{"grant":"set-10"}' --next "${to[@]}" -d '{"grant":"fcfs"}' 3>&- &
		for grant in min-dilation max-sys-eff min-max none fair-share set-10 fcfs; do
			"$SLUICE" policy set grant=$grant 2>>"$BATS_TEST_TMPDIR/said" 3>&- &
		done
		wait
		now=$("$SLUICE" status --json | jq -r .controller.grant)
		kept=$(tr '\0' '\n' <"$SLUICE_RUNTIME/default/args-controller" | sed -n '/^--grant$/{n;p}')
		[ "$now" = "$kept" ]
	done
	[ ! -s "$BATS_TEST_TMPDIR/said" ] || { cat "$BATS_TEST_TMPDIR/said"; false; }
}

@test "history has what jobs moved and when, and what-if simulates them" {
	serve --capacity 40M
	[ "$(code /api/v1/what-if -d '{}' -H "Authorization: Bearer $TOKEN")" = 409 ]
	for phase in 1 2; do
		"$SLUICE" run --job a -- dd if=/dev/zero of="$DIR/a" bs=1M count=20 conv=notrunc status=none
		for ((i = 0; i < 100; i++)); do
			history=$(get '/api/v1/history?seconds=60')
			[ "$(jq '[.phases[] | select(.to_ms)] | length' <<<"$history")" = $phase ] && break
			sleep 0.2
		done
	done
	echo "$history"
	# all of it, but for the second that has not ended
	jq -e '.step_s == 1 and ([.jobs[] | select(.job == "a").bps[]] | add) > 41e6 and
		([.jobs[] | select(.job == "a").bps[]] | add) < 43e6 and (.phases | length) == 2 and
		(.phases | all(.bytes == 20971520 and .to_ms - .from_ms > 300 and .to_ms - .from_ms < 4000))' <<<"$history"
	[ "$(code '/api/v1/history?seconds=0')" = 400 ]
	what=$(post /api/v1/what-if '{"policies":["fair-share","set-10"]}')
	jq -e '.now.jobs == [.now.jobs[] | select(.job == "a" and .volume_bytes == 20971520)] and
		.now.bandwidth_bps == 40000000 and .now.utilization > 0 and .now.utilization < 1 and
		[.policies[].name] == ["fair-share", "set-10"] and
		(.policies | all(.max_stretch > 0.99 and .max_stretch < 1.01))' <<<"$what"
	post /api/v1/what-if '{"policies":["best"]}' | jq -e '.error | contains("best")'
	[ "$(code /api/v1/what-if -d '{"policies":7}' -H "Authorization: Bearer $TOKEN")" = 400 ]
}

@test "metrics are as Prometheus wants them" {
	command -v promtool >/dev/null || skip "promtool is not there: install prometheus"
	serve --ionodes 2 --capacity 100M
	some_job a
	for ((i = 0; i < 200; i++)); do # until the next sample
		get /metrics >"$BATS_TEST_TMPDIR/metrics"
		grep -q '^sluice_job_bytes_total{job="a",ionode="[01]",op="write"} 262144$' "$BATS_TEST_TMPDIR/metrics" && break
		sleep 0.1
	done
	promtool check metrics <"$BATS_TEST_TMPDIR/metrics"
	# of the node that served it, and of no other
	[ "$(grep -c '^sluice_job_bytes_total{job="a",ionode="[01]",op="write"} ' "$BATS_TEST_TMPDIR/metrics")" = 1 ]
	grep -q '^sluice_job_bytes_total{job="a",ionode="[01]",op="write"} 262144$' "$BATS_TEST_TMPDIR/metrics"
	grep -qx 'sluice_ionode_up{ionode="1"} 1' "$BATS_TEST_TMPDIR/metrics"
	grep -qx 'sluice_controller_up 1' "$BATS_TEST_TMPDIR/metrics"
	grep -qx 'sluice_capacity_bytes_per_second 100000000' "$BATS_TEST_TMPDIR/metrics"
	# what the rules and the Grafana dashboard ask for is there
	sed -n 's/^# TYPE \([a-z0-9_]*\) .*/\1/p' "$BATS_TEST_TMPDIR/metrics" | sort >"$BATS_TEST_TMPDIR/names"
	{ jq -r '.panels[].targets[].expr, (.templating.list[].query | objects.query)' \
		"$SOURCE_DIR/integrate/grafana/sluice.json"
		grep -v '^ *#' "$SOURCE_DIR/integrate/prometheus/sluice-rules.yaml"; } |
		grep -o 'sluice_[a-z0-9_]*' | sort -u >"$BATS_TEST_TMPDIR/used"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/used")" -ge 15 ]
	[ "$(comm -13 "$BATS_TEST_TMPDIR/names" "$BATS_TEST_TMPDIR/used")" = "" ]
}

@test "the rules for alerts do what they say" {
	command -v promtool >/dev/null || skip "promtool is not there: install prometheus"
	cd "$SOURCE_DIR/integrate/prometheus"
	promtool check config prometheus.yaml
	promtool check rules sluice-rules.yaml
	promtool test rules sluice-rules-test.yaml
}

@test "up --dashboard starts it with the layer" {
	run -0 "$SLUICE" up --dashboard=0 "$DIR"
	[[ "$output" == *"Dashboard of layer 'default'"*"http://127.0.0.1:"*"/#token="* ]]
	AT=$("$SLUICE" dashboard --json | jq -r .address)
	[ "$(code /api/v1/status)" = 200 ]
	fails 2 "sluice up: 'x' is not a port, which is a number from 0 to 65535. See 'sluice up --help'." \
		up --dashboard=x "$DIR"
}

@test "slow and hostile clients disturb neither each other nor the data" {
	serve
	port=${AT##*:}
	"$SLUICE" run --job a -- dd if=/dev/zero of="$DIR/a" bs=64K count=2000 status=none &
	load=$!
	# connections that say nothing, half a header, and never take their answer
	for i in $(seq 60); do
		exec {held}<>"/dev/tcp/127.0.0.1/$port"
		case $((i % 3)) in
		1) printf 'GET /api/v1/status HTTP/1.1\r\nHo' >&"$held" ;;
		2) printf 'GET /api/v1/events?interval_ms=200 HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$held" ;;
		esac
	done
	# noise, a header without end, a body that is longer than it may be
	exec {held}<>"/dev/tcp/127.0.0.1/$port"
	head -c 100000 /dev/urandom >&"$held" 2>/dev/null || true
	[[ "$(code / -H "X: $(head -c 60000 /dev/zero | tr '\0' x)")" == 4* ]]
	head -c 70000 /dev/zero | tr '\0' ' ' >"$BATS_TEST_TMPDIR/long"
	[ "$(code /api/v1/policy -H "Authorization: Bearer $TOKEN" -H 'Expect:' --data-binary "@$BATS_TEST_TMPDIR/long")" = 413 ]
	# also one that does not say how long it is; one without end is hung up on
	to=(/api/v1/policy -H "Authorization: Bearer $TOKEN" -H 'Expect:' -H 'Transfer-Encoding: chunked')
	[ "$(code "${to[@]}" --data-binary "@$BATS_TEST_TMPDIR/long")" = 413 ]
	[ "$(yes | code "${to[@]}" -T - -X POST 2>/dev/null)" = 000 ]
	[ "$(code /api/v1/status)" = 200 ]
	wait "$load"
	[ "$(stat -c %s "$DIR/a")" -eq 131072000 ]
	# events have their own bound
	for i in $(seq 20); do
		exec {held}<>"/dev/tcp/127.0.0.1/$port"
		printf 'GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$held"
	done
	for ((i = 0; i < 50; i++)); do
		[ "$(code /api/v1/events --max-time 1)" = 503 ] && break
	done
	[ "$(code /api/v1/events --max-time 1)" = 503 ]
	[ "$(code /api/v1/status)" = 200 ]
}

@test "more slow connections than there may be do not keep others out" {
	serve
	/usr/bin/python3 "$SOURCE_DIR/tests/e2e/programs/slow-http.py" "${AT##*:}" 200 >"$BATS_TEST_TMPDIR/slow" 3>&- &
	slow=$!
	until_true grep -q begun "$BATS_TEST_TMPDIR/slow"
	for _ in 1 2 3 4 5; do
		[ "$(code /metrics --max-time 20)" = 200 ]
	done
	kill "$slow"
}
