# SPDX-License-Identifier: Apache-2.0
# `sluice sim SCENARIO`: the comparison as table, JSON, CSV and page; repetitions; mistakes.
bats_require_minimum_version 1.5.0
load fails

setup() {
	COMMAND=sim
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	cd "$BATS_TEST_TMPDIR"
	cat >mix.yaml <<-END
		platform: {bandwidth: 110Mi}
		window: [400, 3200]
		jobs:
		  - {name: small, compute: 18, volume: 128Mi}
		  - {name: large, count: 15, compute: 360, volume: 2560Mi}
	END
	cat >vary.yaml <<-END
		platform: {bandwidth: 100M, per_proc_bandwidth: 10M}
		window: [0, 2000]
		jobs:
		  - {name: a, count: 3, procs: 4, compute: {uniform: [10, 30]}, volume: 900M}
		  - {name: b, count: 2, procs: 8, compute: {exponential: 40}, volume: {normal: [2G, 300M]}}
	END
}

@test "the table marks the best, shows the limit and fits 80 columns" {
	run --separate-stderr "$SLUICE" sim mix.yaml --policy fair-share --policy fcfs
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ -z "$(LC_ALL=C.UTF-8 awk 'length > 80' <<<"$output")" ]
	[[ "${lines[0]} ${lines[1]}" == *"16 processors"*"need 0.97 of"*"115MB/s"*"400 to 3200 s"*exact* ]]
	[[ "${lines[2]}" =~ ^policy\ +"sys eff"\ +limit\ +dilation\ +"max str"\ +"geo str"\ +"io slow"\ +util$ ]]
	[ "$(grep -c '^fair-share ' <<<"$output")" -eq 1 ]
	# FCFS lets few wait here: it is the better one in the window.
	[[ "$(grep '^fcfs ' <<<"$output")" == *"*" ]]
	[[ "$(grep '^fair-share ' <<<"$output")" != *"*" ]]
	[[ "$output" == *"More is better: "*"*: best."* ]]
}

# Of the ideal model, measured by other means: fair share and first come first served.
@test "the figures are those of the ideal model" {
	"$SLUICE" sim mix.yaml -p fair-share -p fcfs --json >out.json
	jq -e 'def near(x; y): (x - y) / y | fabs < 0.005;
		.policies[0] as $f | .policies[1] as $c |
		near($f.max_stretch; 1.882) and near($f.geomean_stretch; 1.841) and
		near($f.io_slowdown; 14.65) and near($f.utilization; 0.512) and
		near($c.max_stretch; 1.561) and near($c.geomean_stretch; 1.078) and
		near($c.io_slowdown; 1.907) and near($c.utilization; 0.873)' out.json
	"$SLUICE" sim mix.yaml -p fcfs --window-mode paper --json |
		jq -e '.window_mode == "paper" and (.policies[0].io_slowdown - 1.961 | fabs < 0.01)'
}

@test "JSON has the keys of the format, and numbers or null" {
	"$SLUICE" sim mix.yaml --json >out.json
	python3 - <<-'END'
		import json
		def refuse(name):
		    raise ValueError(name)
		d = json.load(open("out.json"), parse_constant=refuse)
		keys = ["name", "sys_efficiency", "upper_limit", "dilation", "max_stretch",
		        "geomean_stretch", "io_slowdown", "utilization", "events", "wall_s"]
		assert d["scenario"] == "mix.yaml" and d["seed"] == 1 and d["repeat"] == 1
		assert len(d["policies"]) >= 3
		for p in d["policies"]:
		    assert list(p) == keys, p
		    assert all(p[k] is None or isinstance(p[k], (int, float)) for k in keys[1:])
		    assert p["events"] > 0 and 0 < p["sys_efficiency"] <= p["upper_limit"] <= 1
	END
}

@test "without I/O there is no slowdown of it: null, an empty field, a dash" {
	printf 'platform: {bandwidth: 1M}\nwindow: [0, 9]\njobs: [{compute: 3, volume: 0}]\n' >dry.yaml
	"$SLUICE" sim dry.yaml -p fcfs --json | jq -e '.policies[0] |
		.io_slowdown == null and .utilization == 1'
	[[ "$("$SLUICE" sim dry.yaml -p fcfs --csv | tail -1)" == fcfs,*,,1,* ]]
	[[ "$("$SLUICE" sim dry.yaml -p fcfs)" == *"1.0000       -  1.0000"* ]]
}

