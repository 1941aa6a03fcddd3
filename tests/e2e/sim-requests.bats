# SPDX-License-Identifier: Apache-2.0
# `sluice sim --requests`: scenarios, what is printed, what is refused; and the recording of a live
# node gives its own decisions again.
bats_require_minimum_version 1.5.0
load fails

setup() {
	COMMAND="sim --requests"
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	REAL=$(realpath "${SLUICED:-$(dirname "$SLUICE")/../sluiced/sluiced}")
	SOURCE_DIR=$(realpath "${SOURCE_DIR:-.}")
	LARGE=$SOURCE_DIR/examples/scenarios/agios-shared-large.yaml
	cd "$BATS_TEST_TMPDIR"
}

small() {
	cat >small.yaml <<-END
	requests:
	  servers: 2
	  transfer: 8Ki
	  device: ssd
	  jobs:
	    - { name: one, processes: 4, request: 64Ki, data: 1Mi, pattern: strided }
	    - { name: two, processes: 2, request: 16Ki, data: 1Mi, operation: read, jitter: 1ms }
	END
}

# bats test_tags=plain
@test "each scenario of AGIOS runs, fits 80 columns, and repeats to the letter" {
	for f in "$SOURCE_DIR"/examples/scenarios/agios-*.yaml; do
		run --separate-stderr "$SLUICE" sim --requests "$f" --per-app
		[ "$status" -eq 0 ]
		[ "$stderr" = "" ]
		[ -z "$(tail -n +2 <<<"$output" | awk 'length > 80')" ]
		for order in to to-agg sjf mlf aioli; do
			grep -q "^order=$order,share=pool " <<<"$output"
		done
		[ "$("$SLUICE" sim --requests "$f" --per-app)" = "$output" ]
	done
}

@test "operations are requests of one byte: a max holds, and a victim has its share" {
	"$SLUICE" sim --requests --json "$SOURCE_DIR/examples/scenarios/metadata-storm.yaml" | jq -e '
		[.policies[] | .apps | map({(.name): .}) | add] as [$fifo, $wfq] |
		($wfq.held.calls / $wfq.held.io_s | . > 1980 and . < 2020) and
		$wfq.victim.call.p99_us < 200 and $fifo.victim.call.p99_us > 4 * $wfq.victim.call.p99_us and
		$wfq.storm.calls > 0.98 * $fifo.storm.calls'
}

@test "large shared writes gain with every order that merges, on every disk of the paper" {
	for device in pastel graphene suno; do
		"$SLUICE" sim --requests "$LARGE" --device $device --json | jq -e '.device == "'$device'" and
			(.policies | map({key: (.name | split(",")[0]), value: .}) | from_entries |
			[.["order=to-agg"], .["order=sjf"], .["order=mlf"], .["order=aioli"]] as $merge |
			.["order=to"] as $to |
			$to.merged == 1 and ($merge | all(.merged > 4 and
			.makespan_s < 0.6 * $to.makespan_s and .bytes == $to.bytes)))'
	done
}

@test "json has totals, applications and latencies that fit together" {
	small
	"$SLUICE" sim --requests small.yaml --policy order=to --policy order=aioli,wait_us=100,share=wfq \
		--json >out.json
	jq -e '.level == "request" and .servers == 2 and (.policies | length == 2 and
		map(.name) == ["order=to", "order=aioli,wait_us=100,share=wfq"] and all(
		.bytes == 6291456 and (.apps | map(.bytes) | add) == .bytes and .calls == 64 + 128 and
		.requests == 64 * 8 + 128 * 2 and .device_ops <= .requests and .seeks <= .device_ops and
		.busy > 0 and .busy <= 1 and (.mb_per_s - .bytes / .makespan_s / 1e6 | fabs) < 1e-6 and
		.events > .requests and .wall_s > 0 and ([.apps[].end_s] | max) == .makespan_s and
		(.call | .p50_us <= .p95_us and .p95_us <= .p99_us and .p99_us <= .max_us)))' out.json
}

@test "seed, window and device change the run; the same seed repeats it" {
	small
	run_with() { "$SLUICE" sim --requests small.yaml "$@" --json | jq -c 'del(.policies[].wall_s)'; }
	[ "$(run_with)" = "$(run_with --seed 1)" ]
	[ "$(run_with)" != "$(run_with --seed 2)" ]
	[ "$(run_with --seed 2)" = "$(run_with --seed 2)" ]
	[ "$(run_with)" != "$(run_with --window 8)" ]
	[ "$(run_with)" != "$(run_with --device hdd)" ]
	[ "$(run_with --device bandwidth=1G | jq .device)" = '"given"' ]
}

