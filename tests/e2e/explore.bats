# SPDX-License-Identifier: Apache-2.0
# `sluice explore`: simulated and live; what it writes, going on after an interruption, what is refused.
bats_require_minimum_version 1.5.0
load fails
load live

setup() {
	COMMAND=explore
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	SOURCE_DIR=$(realpath "${SOURCE_DIR:-.}")
	MATRIX=$SOURCE_DIR/examples/explore/agios-matrix.yaml
	live_setup
	SLUICE=$(realpath "$SLUICE")
	cd "$BATS_TEST_TMPDIR"
}

small() { # further keys
	cat >small.yaml <<-END
	explore:
	  devices: [pastel, edel]
	  ionodes: [0, 1, 2]
	  orders: [to, aioli]
	  share: pool
	  transfer: 8Ki
	  jitter: 100us
	  runs: {least: 2, most: 3, error: 100}
	  kernels:
	    - {name: one, processes: [2, 4], operation: [read, write], request: 64Ki, data: 512Ki}
	END
}

# ---- metadata ----

@test "a metadata kernel creates, looks at and removes its files, and counts calls" {
	cat >storm.yaml <<-END
	explore:
	  ionodes: [0, 1]
	  runs: {least: 2, most: 2, error: 100}
	  kernels:
	    - {name: storm, processes: [1, 2], operation: metadata, items: 50}
	    - {name: cut, operation: metadata, items: 1000000, time: 200ms}
	END
	run -0 "$SLUICE" explore --directory "$DIR" storm.yaml --output runs.csv
	nothing_left
	[[ "$output" == *"storm-2p, 1000 calls/s"* ]]
	# Columns by their names: 3 calls for each item and process.
	awk -F, '/^kernel,/ { for (i = 1; i <= NF; i++) c[$i] = i; next }
		$1 == "storm-1p" && $c["bytes"] != 150 { bad = 1 } $1 == "storm-2p" && $c["bytes"] != 300 { bad = 1 }
		$1 == "storm-2p" { seen++ } END { exit bad || seen != 4 }' <(grep -v '^#' runs.csv)
	sed -i 's/, items: 50//' storm.yaml
	fails 2 '*storm.yaml:5*items: 1000*' storm.yaml
	sed -i 's/time: 200ms/request: 4Ki/; s/operation: metadata}/operation: metadata, items: 5}/' storm.yaml
	fails 2 '*storm.yaml:6*moves no data*' storm.yaml
	sed -i '/request/d; s/ionodes:.*/ionodes: 2/; s/metadata}/metadata, items: 5}/' storm.yaml
	fails 2 '*metadata calls are not forwarded*' storm.yaml
	sed -i 's/ionodes:.*/devices: ssd/' storm.yaml
	fails 2 '*no models of metadata*' --simulate storm.yaml
}

# ---- simulated ----

@test "a part of the matrix of AGIOS gives the rows of the shipped table" {
	sed -e 's/devices: .*/devices: [suno]/' -e 's/processes: .*/processes: 8/' -e '/name: own-x/,$d' "$MATRIX" >part.yaml
	"$SLUICE" explore --simulate part.yaml --train part.csv >/dev/null
	[ "$(wc -l <part.csv)" -eq 17 ]
	head -1 part.csv | cmp - <(head -1 "$SOURCE_DIR/tests/data/learn/runs.csv")
	# All but the name, which has the number of processes only if that varies.
	cmp <(tail -n +2 part.csv | cut -d, -f2-) \
		<(grep '^shared.*-8p,suno,' "$SOURCE_DIR/tests/data/learn/runs.csv" | cut -d, -f2-)
}

@test "the matrix has 192 situations of five orders, and ratios of Table I" {
	t=$BATS_TEST_TMPDIR/simulated
	grep -v '^live-' "$SOURCE_DIR/tests/data/learn/runs.csv" >"$t"
	[ "$(wc -l <"$t")" -eq 193 ]
	[ "$(cut -d, -f2-4 "$t" | tail -n +2 | sort -u | tr '\n' ' ')" = "edel,0.66,write edel,2.37,read \
graphene,15.12,write graphene,40.68,read pastel,21.29,write pastel,38.91,read suno,25.46,read suno,8.17,write " ]
	[ "$(tail -n +2 "$t" | cut -d, -f2-13 | sort -u | wc -l)" -eq 192 ]
}