@test "CSV says the same as JSON, and quotes what has a comma" {
	policy=min-max,gamma=50
	"$SLUICE" sim vary.yaml -p fcfs -p "$policy" --repeat 3 --json >out.json
	"$SLUICE" sim vary.yaml -p fcfs -p "$policy" --repeat 3 --csv >out.csv
	python3 - "$policy" <<-'END'
		import csv, json, sys
		rows = list(csv.DictReader(open("out.csv")))
		policies = json.load(open("out.json"))["policies"]
		assert [r["name"] for r in rows] == ["fcfs", sys.argv[1]]
		for row, policy in zip(rows, policies):
		    keys = [k for k in policy if k not in ("runs", "against_first")]
		    assert list(row) == keys
		    for key in keys[1:-1]:
		        assert float(row[key]) == policy[key], key
	END
}

@test "--per-app has a line for each application" {
	"$SLUICE" sim mix.yaml -p fcfs --per-app --json | jq -e '.policies[0].apps | length == 16 and
		.[0].name == "small" and .[15].name == "large-15" and all(.stretch >= 1 and
		.dilation >= 1 and .iterations > 0 and .bytes > 0 and .procs == 1)'
	[ "$("$SLUICE" sim mix.yaml -p fcfs -p fair-share --per-app --csv | wc -l)" -eq 33 ]
	[ "$("$SLUICE" sim mix.yaml -p fcfs --per-app | grep -c '^large-')" -eq 15 ]
}

@test "repetitions are the same with one thread and with several" {
	# Without the periodic ones, which take nine tenths of the time.
	for threads in 1 2 7; do
		"$SLUICE" sim vary.yaml -p fair-share -p fcfs -p round-robin -p min-dilation -p max-sys-eff \
			-p min-max -p set-10 -p target-dilation --repeat 12 --jobs $threads --json |
			jq 'del(.policies[].wall_s)' >$threads.json
	done
	# And one of those, for fewer.
	for threads in 1 2; do
		"$SLUICE" sim vary.yaml -p periodic-congestion --repeat 2 --jobs $threads --json |
			jq 'del(.policies[].wall_s)' >periodic-$threads.json
	done
	cmp 1.json 2.json
	cmp 1.json 7.json
	cmp periodic-1.json periodic-2.json
	jq -e '.repeat == 12 and (.policies | length == 8 and all(.max_stretch_ci95 > 0))' 1.json
}

@test "mean and interval are those of the single runs, and the policies meet the same workloads" {
	for seed in 5 6 7; do
		"$SLUICE" sim vary.yaml -p fcfs -p fair-share --seed $seed --json >$seed.json
	done
	"$SLUICE" sim vary.yaml -p fcfs -p fair-share --seed 5 --repeat 3 --json >all.json
	python3 - <<-'END'
		import json, statistics
		runs = [json.load(open(f"{s}.json"))["policies"] for s in (5, 6, 7)]
		for i, p in enumerate(json.load(open("all.json"))["policies"]):
		    for key in ("sys_efficiency", "dilation", "max_stretch", "utilization"):
		        v = [r[i][key] for r in runs]
		        half = 4.30265 * statistics.stdev(v) / 3 ** 0.5
		        assert abs(p[key] - statistics.mean(v)) < 1e-9, key
		        assert abs(p[key + "_ci95"] - half) < 1e-4 * half, key
		        assert len(set(v)) == 3
		        assert [r[key] for r in p["runs"]] == v and [r["seed"] for r in p["runs"]] == [5, 6, 7]
		        d = [r[i][key] - r[0][key] for r in runs]
		        assert abs(p["against_first"][key] - statistics.mean(d)) < 1e-9, key
		        half = 4.30265 * statistics.stdev(d) / 3 ** 0.5
		        assert abs(p["against_first"][key + "_ci95"] - half) <= 1e-4 * half, key
		    assert p["events"] == sum(r[i]["events"] for r in runs)
	END
}

# The data of a page, as a browser would see it.
page_data() {
	python3 - "$1" <<-'END'
		import html.parser, json, sys
		class Page(html.parser.HTMLParser):
		    inside, text, tags = False, "", []
		    def handle_starttag(self, tag, attrs):
		        self.tags.append(tag)
		        self.inside = ("id", "data") in attrs
		        assert not any(k in ("src", "href") for k, v in attrs), attrs
		    def handle_endtag(self, tag):
		        self.inside = False
		    def handle_data(self, data):
		        if self.inside:
		            self.text += data
		p = Page()
		p.feed(open(sys.argv[1]).read())
		assert p.tags.count("script") == 2, p.tags
		print(json.dumps(json.loads(p.text)))
	END
}

