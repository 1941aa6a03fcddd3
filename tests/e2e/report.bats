# SPDX-License-Identifier: Apache-2.0
# sluice report: the account that nodes keep, and what is made of it.
bats_require_minimum_version 1.5.0
load live

report() { # jq filter
	"$SLUICE" report --json | jq -r "$1"
}

@test "what jobs moved is all there, also when the layer is down, and who waited for whom" {
	compile live-load
	"$SLUICE" up --charge calls --ionodes 2 --capacity 40M "$DIR"
	start_load big --weight 10 -- "$BIN/live-load" -T 100 -t 4 "$DIR/big"
	start_load small -- "$BIN/live-load" -T 100 -t 4 "$DIR/small"
	sleep 5
	end_load 0
	end_load 1
	until_true 5 eval '[ "$(status "[.jobs[].clients] | add")" = 0 ]'
	big=$(job big write_bytes) small=$(job small write_bytes)
	"$SLUICE" down
	run -0 "$SLUICE" report
	echo "$output"
	[ "$(report '.jobs[] | select(.job == "big").write_bytes')" = "$big" ]
	[ "$(report '.jobs[] | select(.job == "small").write_bytes')" = "$small" ]
	# Alone on its node it would not wait for another; whether it was is the controller's affair.
	report '.jobs[] | select(.job == "small") | .waited_s > 0.5' | grep -qx true
	[ "$(report '.jobs | length')" = 2 ]
	[[ "$output" == *JOB*WRITTEN*WAITED*SAVED* ]]
}

@test "one that is put behind another waits for it, and loses" {
	compile live-load
	"$SLUICE" up --charge calls --capacity 40M --policy share=wfq "$DIR"
	start_load big --weight 10 -- "$BIN/live-load" -T 100 -t 4 "$DIR/big"
	start_load small -- "$BIN/live-load" -T 100 -t 4 "$DIR/small"
	sleep 7
	end_load 0
	end_load 1
	"$SLUICE" down
	run -0 "$SLUICE" report
	echo "$output"
	report '.jobs[] | select(.job == "small") | (.delayed_by[0].job == "big") and (.delayed_by[0].seconds > 1) and
		(.saved_s < -1)' | grep -qx true
	report '.jobs[] | select(.job == "big") | .saved_s > 1' | grep -qx true
	"$SLUICE" report --html "$BATS_TEST_TMPDIR/r.html"
	grep -q '"delayed_by"' "$BATS_TEST_TMPDIR/r.html"
	! grep -E 'https?://' "$BATS_TEST_TMPDIR/r.html" | grep -v www.w3.org/2000/svg || false
	sleep 1.1 # nothing is as new as that
	[ "$("$SLUICE" report --since 0s)" = "No job did any I/O in that time." ]
	[ "$("$SLUICE" report --since 1h --json | jq '.jobs | length')" = 2 ]
}

@test "an account goes on after half a line, makes room when it is full, and is nobody else's" {
	account=$SLUICE_RUNTIME/.usage-default
	head=time,seconds,read,write,calls,held,waited,contended,first,last,unscheduled,operations,ops_held,cached,wire,dirty,job
	chmod 700 "$SLUICE_RUNTIME"
	printf '%s\n100,2.000,0,4096,1,0.000,0.0' $head >"$account"
	"$SLUICE" up "$DIR"
	"$SLUICE" run --job a -- dd if=/dev/zero of="$DIR/x" bs=4k count=1000 status=none
	"$SLUICE" down
	cat "$account"
	run -0 --separate-stderr "$SLUICE" report --json
	[ "$stderr" = "sluice report: warning: a malformed line was skipped." ]
	[ "$(jq -c '[.jobs[] | [.job, .write_bytes, .requests, .wire_bytes]]' <<<"$output")" = '[["a",4096000,1000,4096000]]' ]
	truncate -s 40M "$account"
	"$SLUICE" up "$DIR"
	"$SLUICE" run --job b -- dd if=/dev/zero of="$DIR/x" bs=4k count=1000 status=none
	"$SLUICE" down
	[ "$(stat -c %s "$account.1")" -eq $((40 << 20)) ]
	[ "$(stat -c %a "$account")" = 600 ]
	[ "$(head -n 1 "$account")" = $head ]
	[ "$(report '[.jobs[] | [.job, .write_bytes]] | sort | tojson')" = '[["a",4096000],["b",4096000]]' ]
	# one with the columns of earlier versions makes room, too, and is still read
	rm "$account" "$account.1"
	printf '%s\n100,2.000,0,4096,1,0.000,0.000,c\n' time,seconds,read,write,calls,held,waited,job >"$account"
	"$SLUICE" up "$DIR"
	"$SLUICE" run --job b -- dd if=/dev/zero of="$DIR/x" bs=4k count=1000 status=none
	"$SLUICE" down
	[ "$(head -n 1 "$account")" = $head ]
	run -0 --separate-stderr "$SLUICE" report --json
	[ "$stderr" = "" ]
	[ "$(jq -c '[.jobs[] | [.job, .write_bytes]] | sort' <<<"$output")" = '[["b",4096000],["c",4096]]' ]
}