@test "the small live example can be simulated, too" {
	run -0 "$SLUICE" explore -S "$SOURCE_DIR/examples/explore/forge-small.yaml"
	grep -q '^own-large-write aioli ' <<<"$output"
	grep -q '^21 cells, 168 runs; 8 to 8 of each' <<<"$output"
}

@test "tables, JSON and files fit together, and do not depend on the threads" {
	small
	run -0 --separate-stderr "$SLUICE" explore -S small.yaml -J 1 -o runs.csv --train train.csv --curves curves.csv
	[ "$stderr" = "" ]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
	grep -q '^MB/s with I/O nodes: .* 0 .* 1 .* 2$' <<<"$output"
	[ "$(grep -c '^one-read-2p aioli ' <<<"$output")" -eq 2 ]
	# 2 devices x 4 kernels x (direct + 2 numbers x 2 orders)
	grep -q '^40 cells, 80 runs; 2 to 2 of each' <<<"$output"
	[ "$(grep -vc '^#' runs.csv)" -eq 81 ]
	"$SLUICE" explore -S small.yaml -J 3 -o again.csv --json >json
	cmp runs.csv again.csv
	jq -e '.how == "simulated" and (.cells | length == 40 and all(.runs == 2 and .seconds > 0 and .seconds_ci >= 0)) and
		(.cells | map(select(.ionodes == 0)) | length == 8 and all(.policy == "direct"))' json
	# The mean of a cell's runs is in the table for training.
	mean=$(awk -F, '$1 == "one-read-4p" && $2 == "edel" && $14 == "aioli" && $15 == 2 { s += $17; n++ }
		END { printf "%.6f", s / n }' runs.csv)
	[ "$(awk -F, '$1 == "one-read-4p" && $2 == "edel" && $14 == 2 { printf "%.6f", $16 }' train.csv)" = "$mean" ]
	run -0 --separate-stderr "$SLUICE" train --class op --attributes procs,ratio train.csv
	run -0 "$SLUICE" allocate -F 2 -J one-read-4p@pastel --json curves.csv
	jq -e '.jobs[0].ionodes > 0 and .bandwidth > 0' <<<"$output"
}

@test "an exploration goes on where it was, with more if that is asked for" {
	small
	"$SLUICE" explore -S small.yaml -o whole.csv >/dev/null
	head -30 whole.csv >part.csv
	printf 'one-read-2p,pastel,38' >>part.csv # as a crash leaves it
	run -0 "$SLUICE" explore -S small.yaml -o part.csv
	grep -q '80 runs, 28 of them from before' <<<"$output"
	cmp <(sort whole.csv) <(sort part.csv)
	sed -i -e 's/orders: .*/orders: [to, aioli, sjf]/' -e 's/least: 2/least: 3/' small.yaml
	run -0 "$SLUICE" explore -S small.yaml -o part.csv
	grep -q '168 runs, 80 of them from before' <<<"$output"
	cp part.csv before.csv
	sed -i 's/data: 512Ki/data: 1Mi/' small.yaml
	fails 2 "sluice explore: part.csv is of another exploration. Give another --output, or remove it. See*" \
		-S small.yaml -o part.csv
	echo "a,b" >other.csv
	fails 2 "sluice explore: other.csv is not the file of an exploration. *" -S small.yaml -o other.csv
	cmp part.csv before.csv
}

@test "names with quotes and commas are kept, and read again" {
	small
	cp "$SOURCE_DIR/sched/auto.tree" 'a"b.tree'
	sed -i -e "s/orders: .*/orders: [to, 'auto,tree=a\"b.tree']/" -e 's/devices: .*/devices: ["bandwidth=200M,seek=5ms"]/' small.yaml
	"$SLUICE" explore -S small.yaml -o runs.csv --train train.csv --curves curves.csv >/dev/null
	grep -q ',"auto,tree=a""b.tree",' runs.csv
	run -0 "$SLUICE" explore -S small.yaml -o runs.csv
	grep -q '40 runs, 40 of them from before' <<<"$output"
	# auto is nothing that a tree can choose.
	run -1 --separate-stderr "$SLUICE" train train.csv --attributes procs
	[ "$stderr" = "sluice train: train.csv:2: best is 'to' in every row: there is only one choice." ]
	python3 -c 'import csv, sys
rows = list(csv.reader(open("train.csv")))
assert rows[0][-1] == "time_auto,tree=a\"b.tree" and all(len(r) == len(rows[0]) for r in rows), rows'
	"$SLUICE" allocate -F 2 -J one-read-4p --json curves.csv >/dev/null
}

@test "a file that had no room for its first lines is begun again" {
	small
	"$SLUICE" explore -S small.yaml -o whole.csv >/dev/null
	for bytes in 0 7 60 $(($(head -2 whole.csv | wc -c) - 1)); do
		head -c $bytes whole.csv >part.csv
		"$SLUICE" explore -S small.yaml -o part.csv >/dev/null
		cmp whole.csv part.csv
	done
	# Another exploration's first line is none of ours.
	head -1 whole.csv | sed 's/.$/x/' >part.csv
	fails 2 "sluice explore: part.csv is of another exploration. *" -S small.yaml -o part.csv
}

@test "the page has all cells, and no name can become markup" {
	small
	sed -i 's/small.yaml//' small.yaml
	cp small.yaml '<b>&.yaml'
	"$SLUICE" explore -S './<b>&.yaml' --html page.html >/dev/null
	! grep -q '<b>&' page.html || false
	[ "$(sed -n '/id="data"/,/<\/script>/p' page.html | grep -o '"kernel":' | wc -l)" -eq 40 ]
	! grep -qE '(src|href)=' page.html || false
	node=$(command -v node || true)
	[ -z "$node" ] || { sed -n '/^<script>$/,/^<\/script>$/p' page.html | sed '1d;$d' >page.js; "$node" --check page.js; }
}

@test "a kernel is made from a log of Darshan, the same from its counters and its trace" {
	printf 'explore:\n  devices: ssd\n  runs: {least: 1, most: 1}\n' >none.yaml
	for kind in parser dxt; do
		run -0 "$SLUICE" explore -S none.yaml --json --darshan "$SOURCE_DIR/tests/data/darshan/ior_hdf5_example.$kind.txt"
		# 4,202,504 bytes in 36 reads, 14 of them consecutive and 26 from increasing offsets
		jq -e '.cells | length == 1 and (.[0] | .kernel == "ior" and .op == "read" and .procs == 4 and
			.layout == "shared-strided" and .request == 118784 and .file_bytes == 4 * 9 * 118784)' <<<"$output"
	done
	fails 1 "sluice explore: none.yaml:1: this is no output of darshan-parser *" -S none.yaml --darshan none.yaml
	echo "# nprocs: 4" >empty.txt
	fails 1 "sluice explore: empty.txt:1: there is no read or write in it." -S none.yaml --darshan empty.txt
	# 2^64 - 1 bytes in one write: sums must not wrap around.
	{
		printf '# darshan log version: 3.41\n# nprocs: 4\n# run time: 9\n'
		printf 'POSIX\t0\t1\tPOSIX_WRITES\t1\t/x\t/\text4\n'
		for file in {1..19}; do
			bytes=$((file < 19 ? 1000000000000000000 : 446744073709551615))
			printf "POSIX\t0\t$file\t%s\t%s\t/x\t/\text4\n" POSIX_BYTES_WRITTEN $bytes \
				POSIX_F_WRITE_START_TIMESTAMP 1.0 POSIX_F_WRITE_END_TIMESTAMP 2.0
		done
	} >huge.txt
	fails 1 "sluice explore: huge.txt: more than 2^60 bytes are read or written in it, which is impossible." \
		-S none.yaml --darshan huge.txt
}