@test "the page holds the comparison, the activities and the runs, and nothing from outside" {
	"$SLUICE" sim vary.yaml -p fcfs -p fair-share --repeat 5 --html out.html --per-app --json \
		>out.json
	[ "$(ls)" = "$(printf '%s\n' mix.yaml out.html out.json vary.yaml)" ]
	page_data out.html >data.json
	jq -e '.policies | length == 2 and (map(.name) == ["fcfs", "fair-share"]) and
		all((.mean | length) == 7 and (.values | all(length == 5)) and
		(.rows | length) == 5 and (.rows | all(length > 20)) and .merged_s == 0)' data.json
	# All that was transferred is in the chart of the bandwidth, and never more than there is.
	jq -e '.capacity_bps as $b | .policies | all(.bandwidth.bps | length > 400 and
		all(. <= $b * 1.001) and max > $b * 0.7)' data.json
	for i in 0 1; do
		moved=$(jq --argjson i $i '.end_s as $e | .policies[$i].bandwidth | .bin_s as $w |
			[.bps | to_entries[] | .value * ([$w, $e - .key * $w] | min)] | add' data.json)
		jq -e --argjson i $i --argjson moved "$moved" '[.policies[$i].apps[].bytes] | add |
			. / $moved - 1 | fabs < 0.001' out.json
	done
	! grep -E 'https?://' out.html | grep -v 'http://www.w3.org/2000/svg' || false
}

@test "a name cannot break out of the page" {
	cat >evil.yaml <<-'END'
		platform: {bandwidth: 1M}
		window: [0, 90]
		jobs:
		  - {name: '</script><script>alert(1)</script>', compute: 3, volume: 1M}
		  - {name: '<!--<script>&amp;"', compute: 3, volume: 1M}
	END
	"$SLUICE" sim evil.yaml -p fcfs --html out.html >/dev/null
	page_data out.html | jq -e '.apps == ["</script><script>alert(1)</script>",
		"<!--<script>&amp;\""]'
	! grep -q 'alert(1)</script>' out.html || false
}

@test "the page of a long run of many applications stays below 5 MB, and says what was merged" {
	cat >long.yaml <<-END
		platform: {bandwidth: 100G}
		window: [0, 100000]
		jobs: [{name: job, count: 400, compute: {uniform: [20, 100]}, volume: 10G}]
	END
	"$SLUICE" sim long.yaml -p fcfs -p fair-share --html out.html >/dev/null
	[ "$(stat -c %s out.html)" -lt 5000000 ]
	page_data out.html | jq -e '.apps_in_all == 400 and (.policies | all(.merged_s > 0))'
}

@test "a page that cannot be written is said before the work, and an old one stays" {
	run --separate-stderr "$SLUICE" sim mix.yaml --html none/out.html
	[ "$status" -eq 1 ]
	[ "$output" = "" ]
	[ "$stderr" = "sluice sim: cannot write none/out.html: No such file or directory." ]
	run --separate-stderr "$SLUICE" sim mix.yaml --html .
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice sim: cannot write .: Is a directory." ]
	echo old >out.html
	run "$SLUICE" sim mix.yaml -p none,no=1 --html out.html
	[ "$status" -eq 2 ]
	[ "$(cat out.html)" = old ]
	run "$SLUICE" sim mix.yaml -p fcfs --html /dev/full
	[ "$status" -eq 1 ]
	[[ "$output" == *"cannot write /dev/full: No space left on device."* ]]
}

# A scenario with one line changed: what, into what, the words after the file.
bad() {
	sed "s/$1/$2/" mix.yaml >bad.yaml
	! cmp -s mix.yaml bad.yaml || false
	wrong "sluice sim: bad.yaml:$3" bad.yaml
}

@test "a mistake in the scenario is told with its line and key" {
	bad 'compute: 18' 'compute: -18' "4: jobs*compute*"
	bad '128Mi' '.nan' "4: jobs*volume*"
	bad '2560Mi' '1e30' "5: jobs*volume*"
	bad 'bandwidth: 110Mi' 'bandwidth: 0' "1: platform.bandwidth*"
	bad 'volume: 128Mi' 'weight: 1' "4: *weight*"
	bad ', volume: 128Mi' '' "4: *volume is missing*"
	bad 'window: .*' '' "4: *iterations are missing*"
	bad '400, 3200' '400, 300' "2: window*"
	bad 'jobs:' 'policies: [fcfs, zork]\njobs:' "3: policies*zork*"
	bad 'count: 15' 'count: 99999999999' "5: jobs*count*"
	bad 'bandwidth: 110Mi' 'bandwidth: 110Mi, procs: 15' \
		"1: platform.procs: the jobs need 16 processors at 0 s, platform.procs is 15."
	bad 'name: small' 'name: large-3' "5: jobs: two jobs are called 'large-3'; line 4 has the other."
	bad 'compute: 18' 'iterations: 300000000000, compute: 18' "4: jobs: small: *4e+09 s*"
	: >bad.yaml
	wrong "sluice sim: bad.yaml:1: platform and jobs are missing." bad.yaml
	printf 'platform: [\n' >bad.yaml
	wrong "sluice sim: bad.yaml:2: *" bad.yaml
}