@test "jobs that ran one after the other did not wait for each other" {
	"$SLUICE" up --charge calls --capacity 20M "$DIR"
	for job in a b a b; do # in 2 s or less, so that some share a line of time in the account
		"$SLUICE" run --job $job -- dd if=/dev/zero of="$DIR/$job" bs=64k count=64 status=none
		until_true 20 eval '[ "$(job $job clients)" = 0 ]'
	done
	"$SLUICE" down
	cat "$SLUICE_RUNTIME/.usage-default"
	report '[.jobs[] | .waited_s > 0.1] | all' | grep -qx true
	[ "$(report '[.jobs[].delayed_by[]] | tojson')" = "[]" ]
	[[ "$("$SLUICE" report)" == *"No job waited for another."* ]]
}

widths() { # of lines
	awk '{ print length }' | sort -u | xargs
}

@test "long names and large numbers shift neither table, and both fit 80 columns" {
	local long=a-job-whose-name-is-longer-than-its-column
	printf 'time,seconds,read,write,calls,held,waited,job\n%s\n%s\n%s\n' "100,2,0,4096,1,0,1,$long" \
		100,2,0,8192,1,0,1,run-123456 \
		100,2,1123456789012345,1123456789012345,123456789012,1234567,7654321,run-123457 >"$BATS_TEST_TMPDIR/x"
	run -0 "$SLUICE" report "$BATS_TEST_TMPDIR/x"
	echo "$output"
	[ "$(sed -n '/^JOB/,/^$/p' <<<"$output" | grep . | widths)" = 79 ]
	[[ "$output" == *$'\n'"${long:0:15}~ "* ]]
	[[ "$output" == *" 0.0s     1.0s    -1.0s"* ]]
	[[ "$output" == *" 123G "*" 343h "* ]]
	# the end of a name tells jobs apart where it has few columns; nobody waited for the small ones
	[ "$(sed -n '/column:/{n;p}' <<<"$output" | xargs)" = "~123457" ]
	[ "$(sed -n '/column:/,$p' <<<"$output" | tail -n +2 | widths)" = 24 ]
}

@test "the matrix shows those who waited, and those for whom they did" {
	{
		echo time,seconds,read,write,calls,held,waited,job
		for name in big small idle1 idle2; do
			case $name in
			big) echo 100,2,0,60000000,60,0,0,$name ;;
			small) echo 100,2,0,20000000,20,0,1.5,$name ;;
			*) echo 200,2,0,1000000,1,0,0,$name ;;
			esac
		done
	} >"$BATS_TEST_TMPDIR/x"
	run -0 "$SLUICE" report "$BATS_TEST_TMPDIR/x"
	echo "$output"
	matrix=$(sed -n '/column:/,$p' <<<"$output" | tail -n +2)
	[ "$(sed -n 1p <<<"$matrix" | xargs)" = big ]
	[ "$(sed -n 2p <<<"$matrix" | xargs)" = "small 1.1" ]
	[ "$(wc -l <<<"$matrix")" -eq 2 ]
}

@test "a steady rate is a level line on the page, however spans and points lie" {
	# 1700 s of 20 MB/s and then 0.7 s of the same, over 600 points
	awk 'BEGIN { print "time,seconds,read,write,calls,held,waited,job"
		for (t = 1002; t <= 2700; t += 2) print t ",2.000,0,40000000,10,0,0,a"
		print "2700,0.700,0,14000000,10,0,0,a" }' >"$BATS_TEST_TMPDIR/x"
	"$SLUICE" report --html "$BATS_TEST_TMPDIR/r.html" "$BATS_TEST_TMPDIR/x"
	sed -n '/id="data"/,/<\/script>/{/script/d;p}' "$BATS_TEST_TMPDIR/r.html" >"$BATS_TEST_TMPDIR/data"
	jq -e '(.curves | length) == 1 and (.curves[0].bps | length) > 500 and
		(.curves[0].bps[:-1] | all(. > 19990000 and . < 20010000)) and
		((.curves[0].bps | add) * .step_s - 34014000000 | fabs < 10000)' "$BATS_TEST_TMPDIR/data"
}