@test "a log of very many files is read at once" {
	printf 'explore:\n  devices: ssd\n  runs: {least: 1, most: 1}\n' >none.yaml
	awk 'BEGIN {
		print "# darshan log version: 3.41\n# exe: /bin/x\n# nprocs: 1000\n# run time: 9"
		for (i = 0; i < 160000; i++) {
			at = "POSIX\t" i % 1000 "\t1000000000000" 1000000 + i "\tPOSIX_"
			file = "\t/x" i "\t/\text4"
			print at "WRITES\t3" file "\n" at "BYTES_WRITTEN\t12288" file
			print at "F_WRITE_START_TIMESTAMP\t1.0" file "\n" at "F_WRITE_END_TIMESTAMP\t2.0" file
		}
	}' >many.txt
	# A second of CPU time, or five under a sanitizer; searching a list takes a minute.
	run -0 bash -c 'ulimit -t 25; exec "$@"' - "$SLUICE" explore -S none.yaml --json --darshan many.txt
	jq -e '.cells[0] | .layout == "per-process" and .request == 4096 and .files == 1000 and .file_bytes == 480 * 4096' <<<"$output"
}

# ---- live ----

live() { # further keys
	cat >live.yaml <<-END
	explore:
	  devices: ssd
	  ionodes: [0, 1, 2]
	  orders: [to, aioli]
	  share: pool
	  runs: {least: 2, most: 2}
	  kernels:
	    - {name: w, processes: 2, applications: 2, pattern: strided, request: 16Ki, data: 128Ki, fsync: yes}
	    - {name: r, processes: 2, nodes: 1, files: per-process, operation: read, request: 64Ki, total: 1Mi}
	END
}