@test "a scenario that no policy can run is refused" {
	# Alone each would end in time; together they do not.
	printf 'platform: {bandwidth: 1M}\njobs: [{count: 2, compute: 0, volume: 9e14, iterations: 3}]\n' >bad.yaml
	wrong "sluice sim: no policy can run this: at * s the run goes beyond 4e9 s." bad.yaml
	wrong "sluice sim: fcfs: at * s the run goes beyond 4e9 s." bad.yaml -p fcfs --html out.html
	[ ! -e out.html ]
}

@test "a specification of an exploration is refused, with a hint" {
	printf 'explore:\n  ionodes: [1]\n' >explore.yaml
	run -2 --separate-stderr "$SLUICE" sim explore.yaml
	[ "$stderr" = "sluice sim: explore.yaml:1: this is no scenario: it is for 'sluice explore'." ]
}

@test "a scenario that is not there is named" {
	run --separate-stderr "$SLUICE" sim none.yaml
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice sim: cannot read none.yaml: No such file or directory." ]
}

@test "wrong use is refused in one line" {
	see="See 'sluice sim --help'."
	wrong "sluice sim: no scenario given[.] $see"
	wrong "sluice sim: unknown grant policy 'fair-shre'. Did you mean 'fair-share'[?] $see" \
		mix.yaml --policy fair-shre
	wrong "sluice sim: grant: no policy 'zork'; there are *fcfs*. $see" mix.yaml -p zork
	wrong "sluice sim: --policy 'fcfs,set-10': 'set-10' is a policy of its own; give --policy twice. $see" \
		mix.yaml -p fcfs,set-10
	wrong "sluice sim: 'order/aioli' is of order; those of grant are compared here, others with --requests. $see" \
		mix.yaml -p order/aioli
	wrong "sluice sim: 'mckp' is of allocate; *'sluice allocate'. $see" mix.yaml -p mckp
	wrong "sluice sim: --device is for --requests. $see" mix.yaml --device hdd
	wrong "sluice sim: --window is for --requests; *" mix.yaml --window 3
	wrong "sluice sim: grant/fcfs: no parameter 'x'*. $see" mix.yaml -p fcfs,x=1
	wrong "sluice sim: --repeat: '0' is not a whole number from 1 to 1000000. $see" \
		mix.yaml --repeat 0
	wrong "sluice sim: --jobs: 'all' is not a whole number from 1 to 1024. $see" \
		mix.yaml --jobs all
	wrong "sluice sim: unknown window mode 'papr'. Did you mean 'paper'[?] $see" \
		mix.yaml --window-mode papr
	wrong "sluice sim: give one of --json and --csv. $see" mix.yaml --json --csv
	wrong "sluice sim: unknown option '--jsn'. Did you mean '--json'[?] $see" mix.yaml --jsn
}

@test "the policies of the scenario are the default" {
	echo "policies: [fcfs, fair-share, fcfs]" >>mix.yaml
	"$SLUICE" sim mix.yaml --json | jq -e '[.policies[].name] == ["fcfs", "fair-share"]'
	"$SLUICE" sim mix.yaml -p grant/fcfs -p grant=set-10 --json |
		jq -e '[.policies[].name] == ["fcfs", "set-10"]'
	"$SLUICE" sim mix.yaml -p none --json | jq -e '[.policies[].name] == ["none"]'
}

@test "all policies but none are compared if none is chosen" {
	"$SLUICE" sim mix.yaml --json | jq -e '[.policies[].name, .left_out[]?.name] |
		index("fair-share") == 0 and index("target-dilation") and index("none") == null'
}

@test "the machine and its load are said, in the table, in JSON and on the page" {
	sed -i 's/110Mi/110Mi, procs: 20, burst_buffer: {capacity: 1Gi, bandwidth: 1G}/' mix.yaml
	"$SLUICE" sim mix.yaml -p fcfs --html out.html --json >out.json
	jq -e '(.about | test("16 applications on 16 of 20 processors; together they need 0.97 of the bandwidth of 115MB/s, burst buffer of 1GiB at 1GB/s")) and
		(.machine | .applications == 16 and .procs_used == 16 and .procs == 20 and
		(.load - (1 / (18 + 128/110) * 128 + 15 / (360 + 2560/110) * 2560) / 110 | fabs < 1e-9) and
		.burst_buffer_bytes == 1073741824 and .burst_buffer_bps == 1e9)' out.json
	page_data out.html | jq -e '.summary | startswith("16 applications on 16 of 20 processors")'
}