@test "while the layer is up the report is of this moment" {
	"$SLUICE" up "$DIR"
	"$SLUICE" run --job a -- dd if=/dev/zero of="$DIR/x" bs=64k count=100 status=none
	[ "$("$SLUICE" report --json | jq '.jobs[0].write_bytes')" = 6553600 ]
	"$SLUICE" run --job a -- dd if="$DIR/x" of=/dev/null bs=64k status=none
	[ "$("$SLUICE" report --json | jq '.jobs[0].read_bytes')" = 6553600 ]
}

@test "of one job: the table, whom it waited for, JSON, and one line" {
	local head='time,seconds,read,write,calls,held,waited,contended,first,last,job'
	printf '%s\n' "$head" 100,2,0,30000000,30,0,2,2,0,2,4711 100,2,1048576,9437184,10,0.5,1.5,1,0,2,small \
		>"$BATS_TEST_TMPDIR/x"
	run -0 "$SLUICE" report --slurm 4711.batch "$BATS_TEST_TMPDIR/x"
	echo "$output"
	[ "$(grep -cE '^(4711|small) ' <<<"$output")" = 1 ]
	[[ "$output" == *$'\n\nIt waited 0.5s for small.' ]]
	run -0 "$SLUICE" report --job small --json "$BATS_TEST_TMPDIR/x"
	jq -e '(.jobs | length == 1) and .jobs[0].job == "small" and .jobs[0].delayed_by[0].job == "4711"' <<<"$output"
	run -0 "$SLUICE" report --job small --line "$BATS_TEST_TMPDIR/x"
	[ "$output" = "sluice: job small read 1MiB and wrote 9MiB in 10 requests, 5.24MB/s on average; waited 1.5s, 0.5s of it for its own max." ]
	printf '%s\n' "$head" 100,2,0,30000000,30,0,0,0,0,2,4711 >"$BATS_TEST_TMPDIR/x"
	run -0 "$SLUICE" report --slurm 4711 "$BATS_TEST_TMPDIR/x"
	[[ "$output" == *$'\n\nIt waited for no other job.' ]]
	fails 1 "sluice report: job '12' did no I/O through the layer in that time." report --slurm 12 "$BATS_TEST_TMPDIR/x"
	fails 2 "sluice report: --slurm: '4711_3' is not the number of a job; write 4711. See 'sluice report --help'." report --slurm 4711_3
	fails 2 "sluice report: --line prints one job as text: give --job or --slurm, and no --json. See 'sluice report --help'." report --line
	fails 2 "sluice report: the page shows all jobs: leave out --job, --slurm or --html. See 'sluice report --help'." report --job a --html x
	fails 2 "sluice report: --wait needs one job of a layer: give --job or --slurm. See 'sluice report --help'." report --wait 5s
	fails 2 "sluice report: --wait: 'long' is not a time; write 5s or 1m. See 'sluice report --help'." report --wait long --job a
}

@test "mistakes are told" {
	fails 1 "sluice report: layer 'default' has no account: it was never up, or no job has done any I/O through it yet." report
	fails 2 "sluice report: --since: 'yesterday' is not a time; write 2h, 14:30, 2026-11-16 or 2026-11-16T14:30. See 'sluice report --help'." report --since yesterday
	fails 1 "sluice report: cannot read /none: No such file or directory." report /none
	echo hello >"$BATS_TEST_TMPDIR/x"
	fails 1 "sluice report: $BATS_TEST_TMPDIR/x is not an account of usage: line 1: it should be 'time,seconds,read,write,calls,held,waited,contended,first,last,unscheduled,operations,ops_held,cached,wire,dirty,job'." report "$BATS_TEST_TMPDIR/x"
	printf 'time,seconds,read,write,calls,held,waited,job\n100,2,0,4096,1,0,0,a\n100,2,0,40' >"$BATS_TEST_TMPDIR/x"
	fails 0 "sluice report: warning: a malformed line was skipped." report "$BATS_TEST_TMPDIR/x"
	[[ "$output" == *"a "*4KiB* ]]
	printf 'x\ny\n' >>"$BATS_TEST_TMPDIR/x"
	fails 0 "sluice report: warning: 2 malformed lines were skipped." report "$BATS_TEST_TMPDIR/x"
	fails 2 "sluice report: --since: '2026-02-31' is not a time; write 2h, 14:30, 2026-11-16 or 2026-11-16T14:30. See 'sluice report --help'." report --since 2026-02-31
}