left() { # what explorations have left in $DIR and of processes
	find "$DIR" -mindepth 1
	grep -lsa "$DIR" /proc/[0-9]*/cmdline | while read -r f; do
		tr '\0' ' ' <"$f" | grep 'sluice[d]* ' || true
	done
}

nothing_left() {
	[ -z "$(left)" ]
}

@test "live: kernels run in a layer of its own, nothing is left, others can read what it writes" {
	live
	run -0 --separate-stderr "$SLUICE" explore live.yaml -d "$DIR" -o runs.csv --train train.csv --curves curves.csv --html p.html --json
	[ "$stderr" = "" ] || { echo "got: $stderr"; false; }
	nothing_left
	[ -z "$(ls "$SLUICE_RUNTIME")" ]
	jq -e '.how == "live" and (.cells | length == 10 and all(.runs == 2 and .mb_per_s > 0.1))' <<<"$output"
	# Each node has a device of 210 MB/s, or 270 for reads; direct access has one, too.
	jq -e '.cells | all(.mb_per_s <= 1.02 * ([.ionodes, 1] | max) * (if .op == "read" then 270 else 210 end))' <<<"$output"
	# One compute node uses one I/O node.
	jq -e '.cells | map(select(.kernel == "r")) | all(.mb_per_s <= 1.02 * 270)' <<<"$output"
	head -1 runs.csv | grep -q '^# sluice explore 1 live '
	[ "$(awk -F, '$1 == "w" && $18 != 524288' runs.csv | wc -l)" -eq 0 ]
	[ "$(wc -l <train.csv)" -eq 5 ]
	run -0 "$SLUICE" allocate -F 2 --uneven --json curves.csv
	run -0 "$SLUICE" explore live.yaml -d "$DIR" -o runs.csv
	grep -q '10 cells, 20 runs, 20 of them from before' <<<"$output"
}

@test "live: a time limit ends a kernel, and what it moved counts" {
	cat >limit.yaml <<-END
	explore:
	  devices: bandwidth=10M
	  ionodes: [0, 1]
	  runs: {least: 1, most: 1}
	  directory: $DIR
	  kernels: [{name: l, processes: 2, request: 64Ki, data: 16Mi, time: 200ms}]
	END
	"$SLUICE" explore limit.yaml -o l.csv >/dev/null
	# 2 MB in 0.2 s, of 32; what was under way at the end counts, too.
	[ "$(awk -F, '$1 == "l" && ($17 < 0.2 || $18 < 65536 || $18 > 4e6)' l.csv | wc -l)" -eq 0 ]
	[ "$(grep -c ^l, l.csv)" -eq 2 ]
	nothing_left
}

