# SPDX-License-Identifier: Apache-2.0
# A layer for all users of a machine: two users who must not see, join, slow down or harm each other's jobs. One layer
# serves all tests; each user is a real uid, so only root can run them.
bats_require_minimum_version 1.5.0
load layer.bash
load live.bash
BIN=${SITE_BIN:-$BIN} # where other users may go

ALICE=21001 BOB=21002

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	SLUICE=${SLUICE:-build/cli/sluice} SOURCE_DIR=${SOURCE_DIR:-$PWD} CC=${CC:-cc}
	unset SLUICED SLUICE_PRELOAD
	setpriv --reuid $ALICE --regid $ALICE --clear-groups test -x "$SLUICE" || return 0
	export SLUICE_SYSTEM SITE_DIR SITE_BIN
	SITE_BIN=$(mktemp -d /tmp/sluice-site-XXXXXX)
	BIN=$SITE_BIN
	compile live-hostile -I"$SOURCE_DIR" -I"$SOURCE_DIR/include" "$SOURCE_DIR/wire/proto.c"
	cp "$SOURCE_DIR/tests/e2e/programs/site-attack.py" "$BIN/"
	SLUICE_SYSTEM=$(mktemp -d /dev/shm/sluice-system-XXXXXX)
	SITE_DIR=$(mktemp -d /dev/shm/sluice-site-XXXXXX)
	chmod 755 "$SLUICE_SYSTEM" "$BIN"
	chmod 1777 "$SITE_DIR"
	"$SLUICE" up --system --account daemon --capacity 40M --charge calls --limits jobs=16,connections=40 "$SITE_DIR"
}

teardown_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	[ -n "${SLUICE_SYSTEM:-}" ] || return 0
	local pid
	pid=$(cat "$SLUICE_SYSTEM/default/pid")
	"${SLUICE:-build/cli/sluice}" down --name system --timeout 20 || {
		cat "$SLUICE_SYSTEM/default/log"
		kill -KILL "$pid"
		return 1
	}
	rm -rf "$SLUICE_SYSTEM" "$SITE_DIR" "$BIN"
}