@test "a wrong scenario is refused with line and key, status 2" {
	small
	sed -i 's/servers: 2/servers: -2/' small.yaml
	fails 2 "sluice sim: small.yaml:2: requests.servers: '-2' is not a number from 1 to 1024." small.yaml
	small
	sed -i 's/64Ki/nan/' small.yaml
	fails 2 "sluice sim: small.yaml:6: requests.jobs\[0\].request: 'nan' is not a size*" small.yaml
	small
	sed -i 's/data: 1Mi, op/data: 1000000000000000000, op/' small.yaml
	fails 2 "sluice sim: small.yaml:7: requests.jobs\[1\].data: '1000000000000000000' is not a size*" small.yaml
	small
	echo '  policies: [ order=best ]' >>small.yaml
	fails 2 "sluice sim: small.yaml:8: requests.policies\[0\]: *best*" small.yaml
	printf 'requests:\n  jobs: [\n' >small.yaml
	fails 2 "sluice sim: small.yaml:3: this is not YAML: *" small.yaml
	fails 1 "sluice sim: cannot read none.yaml: No such file or directory." none.yaml
}

@test "wrong use is refused" {
	small
	fails 2 "sluice sim --requests: no scenario given.*"
	fails 2 "sluice sim --requests: unexpected argument 'b'.*" small.yaml b
	fails 2 "sluice sim --requests: --policy 'best': 'best' does not begin with a stage*" small.yaml --policy best
	fails 2 "sluice sim --requests: --policy 'order=best': *" small.yaml --policy order=best
	fails 2 "sluice sim --requests: unknown device 'hd'. Did you mean 'hdd'?*" small.yaml --device hd
	fails 2 "sluice sim --requests: --window: '0' is not a number from 1 to 1024.*" small.yaml --window 0
	fails 2 "sluice sim --requests: --seed: 'x' is not a number.*" small.yaml --seed x
	fails 2 "sluice sim --requests: --csv is not for --requests. See 'sluice sim --requests --help'." \
		small.yaml --csv
	fails 2 "*unknown device 'zork'; there are hdd, raid, *" small.yaml --device zork
	fails 2 "*grant is decided by a controller, and small.yaml has none; 'sluice sim SCENARIO' compares*" \
		small.yaml --policy grant=fcfs
	fails 2 "*allocate is not simulated; 'sluice allocate' compares its policies.*" small.yaml --policy allocate=mckp
	printf 'platform: {}\n' >phases.yaml
	fails 2 "sluice sim: phases.yaml:1: this is a scenario of whole I/O phases*" phases.yaml
}

@test "four nodes and a controller that dies: shares and grants hold over all nodes" {
	"$SLUICE" sim --requests "$SOURCE_DIR/examples/scenarios/four-nodes.yaml" --json >out.json
	jq -e 'def rates: .apps | map({key: .name, value: .mb_per_s}) | from_entries;
		def near(x): . > x - 1 and . < x + 1;
		.policies | map({key: .name, value: .}) | from_entries |
		all(.[]; .peak_mb_per_s < 81.6 and .mb_per_s > 78 and .decisions > 0) and
		(.["share=io-sets"] | rates | (.often | near(79)) and (.["rare-1"] | near(.8))) and
		(.["grant=set-10"] | rates | (.often | near(79))) and
		(.["grant=fcfs"] | rates | (.often | near(80)) and .["rare-1"] < 1) and
		(.["share=wfq"] | rates | .often / .["rare-2"] | . > 3.9 and . < 4.2)' out.json
	small
	sed -i 's/servers: 2/servers: 2\n  events: [{at: 1s, dies: 5}]/' small.yaml
	fails 2 "*need a controller: write 'controller: {delay: 1ms}'*" small.yaml
	sed -i 's/servers: 2/servers: 2\n  controller: {delay: 1ms}/' small.yaml
	fails 2 "*a controller divides a capacity: write capacity: 1GB/s*" small.yaml
	sed -i 's/servers: 2/servers: 2\n  capacity: 1GB\/s/' small.yaml
	fails 2 "*server 5 dies, of 0 to 1*" small.yaml
	sed -i 's/dies: 5/dies: 1/' small.yaml
	"$SLUICE" sim --requests small.yaml --policy share=wfq --json | jq -e '.policies[0].bytes == 6291456'
}