@test "live: interrupted or killed, it leaves nothing, and goes on where it was" {
	live
	sed -i -e 's/least: 2, most: 2/least: 50, most: 50/' -e 's/data: 128Ki/data: 1Mi/' live.yaml
	for signal in INT KILL; do
		rows=$(grep -c . runs.csv || true)
		"$SLUICE" explore live.yaml -d "$DIR" -o runs.csv >/dev/null 2>said 3>&- &
		pid=$!
		until_true 60 more_rows $((rows + 3))
		kill -s $signal $pid
		run wait $pid
		[ "$status" -ne 0 ]
		until_true 20 nothing_left
		if [ $signal = INT ]; then
			grep -q "^sluice explore: the runs so far are in runs.csv; repeat the command to continue.$" said
		fi
	done
	rows=$(($(wc -l <runs.csv) - 2))
	sed -i 's/least: 50, most: 50/least: 1, most: 1/' live.yaml
	run -0 "$SLUICE" explore live.yaml -d "$DIR" -o runs.csv
	grep -q "$rows of them from before" <<<"$(tr '\n' ' ' <<<"$output")"
	nothing_left
}

more_rows() { # number
	[ -e runs.csv ] && [ "$(wc -l <runs.csv)" -ge "$1" ]
}

@test "live: another directory is another device, if none is modelled" {
	live
	sed -i -e '/devices/d' -e 's/\[0, 1, 2\]/0/' -e 's/least: 2, most: 2/least: 1, most: 1/' live.yaml
	mkdir "$DIR/a" "$DIR/b"
	"$SLUICE" explore live.yaml -d "$DIR/a" -o runs.csv >/dev/null
	fails 2 "sluice explore: runs.csv is of another exploration. *" live.yaml -d "$DIR/b" -o runs.csv
	(cd "$DIR" && run -0 "$SLUICE" explore "$OLDPWD/live.yaml" -d a/. -o "$OLDPWD/runs.csv" &&
		grep -q '2 runs, 2 of them from before' <<<"$output")
	rmdir "$DIR/a" "$DIR/b" # nothing is left in them
}

@test "live: who was killed does not keep the file of runs" {
	live
	sed -i -e 's/least: 2, most: 2/least: 50, most: 50/' -e 's/data: 128Ki/data: 1Mi/' live.yaml
	"$SLUICE" explore live.yaml -d "$DIR" -o runs.csv >/dev/null 2>&1 3>&- &
	pid=$!
	until_true 60 more_rows 5
	kill -s KILL $pid
	run wait $pid
	sed -i 's/least: 50, most: 50/least: 1, most: 1/' live.yaml
	# At once, while the layer of the other is being stopped.
	run -0 --separate-stderr "$SLUICE" explore live.yaml -d "$DIR" -o runs.csv
	until_true 20 nothing_left
}

@test "live: what cannot be is told, and nothing is left" {
	live
	fails 2 "sluice explore: no directory for files: give --directory, or 'directory:' in the file. *" live.yaml -o no.csv
	[ ! -e no.csv ]
	fails 1 "sluice explore: cannot make a directory for files in /proc: *." live.yaml -d /proc
	fails 1 "sluice explore: cannot make a directory for files in no: No such file or directory." live.yaml -d no
	fails 2 "sluice explore: --directory is not for --simulate, which writes no files. *" -S -d "$DIR" live.yaml
	sed 's/total: 1Mi/total: 1Pi/' live.yaml >large.yaml
	fails 1 "sluice explore: r needs 1024TiB, but only * free below $DIR/*. Choose another --directory, or less data." \
		large.yaml -d "$DIR"
	sed 's/request: 16Ki, data: 128Ki/request: 12, data: 24/' live.yaml >odd.yaml
	fails 2 "sluice explore: odd.yaml:8: request: must be a multiple of 8 bytes, *" odd.yaml -d "$DIR"
	sed 's/processes: 2, applications: 2/processes: 300/' live.yaml >many.yaml
	fails 2 "sluice explore: many.yaml:8: processes: live, there are at most 256 at a time." many.yaml -d "$DIR"
	SLUICED=/nothing fails 1 "sluice explore: a layer did not start: *SLUICED is set to /nothing*" live.yaml -d "$DIR"
	fails 2 "sluice explore: --kernel is for 'sluice explore' itself. *" --kernel 0
	nothing_left
}