@test "a run with a tail, and a window that nobody is in, are said" {
	printf 'platform: {bandwidth: 1M}\njobs:\n- {compute: 1, volume: 0, iterations: 10}\n' >note.yaml
	"$SLUICE" sim note.yaml -p fcfs --json | jq -e '.note == null'
	echo '- {compute: 1, volume: 0, iterations: 100}' >>note.yaml
	"$SLUICE" sim note.yaml -p fcfs --json |
		jq -e ".note | test(\"first at 10 s and the last at 100 s.*'window: .1, 10.'\")"
	echo 'window: [200, 300]' >>note.yaml
	"$SLUICE" sim note.yaml -p fcfs --json |
		jq -e '.note | test("No job runs in the window.*the last one ends at 100 s[.]")'
	[[ "$("$SLUICE" sim note.yaml -p fcfs)" == *"No job runs in the window"* ]]
}

@test "what is odd about a scenario is said, and it runs" {
	sed -i 's/110Mi/110/' mix.yaml
	run --separate-stderr "$SLUICE" sim mix.yaml -p fcfs
	[ "$status" -eq 0 ]
	[[ "$stderr" == "sluice sim: warning: mix.yaml: the bandwidth of the platform is 110B/s; "* ]]
	sed -i 's/110/110M, burst_buffer: {capacity: 1G, bandwidth: 50M}/' mix.yaml
	run --separate-stderr "$SLUICE" sim mix.yaml -p fcfs
	[[ "$stderr" == *"the burst buffer takes 50MB/s, less than the bandwidth of 110MB/s"* ]]
}

@test "periods that are detected take the place of those of the scenario" {
	cat >three.yaml <<-END
	platform: {bandwidth: 100M}
	window: [2000, 4000]
	jobs:
	  - {name: often, compute: 9, volume: 100M, period_hint: 5000}
	  - {name: seldom, compute: 90, volume: 2G, period_hint: 1}
	  - {name: never, compute: 3000, volume: 2G, iterations: 1}
	policies: [set-10]
	END
	sed '/never/d' three.yaml >two.yaml
	"$SLUICE" sim three.yaml --detect-periods --per-app --json | jq -e '.periods_detected and
		(.policies[0].apps | map({key: .name, value: .}) | from_entries |
		(.often | .period_found_s > 9.5 and .period_found_s < 11 and .period_confidence > .5 and
			.period_first_found_s < 60) and
		(.seldom | .period_found_s > 105 and .period_found_s < 120 and .period_first_found_s < 600) and
		.never.period_found_s == null)'
	[[ "$("$SLUICE" sim three.yaml --detect-periods --per-app | tr '\n' ' ')" == *"periods detected"*iterations*period* ]]
	# The hints say the opposite of what is true: they cost what detection saves.
	stretch() { "$SLUICE" sim two.yaml "$@" --json | jq '.policies[0].max_stretch'; }
	jq -en "$(stretch --detect-periods) + .05 < $(stretch)"
	"$SLUICE" sim two.yaml --json | jq -e '.periods_detected == false'
}

@test "several scenarios are one machine with the jobs of all; - is standard input" {
	cat >more.yaml <<-END
		platform: {bandwidth: 1M}
		jobs: [{name: small, compute: 10, volume: 1G, iterations: 3}]
	END
	"$SLUICE" sim mix.yaml more.yaml -p fcfs --per-app --json >out.json
	jq -e '.scenario == "mix.yaml" and .machine.applications == 17 and .machine.bandwidth_bps > 1e8 and
		([.policies[0].apps[].name] | .[0] == "small" and .[16] == "small-2")' out.json
	"$SLUICE" sim - more.yaml -p fcfs --per-app --json <mix.yaml | jq '.policies[0].apps' >a.json
	jq '.policies[0].apps' out.json | cmp - a.json
	wrong "sluice sim: all together: job small-2 has no iterations, and the window*" more.yaml mix.yaml
	sed -i 's/110Mi/110Mi, procs: 16/' mix.yaml
	wrong "sluice sim: all together: the jobs need 17 processors at 0 s, platform.procs is 16." \
		mix.yaml more.yaml
}

@test "help fits 80 columns" {
	run "$SLUICE" sim --help
	[ "$status" -eq 0 ]
	[[ "$output" == "usage: sluice sim SCENARIO.yaml"* ]]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
}