@test "share=fair divides one bandwidth among users, wherever their jobs are" {
	cat >fair.yaml <<-END
	requests:
	  servers: 2
	  capacity: 80MB/s
	  device: {like: ssd, read: 10GB/s, write: 10GB/s, operation: 0, read_seek: 0, write_seek: 0}
	  link: 0
	  latency: 0
	  controller: {delay: 1ms}
	  until: 5s
	  jobs:
	    - {name: a, on: [0, 1], processes: 2, request: 64Ki, data: 64Mi, background: yes, user: 1}
	    - {name: b, on: 0, request: 64Ki, data: 64Mi, background: yes, user: 2}
	    - {name: c, on: 1, request: 1Mi, data: 64Mi, background: yes, user: 2}
	    - {name: d, on: 1, request: 64Ki, data: 64Mi, background: yes, user: 3}
	  policies: ["share=fair,by=user:job"]
	END
	"$SLUICE" sim --requests fair.yaml --json | jq -e 'def near(x): . > .97 * x and . < 1.03 * x;
		.policies[0].apps | map({key: .name, value: .mb_per_s}) | from_entries |
		(.a | near(80 / 3)) and (.b + .c | near(80 / 3)) and (.d | near(80 / 3))'
}

@test "each order is compared if no policy is named, and order/aioli is order=aioli" {
	small
	"$SLUICE" sim --requests small.yaml --json | jq -e '[.policies[].name] | length >= 5 and
		index("order=to") and index("order=aioli") and all(startswith("order="))'
	same() { "$SLUICE" sim --requests small.yaml --json -p "$1" | jq '.policies[0] | del(.name, .wall_s)'; }
	[ "$(same order/aioli,wait_us=100)" = "$(same order=aioli,wait_us=100)" ]
}

# The decisions as the node has written them, one a line as --log does.
recorded() {
	perl -e 'local $/; open F, "<:raw", $ARGV[0]; $_ = <F>; my ($at, %r) = 8;
		while ($at < length) {
			my ($type, $size, $request, $now) = unpack "vvVQ<", substr $_, $at, 16;
			my @u = unpack "Q<5V2", substr $_, $at + 16, 48 if $type == 2;
			$r{$request} = sprintf "%016x %d %s %016x %d %d", $u[0], $u[1],
				$u[5] ? "write" : "read", @u[2 .. 4] if $type == 2;
			if ($type == 3) {
				my $count = unpack "V", substr $_, $at + 16, 4;
				print "$now $count", $count ? " $request $r{$request}" : "", "\n";
			}
			$at += $size;
		}' "$1"
}

@test "the recording of a live node: its decisions come out again, one by one" {
	local runtime
	mkdir files
	runtime=$(mktemp -d /tmp/sluice-e2e-XXXXXX)
	export SLUICE_RUNTIME=$runtime
	printf '#!/bin/sh\nexec %s "$@" --trace %s\n' "$REAL" "$PWD/trace" >recording
	chmod +x recording
	SLUICED=$PWD/recording "$SLUICE" up --name live --policy share=pool --policy order=aioli files
	for job in 1 2; do
		"$SLUICE" run --name live --job $job -- \
			dd if=/dev/zero of=files/$job bs=64k count=300 status=none &
	done
	wait
	"$SLUICE" policy set --name live order=sjf share=wfq
	for job in 1 2; do
		"$SLUICE" run --name live --job $job -- \
			dd if=files/$job of=/dev/null bs=8k status=none &
	done
	wait
	"$SLUICE" down --name live
	rm -rf "$runtime"
	run --separate-stderr "$SLUICE" replay trace --log decisions
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[[ "${lines[0]}" =~ ^([0-9]+)" decisions, all equal"$ ]]
	[ "${BASH_REMATCH[1]}" -eq "$(wc -l <decisions)" ]
	recorded trace >expected
	diff expected decisions
	[ "$(grep -c ' write ' decisions)" -gt 10 ]
	[ "$(grep -c ' read ' decisions)" -gt 10 ]
	"$SLUICE" replay trace --json | jq -e '.equal and .requests >= 600'
}