setup() {
	[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
	SLUICE=${SLUICE:-build/cli/sluice}
	as $ALICE test -x "$SLUICE" || skip "other users cannot reach the build"
	unset SLUICE_JOB_ID SLURM_JOB_ID PBS_JOBID LSB_JOBID FLUX_JOB_ID SLUICE_JOB_CONF SLUICE_RUNTIME XDG_RUNTIME_DIR
	SOCKET=$SLUICE_SYSTEM/default/node.sock AUDIT=$SLUICE_SYSTEM/default/audit
	export HOME=/nonexistent
}

as() { # uid, command
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

attack() { # uid, kind, arguments
	local uid=$1 kind=$2
	shift 2
	as "$uid" /usr/bin/python3 "$BIN/site-attack.py" "$kind" "$SOCKET" "$@"
}

room() { # uid: where the user's segments are
	echo "$SLUICE_SYSTEM/default/u/$1/node.sock"
}

segment() { # uid: one that the node has
	find "$(room "$1").jobs" -type f | head -n 1
}

audited() { # jq filter
	jq -es "any(.[]; $1)" "$AUDIT" >/dev/null || { tail -n 20 "$AUDIT"; false; }
}

node() {
	cat "$SLUICE_SYSTEM/default/pid"
}

write_file() { # uid, job, MiB; prints ms
	local begin=${EPOCHREALTIME/./}
	as "$1" "$SLUICE" run --job "$2" -- dd if=/dev/zero of="$SITE_DIR/$1-$2" bs=64K count=$(($3 * 16)) status=none
	echo $(((${EPOCHREALTIME/./} - begin) / 1000))
}

@test "the node has no capabilities; two users have jobs of one name, and see their own alone" {
	[ "$(awk '$1 ~ /Cap(Prm|Eff)/ {print $2}' "/proc/$(node)/status" | sort -u)" = 0000000000000000 ]
	[ "$(awk '/^Uid/ {print $3}' "/proc/$(node)/status")" = "$(id -u daemon)" ]
	write_file $ALICE a 1
	write_file $BOB a 2
	[ "$(as $ALICE "$SLUICE" status --json | jq -c '[.jobs[] | [.job, .uid, .write_bytes]]')" = "[[\"a\",$ALICE,1048576]]" ]
	[ "$(as $ALICE "$SLUICE" status --json | jq -c '[.others.jobs, .others.write_bytes]')" = '[1,2097152]' ]
	[ "$(as $BOB "$SLUICE" status --json | jq -c '[.jobs[] | [.job, .write_bytes]]')" = '[["a",2097152]]' ]
	run as $BOB "$SLUICE" status --json
	[[ "$output" != *$ALICE* ]]
	[ "$("$SLUICE" status --name system --json | jq -c '[.jobs[].job] | sort')" = "[\"$ALICE/a\",\"$BOB/a\"]" ]
	audited ".uid == $ALICE and .what == \"job\" and .job == \"$ALICE/a\" and .verdict == \"accepted\""
}

@test "no other user opens a segment, puts a file there, or takes the place of one" {
	[ -n "$(segment $ALICE)" ]
	for path in "$(segment $ALICE)" "$(room $ALICE).turn"; do
		run -2 as $BOB sh -c ": <>$path"
		[[ "$output" == *"ermission denied"* ]]
		as $ALICE sh -c ": <>$path"
	done
	for dir in "$SLUICE_SYSTEM" "$SLUICE_SYSTEM/default" "$SLUICE_SYSTEM/default/u" "$SLUICE_SYSTEM/default/u/$ALICE" \
		"$(room $ALICE).jobs" "$SLUICE_SYSTEM/default/kept"; do
		for uid in $ALICE $BOB; do
			run -1 as "$uid" touch "$dir/0000000000000001"
		done
	done
	run -1 as $ALICE rm "$SOCKET"
	run -1 as $ALICE rm "$(segment $ALICE)"
	run -1 as $ALICE cat "$AUDIT"
}

@test "a user changes own jobs alone, and not beyond what an administrator has set" {
	"$SLUICE" set --name system "$ALICE/a" max=5M weight=3
	run -1 as $ALICE "$SLUICE" set a max=6M
	[[ "$output" == *"above what an administrator has set"* ]]
	run -1 as $ALICE "$SLUICE" set a max=0
	run -1 as $ALICE "$SLUICE" set a min=1M
	run -1 as $ALICE "$SLUICE" set a weight=4
	run -1 as $ALICE "$SLUICE" run --job a --min 1M -- true
	as $ALICE "$SLUICE" set a max=4M weight=2 period=10
	[ "$("$SLUICE" status --name system --json | jq -c ".jobs[] | select(.job == \"$ALICE/a\") | [.max_bps, .weight]")" = '[4000000,2]' ]
	"$SLUICE" set --name system "$ALICE/a" max_ops=500 max_write=9M
	run -1 as $ALICE "$SLUICE" set a max_ops=600
	[[ "$output" == *"above what an administrator has set"* ]]
	run -1 as $ALICE "$SLUICE" set a max_write=0
	as $ALICE "$SLUICE" set a max_ops=400 max_write=8M max_read=8M
	# each class with a weight of its own would be one more share
	run -1 as $ALICE "$SLUICE" set a weight_create=1
	[[ "$output" == *"only an administrator gives a weight of a class"* ]]
	run -1 as $ALICE "$SLUICE" run --job a --weight-ops create=1,lookup=1 -- true
	"$SLUICE" set --name system "$ALICE/a" weight_create=2
	as $ALICE "$SLUICE" set a weight_create=1
	as $ALICE "$SLUICE" set a period=9
	as $ALICE "$SLUICE" set a max_ops=500 max_read=0
	audited ".uid == $ALICE and .verdict == \"refused\" and (.why | tostring | test(\"operations\"))"
	run -1 as $BOB "$SLUICE" set "$ALICE/a" max=1M
	[[ "$output" == *"another user's"* ]]
	run -1 as $BOB "$SLUICE" set z max=1M # as if there were none
	for change in "policy set share=fifo" "set --capacity 1M" open close; do
		# shellcheck disable=SC2086
		run -1 as $BOB "$SLUICE" $change --name system
		[[ "$output" == *"only an administrator"* ]]
	done
	audited ".uid == $ALICE and .what == \"set\" and .verdict == \"refused\" and (.why | tostring | test(\"max\"))"
	audited ".uid == $BOB and .what == \"capacity\" and .verdict == \"refused\""
	audited '.uid == 0 and .what == "set" and .verdict == "accepted"'
	"$SLUICE" set --name system "$ALICE/a" max=0 weight=1 max_ops=0 max_write=0
}

@test "account, size and limits of a job are what root registers, and nothing that its user says" {
	"$SLUICE" job add --name system $ALICE/500 account=physics qos=high partition=all nodes=3 max=5M
	"$SLUICE" job add --name system $ALICE/501
	as $ALICE "$SLUICE" run --job 500 --account rich --qos best --partition other --nodes 99 -- true
	registered() {
		[ "$("$SLUICE" status --name system --json | jq -c ".jobs[] | select(.job == \"$ALICE/500\") |
			[.account, .qos, .partition, .nodes, .asked_max_bps]")" = '["physics","high","all",3,5000000]' ]
	}
	registered
	run -1 as $ALICE "$SLUICE" set 500 max=6M
	for change in "end $ALICE/500" "end $BOB/500" "add $BOB/502 account=rich"; do
		# shellcheck disable=SC2086
		run -1 as $BOB "$SLUICE" job $change --name system
		[[ "$output" == *administrator* ]]
	done
	audited ".uid == $BOB and .what == \"end\" and .verdict == \"refused\""
	run -2 "$SLUICE" job add --name system $ALICE/500 nodes=many
	[[ "$output" == *"nodes: 'many' is not a number from 1"* ]]
	"$SLUICE" job end --name system $ALICE/501
	ended() { [ "$("$SLUICE" status --name system --json | jq "[.jobs[] | select(.job == \"$ALICE/501\")] | length")" -eq 0 ]; }
	until_true 10 ended
	registered
}

@test "a part that a user makes of a job has no more than the job was given" {
	"$SLUICE" job add --name system $ALICE/510 max=5M max_ops=500 weight=3
	part() { # the words of its limits
		# shellcheck disable=SC2016 # for the shell in the job
		as $ALICE "$SLUICE" run --job 510 --tag "$@" -- sh -c '! "$0" set "510:$1" max=6M && ! "$0" set "510:$1" max_ops=0 &&
			"$0" status --json' "$SLUICE" "$1" |
			jq -c ".jobs[] | select(.job == \"510:$1\") | [.asked_max_bps, .max_ops, .weight]"
	}
	[ "$(part x --max 9M --max-ops 900)" = '[5000000,500,1]' ]
	[ "$(part y)" = '[5000000,500,1]' ]
	[ "$(part z --max 2M)" = '[2000000,500,1]' ]
	"$SLUICE" job end --name system $ALICE/510
}

@test "the dashboard shows nobody's jobs without its token" {
	AT=$("$SLUICE" dashboard --name system --port 0 --json | jq -r .address)
	[ "$(as $BOB curl -s -o /dev/null -w '%{http_code}' "$AT/metrics")" = 401 ]
	run -1 as $BOB cat "$SLUICE_SYSTEM/default/dashboard-token"
	curl -s -H "Authorization: Bearer $(cat "$SLUICE_SYSTEM/default/dashboard-token")" "$AT/metrics" | grep -q "^sluice_up 1"
	"$SLUICE" dashboard --stop --name system
	# The layer's account may not have root give it another file.
	rm "$SLUICE_SYSTEM/default/dashboard-token"
	echo secret >"$SLUICE_SYSTEM/of-root"
	ln "$SLUICE_SYSTEM/of-root" "$SLUICE_SYSTEM/default/dashboard-token"
	run -1 "$SLUICE" dashboard --name system --port 0
	[ "$(stat -c %u "$SLUICE_SYSTEM/of-root")" -eq 0 ]
	rm "$SLUICE_SYSTEM/of-root" "$SLUICE_SYSTEM/default/dashboard-token"
}

@test "names that a terminal, a report or another job would mistake are refused" {
	for line in 'job a\nb' 'job \x1b[31mx' 'job x title=a\x1bb' 'job \xff' 'job x keep=1' \
		'job x order=auto,tree=/etc/passwd' "job $BOB/a" 'job 0/a' 'job' "where $BOB/a 0 1"; do
		run attack $ALICE raw "$line"
		[[ "$output" =~ ^[1-9] ]] || { echo "$line: $output"; false; }
	done
	# The number of job "x" is its hash, which is a name of another job.
	attack $ALICE raw 'job hash'
	run attack $ALICE raw "job $(/usr/bin/python3 -c '
h = 0xcbf29ce484222325
for c in b"'"$ALICE"'/hash": h = (h ^ c) * 0x100000001b3 % 2**64
print(h)')"
	[[ "$output" == "0 "* ]]
	[ "$(as $ALICE "$SLUICE" status --json | jq '[.jobs[] | select(.job == "hash")] | length')" -eq 1 ]
	jq -es . "$AUDIT" >/dev/null # each line is JSON
}

@test "a user has so many jobs, holders, descriptors, connections and unread answers, and no more" {
	before=$(find "/proc/$(node)/fd" | wc -l)
	[ "$(attack $BOB jobs 300)" -le 300 ]
	[ "$("$SLUICE" status --name system --json | jq "[.jobs[] | select(.uid == $BOB)] | length")" -le 16 ]
	[ "$(attack $BOB holders 300)" -eq 300 ]
	[ "$(attack $BOB descriptors 200)" -eq 200 ]
	[ "$(attack $BOB connections 60)" -eq 40 ]
	[ "$(attack $BOB unread 100000)" = True ]
	audited ".uid == $BOB and .what == \"connect\" and .verdict == \"refused\""
	[ "$(find "/proc/$(node)/fd" | wc -l)" -le $((before + 80)) ]
	[ "$(awk '/VmRSS/ {print $2}' "/proc/$(node)/status")" -le 400000 ]
	[ "$(wc -l <"$AUDIT")" -le 1000 ]
	attack $BOB raw 'job x pid=1'
	audited ".uid == $BOB and .what == \"job\" and (.why | tostring | test(\"another user.s process\"))"
	run -1 as $BOB "$SLUICE" run --mode forward -- true
	[[ "$output" == *"only turns"* ]]
}

@test "segments that their user cuts or grows are that user's loss" {
	as $BOB "$SLUICE" run --job 7 -- sh -c "dd if=/dev/zero of=$SITE_DIR/b count=1 status=none; exec sleep 20" 3>&- &
	holder=$!
	file=$(room $BOB).jobs/0000000000000007
	until_true 5 test -e "$file"
	bytes=$(stat -c %s "$file")
	[ "$(attack $BOB size "$file" 1000000)" -eq 1000000 ]
	attack $BOB size "$(room $BOB).turn" 0
	is_whole() { [ "$(stat -c %s "$file")" -eq "$bytes" ]; }
	until_true 5 is_whole
	audited ".uid == $BOB and .what == \"segment\" and (.why | tostring | test(\"larger\"))"
	attack $BOB size "$file" 0
	write_file $ALICE c 4 # takes turns meanwhile
	until_true 5 audited ".uid == $BOB and .what == \"segment\" and (.why | tostring | test(\"cut;\"))"
	kill "$holder"
	wait "$holder" || true
	[ "$("$SLUICE" status --name system --json | jq .pid)" -eq "$(node)" ]
	write_file $BOB d 1
	[ "$(as $BOB "$SLUICE" status --json | jq '.jobs[] | select(.job == "d").write_bytes')" -eq 1048576 ]
}

@test "a hostile user leaves others their rate" {
	attack $BOB raw 'job x' # a share of its own, of 1 MB/s
	"$SLUICE" set --name system "$BOB/x" max=1M
	alone=$(write_file $ALICE e 24)
	as $BOB "$BIN/live-hostile" turns "$(room $BOB)" x 3>&- &
	first=$!
	attack $BOB flood 3 3>&- &
	second=$!
	scrambled=$(write_file $ALICE f 24)
	wait $first $second
	attack $BOB raw 'job y'
	as $BOB "$BIN/live-hostile" hog "$(room $BOB)" y 3>&- &
	first=$!
	hogged=$(write_file $ALICE g 24)
	wait $first
	attack $BOB raw 'job z'
	as $BOB "$BIN/live-hostile" repost "$(room $BOB)" z 3>&- &
	first=$!
	reposted=$(write_file $ALICE h 24)
	wait $first
	echo "# alone $alone ms, scrambled counters and floods $scrambled ms, slow calls $hogged ms, calls without end $reposted ms" >&3
	[ "$scrambled" -le $((alone * 3)) ]
	[ "$hogged" -le $((alone * 3)) ]
	[ "$reposted" -le $((alone * 3)) ]
}

@test "a user whose directory in /tmp another user has taken has layers all the same" {
	[ ! -e "/tmp/sluice-$ALICE" ] || skip "there is a /tmp/sluice-$ALICE"
	local home=$BIN/home
	install -d -o $ALICE -g $ALICE -m 700 "$home" "$home/scratch"
	as $BOB mkdir -m 777 "/tmp/sluice-$ALICE"
	run as $ALICE env -u SLUICE_SYSTEM HOME="$home" "$SLUICE" up "$home/scratch"
	as $ALICE env -u SLUICE_SYSTEM HOME="$home" "$SLUICE" run -- dd if=/dev/zero of="$home/scratch/x" bs=1k count=1 \
		status=none || status=1
	[ -S "$home/.sluice-run/default/node.sock" ] || status=1
	taken=$(ls -A "/tmp/sluice-$ALICE")
	as $ALICE env -u SLUICE_SYSTEM HOME="$home" "$SLUICE" down || status=1
	rm -r "/tmp/sluice-$ALICE"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$taken" ]
}

@test "large calls that ask with their place are held by the max, as small ones are" {
	local start=${EPOCHREALTIME/./}
	# Of 40 MB the last call goes at once, and so does a burst: 36 MB take 2.4 s.
	as $ALICE "$SLUICE" run --job large --max 15M -- dd if=/dev/zero of="$SITE_DIR/large" bs=4M count=10 \
		oflag=dsync status=none
	[ $((${EPOCHREALTIME/./} - start)) -ge 1800000 ]
}

@test "a job in the control group of Slurm is that one, whatever the environment says" {
	group=/sys/fs/cgroup/freezer/slurm_sluice$$
	mkdir -p "$group/uid_$ALICE/job_77/step_0" 2>/dev/null || skip "no control groups that can be made here"
	inside() { # in the group, as a user
		sh -c 'echo $$ >"$0/cgroup.procs" && shift && exec "$@"' "$group/uid_$ALICE/job_77/step_0" x "$@"
	}
	inside setpriv --reuid $ALICE --regid $ALICE --clear-groups env SLURM_JOB_ID=78 "$SLUICE" run -- \
		dd if=/dev/zero of="$SITE_DIR/s" bs=64K count=16 status=none
	# By hand, with the library alone.
	inside setpriv --reuid $ALICE --regid $ALICE --clear-groups env LD_PRELOAD="${PRELOAD:-$PWD/build/client/libsluice_preload.so}" \
		SLUICE_SOCKET="$SOCKET" SLUICE_ROOT="$SITE_DIR" SLURM_JOB_ID=79 dd if=/dev/zero of="$SITE_DIR/s" bs=64K count=16 status=none
	rmdir "$group/uid_$ALICE/job_77/step_0" "$group/uid_$ALICE/job_77" "$group/uid_$ALICE" "$group"
	[ "$(as $ALICE "$SLUICE" status --json | jq -c '[.jobs[] | select(.job | test("^7[789]$")) | [.job, .write_bytes]]')" = '[["77",2097152]]' ]
	audited ".uid == $ALICE and .job == \"79\" and .verdict == \"refused\" and (.why | tostring | test(\"control group\"))"
}

@test "so it is in a control group of version 2" {
	group=$BATS_TEST_TMPDIR/v2/system.slice/sluice$$_slurmstepd.scope/job_87/step_0/user/task_0
	mkdir "$BATS_TEST_TMPDIR/v2"
	v2() { # a command that sees the hierarchy; it is mounted for this alone
		unshare --mount sh -c 'mount -t cgroup2 none "$0" && exec "$@"' "$BATS_TEST_TMPDIR/v2" "$@"
	}
	v2 mkdir -p "$group" 2>/dev/null || skip "no control groups that can be made here"
	# shellcheck disable=SC2016 # for that shell
	v2 sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" setpriv --reuid $ALICE --regid $ALICE --clear-groups \
		env SLURM_JOB_ID=88 "$SLUICE" run -- dd if=/dev/zero of="$SITE_DIR/s" bs=64K count=16 status=none
	v2 rmdir -p "$group" 2>/dev/null || true # up to what is the machine's
	[ "$(as $ALICE "$SLUICE" status --json | jq -c '[.jobs[] | select(.job | test("^8[78]$")) | [.job, .write_bytes]]')" = '[["87",1048576]]' ]
}

@test "a login shell is a job that is called as its session" {
	group=/sys/fs/cgroup/freezer/user.slice/user-$ALICE.slice/session-77.scope
	mkdir -p "$group" 2>/dev/null || skip "no control groups that can be made here"
	# shellcheck disable=SC2016 # for that shell
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" setpriv --reuid $ALICE --regid $ALICE --clear-groups \
		env PATH="$(dirname "$SLUICE"):$PATH" sh -c '. "$0"; dd if=/dev/zero of="$1" bs=64K count=16 status=none; true' \
		"$SOURCE_DIR/integrate/login/sluice.sh" "$SITE_DIR/session"
	rmdir "$group" "${group%/*}"
	rmdir /sys/fs/cgroup/freezer/user.slice 2>/dev/null || true # it may be the machine's
	[ "$(as $ALICE "$SLUICE" status --json | jq -c '.jobs[] | select(.job == "session-77").write_bytes')" = 1048576 ]
}

@test "killed and started again, the node knows the jobs, what was given to them, and nothing that their users wrote" {
	as $ALICE "$SLUICE" run --job long -- sh -c "exec 5>$SITE_DIR/l; for i in \$(seq 300); do echo \$i >&5; sleep 0.1; done" 3>&- &
	long=$!
	attached() { [ "$(as $ALICE "$SLUICE" status --json | jq '.jobs[] | select(.job == "long").attached')" -ge 1 ]; }
	until_true 5 attached
	"$SLUICE" set --name system "$ALICE/long" max=7M
	for file in "$(room $ALICE).jobs"/*; do # the name, and what the job asks for, if it were believed
		as $ALICE /usr/bin/python3 - "$file" <<-'END'
			import sys
			f = open(sys.argv[1], "r+b")
			data = f.read().replace(b"long", b"evil")
			f.seek(0)
			f.write(data)
		END
	done
	pid=$(node)
	kill -KILL "$pid"
	while [ -e "/proc/$pid/exe" ]; do sleep 0.01; done
	as $ALICE dd if=/dev/zero of="$SITE_DIR/m" bs=1K count=1 status=none # goes on
	for _ in $(seq 200); do # its lock may outlive it by a moment
		"$SLUICE" up --revive # root has no other layer
		[ "$(node)" = "$pid" ] || break
		sleep 0.05
	done
	[ "$(node)" != "$pid" ]
	[ "$("$SLUICE" status --name system --json | jq ".jobs[] | select(.job == \"$ALICE/long\").asked_max_bps")" -eq 7000000 ]
	run -1 as $ALICE "$SLUICE" set long max=8M
	[ "$("$SLUICE" status --name system --json | jq -r ".jobs[] | select(.job == \"$ALICE/500\").account")" = physics ]
	kill "$long"
	wait "$long" || true
}

@test "whoever takes the place of a node gets nothing" {
	dir=$BIN/taken
	mkdir "$dir"
	chmod 1777 "$dir"
	/usr/bin/python3 "$BIN/site-attack.py" raw "$SOCKET" ping # as root: it works
	as $BOB /usr/bin/python3 "$BIN/site-attack.py" serve "$dir/node.sock" "$dir/ready" >"$BATS_TEST_TMPDIR/got" 3>&- &
	server=$!
	for _ in $(seq 100); do
		[ ! -e "$dir/ready" ] || break
		sleep 0.05
	done
	run -1 as $ALICE "${ASK:-build/tests/e2e/ask}" "$dir/node.sock" job secret-name
	as $ALICE env LD_PRELOAD="${PRELOAD:-$PWD/build/client/libsluice_preload.so}" SLUICE_MODE=forward SLUICE_FALLBACK=direct \
		SLUICE_TIMEOUT=1 SLUICE_SOCKET="$dir/node.sock" SLUICE_ROOT="$SITE_DIR" SLUICE_JOB_ID=q \
		dd if=/dev/zero of="$SITE_DIR/q" bs=1K count=1 status=none
	wait $server
	[ "$(cat "$BATS_TEST_TMPDIR/got")" = 0 ]
	# Nor a directory of the system that is not root's.
	mkdir "$BIN/theirs"
	chown $BOB "$BIN/theirs"
	SLUICE_SYSTEM=$BIN/theirs run -1 as $ALICE "$SLUICE" status --name system
	[[ "$output" == *"not a directory of root"* ]]
}