@test "live: turns stand beside the orders, and are no order that could be learnt" {
	live
	sed -i -e 's/ionodes: .*/ionodes: 1/' -e 's/orders: .*/orders: [turn, to]/' -e 's/least: 2, most: 2/least: 1, most: 1/' live.yaml
	run -0 --separate-stderr "$SLUICE" explore live.yaml -d "$DIR" --train train.csv --json
	jq -e '[.cells[].policy] | sort == ["to", "to", "turn", "turn"]' <<<"$output"
	# The model's device serves turns, too: 210 MB/s, or 270 for reads.
	jq -e '.cells | all(.mb_per_s <= 1.02 * 270)' <<<"$output"
	[[ "$(head -1 train.csv)" == *,ionodes,time_to ]]
}

# ---- refused ----

@test "what is wrong in a specification is told with file, line and key" {
	bad() { # what to change, pattern
		small
		sed -i "$1" small.yaml
		fails 2 "sluice explore: small.yaml:$2." -S small.yaml
	}
	bad 's/share: pool/sahre: pool/' "5: *'sahre'*share*"
	bad 's/aioli\]/aoli]/' "4: *orders*aoli*"
	bad 's/aioli\]/turn]/' "1: orders: 'turn' is for live runs with one I/O node"
	bad 's/edel/eddel/' "2: *devices*eddel*"
	bad 's/ionodes: .*/ionodes: [0, 65]/' "3: *ionodes*65*"
	bad 's/data: 512Ki/data: 100K/' "10: *100000, is not a multiple of request 65536; the next is 131072"
	bad 's/name: one, //' "10: *needs its name, as in 'name: checkpoint'"
	bad 's/request: 64Ki, //' "10: *needs the size of its calls, as in 'request: 256Ki'"
	bad 's/data: 512Ki/files: many/' "10: *files*many*"
	bad 's/least: 2/least: 9/' "8: *most, 3, is less than least, 9"
	bad 's/write\]/read]/' "10: *'read' is given twice"
	bad 's/data: 512Ki/data: 512Ki, time: 5s/' "10: time: a simulated kernel ends with its data, not by time"
	bad '/devices/d' "1: a simulation needs devices, as in 'devices: *"
	bad '/kernels/,$d' "1: needs kernels, as in *"
	bad 's/aioli\]/"aioli,wait_us=500,batch_bytes=1048576,batch_requests=16,quantum_bytes=65536"]/' "4: *orders*longer than 63 bytes"
	bad "s/edel\]/$(printf 'bandwidth=%dM, ' {1..63})edel]/" "2: *devices*more than 64"
	bad 's/pastel, edel/pastel, edel, pastel/' "2: *devices*'pastel' is given twice"
	bad 's/link/x/; s/transfer: 8Ki/link: 500/' "6: *link*'500' is less than 1000 bytes per second"
	bad 's/name: one,/name: a-name-of-thirty-letters-12345, files: [shared, per-process], pattern: [contiguous, strided], applications: [1, 2],/' \
		"10: *longer than 63 letters; give a shorter name"
	echo 'requests: {}' >small.yaml
	fails 2 "sluice explore: small.yaml:1: this is a scenario for 'sluice sim'; *" -S small.yaml
}

@test "files that cannot be read or written are told before anything runs" {
	small
	fails 1 "sluice explore: *nothing.yaml*: No such file or directory." -S nothing.yaml
	fails 2 "sluice explore: no specification given*" -S
	fails 2 "sluice explore: --jobs: '0' is not a number from 1 to 1024. *" -S -J 0 small.yaml
	fails 1 "sluice explore: cannot write no/page.html: No such file or directory." -S small.yaml --html no/page.html
	fails 1 "sluice explore: cannot write .: Is a directory." -S small.yaml -o .
	fails 2 "sluice explore: two results cannot be written to the same file, x.csv. *" -S small.yaml -o x.csv --train x.csv
	[ ! -e x.csv ]
	sed -i 's/transfer: 8Ki/link: 0/' small.yaml # none, as in sluice sim
	"$SLUICE" explore -S small.yaml >/dev/null
	run -1 --separate-stderr "$SLUICE" explore -S small.yaml -o /dev/full
	[[ "$stderr" == "sluice explore: cannot write /dev/full: No space left on device."* ]]
}
