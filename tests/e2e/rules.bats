# SPDX-License-Identifier: Apache-2.0
# Rules, fair shares and reload, live: real processes that always have requests outstanding, bytes as
# the nodes counted them. Tolerances are wide: the machine may be busy.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile live-load
}

setup() {
	live_setup
	unset SLURM_JOB_ACCOUNT SLURM_JOB_QOS SLURM_JOB_PARTITION
	CONFIG=$BATS_TEST_TMPDIR/s.yaml
}

# A layer with this configuration, in addition to its directory.
up() { # options of up; YAML comes in
	{
		echo "directory: $DIR"
		echo "charge: calls"
		cat
	} >"$CONFIG"
	"$SLUICE" up --config "$CONFIG" "$@" >/dev/null
}

greedy() { # job, options of run
	local job=$1
	shift
	start_load "$job" "$@" -- "$BIN/live-load" -T 120 "$DIR/$job" >/dev/null
}

flow() { # job…: all have moved something
	local job
	for job in "$@"; do
		[ "$(job "$job" 'write_bytes + .read_bytes')" -gt 0 ] || return 1
	done
}

# Bytes per second of each job over a while, into RATES; their sum into SUM.
measure() { # seconds, job…
	local seconds=$1 before after i
	shift
	read -ra before <<<"$(served "$@")"
	sleep "$seconds"
	read -ra after <<<"$(served "$@")"
	RATES=() SUM=0
	for ((i = 1; i <= $#; i++)); do
		RATES+=($(((after[i] - before[i]) * 1000 / (after[0] - before[0]))))
		SUM=$((SUM + RATES[i - 1]))
	done
	echo "# $*: ${RATES[*]} = $SUM bytes/s over $((after[0] - before[0])) ms"
}

# A figure may be off on a busy machine: it is taken up to three times.
attempt() { # measurement, check
	"$1" && "$2" && return
	"$1" && "$2" && return
	"$1" && "$2"
}

@test "a max per user holds over all jobs and nodes of the user" {
	up --ionodes 3 <<-'YAML'
		rules:
		  - name: everybody
		    user: "*"
		    max: 60MB/s
		    per: user
	YAML
	for job in a b c d; do greedy $job; done
	until_true 10 flow a b c d
	take() { measure 1.5 a b c d; }
	check() { within 8 "$SUM" 60000000; }
	attempt take check
	[ "$(job a rule)" = everybody ]
	at_max() { [ "$(job a reason)" = "at max of rule everybody" ]; }
	until_true 10 at_max # a moment later it may be the turn of another node
	# who hit which limit, how often and for how long
	held() { "$SLUICE" rules list --json | jq -e '.rules[0] | .jobs == 4 and .hits > 0 and .held_s > 0 and
		.users[0].uid == '"$(id -u)"' and .users[0].hits > 0'; }
	until_true 5 held
	run -0 "$SLUICE" rules
	[[ $output == *"everybody (line 4): user=*: max 60MB/s per user"* ]]
	# another limit, on the running jobs
	sed -i 's/60MB/30MB/' "$CONFIG"
	"$SLUICE" reload
	check() { within 8 "$SUM" 30000000; }
	attempt take check
}

@test "accounts have equal shares, whoever has more jobs, processes and larger requests" {
	up --ionodes 2 --capacity 60M --policy share=fair,by=account:user:job <<<""
	greedy one --account physics
	for job in b1 b2 b3; do
		start_load $job --account biology -- "$BIN/live-load" -T 120 -s 1048576 "$DIR/$job" >/dev/null
	done
	until_true 10 flow one b1 b2 b3
	take() { measure 1.5 one b1 b2 b3; }
	check() { within 12 "${RATES[0]}" $((SUM / 2)) && within 25 "${RATES[1]}" $((SUM / 6)); }
	attempt take check
	[ "$(job one account)" = physics ]
	# what one does not use is the others'
	end_load 0
	take() { measure 1.5 b1 b2 b3; }
	check() { within 12 "$SUM" 60000000; }
	attempt take check
}

@test "a job cannot have more than its rule gives, whatever it asks for" {
	up --capacity 200M <<-'YAML'
		rules:
		  - name: small
		    job: "small*"
		    max: 10MB/s
		    weight: 2
		    min: 0
		  - name: rest
		    max: 90MB/s
	YAML
	"$SLUICE" run --job small1 --max 50M --weight 9 --min 20M -- sh -c "
		'$SLUICE' status --json >'$DIR/s1'; '$SLUICE' set small1 max=80M; '$SLUICE' status --json >'$DIR/s2'
		'$SLUICE' set small1 max=5M; '$SLUICE' status --json >'$DIR/s3'"
	jq -e '.jobs[0] | .rule == "small" and .max_bps == 10000000 and .weight == 2 and .min_bps == 0' "$DIR/s1"
	jq -e '.jobs[0].max_bps == 10000000' "$DIR/s2"
	jq -e '.jobs[0].max_bps == 5000000' "$DIR/s3"
	"$SLUICE" run --job other --title small7 -- sh -c "'$SLUICE' status --json >'$DIR/s4'"
	jq -e '.jobs[] | select(.job == "other") | .rule == "small"' "$DIR/s4"
	"$SLUICE" run --job big -- sh -c "'$SLUICE' status --json >'$DIR/s5'"
	jq -e '.jobs[] | select(.job == "big") | .rule == "rest" and .max_bps == 90000000' "$DIR/s5"
}

@test "a file with a mistake is refused with its line, and the one before stays" {
	up --ionodes 2 <<-'YAML'
		capacity: 100M
		rules:
		  - user: "*"
		    max: 50MB/s
	YAML
	cp "$CONFIG" "$CONFIG.good"
	echo "  - max: fast" >>"$CONFIG"
	fails() { run -1 --separate-stderr "$SLUICE" "$@"; }
	fails reload
	[[ $stderr == "sluice reload: $CONFIG:7: rules[1].max: 'fast' is not a rate"* ]]
	fails rules check "$CONFIG"
	[[ $stderr == *"s.yaml:7: "* ]]
	status '.config.error' | grep -q "s.yaml:7: "
	"$SLUICE" status | grep -q "s.yaml:7: "
	"$SLUICE" run --job a -- sh -c "'$SLUICE' status --json >'$DIR/s'"
	jq -e '.jobs[0].rule == "1"' "$DIR/s"
	# a signal does the same, and the log says so
	kill -HUP "$(node_pid)"
	until_true 5 grep -q "configuration refused, the one before stays: .*s.yaml:7: " "$SLUICE_RUNTIME/default/log"
	# what cannot change is refused as a whole, with what could
	sed 's/50MB/70MB/; s/capacity: 100M/capacity: 80M/' "$CONFIG.good" >"$CONFIG"
	echo "workers: 1" >>"$CONFIG"
	fails reload
	[[ $stderr == *"'workers' cannot change while the layer is up"* ]]
	[ "$(status .capacity_bps)" = 100000000 ]
	# without it all is taken, by all nodes
	sed -i '/workers/d' "$CONFIG"
	"$SLUICE" reload
	taken() { [ "$(status .capacity_bps)" = 80000000 ] && [ "$(status .config.error)" = null ]; }
	until_true 5 taken
	for node in "" -1; do
		until_true 5 grep -q "configuration .*s.yaml taken, 1 rules" "$SLUICE_RUNTIME/default/log$node"
	done
	"$SLUICE" rules list --json | jq -e '.rules[0].max_bps == 70000000'
}

@test "observe mode ends with a reload, and open opens every node at once" {
	up --ionodes 2 <<-'YAML'
		mode: observe
		rules:
		  - max: 1MB/s
	YAML
	[ "$(status .mode)" = observe ]
	greedy a
	until_true 10 flow a
	sed -i 's/observe/schedule/' "$CONFIG"
	"$SLUICE" reload
	[ "$(status .mode)" = schedule ]
	take() { measure 1 a; }
	check() { [ "$SUM" -lt 3000000 ]; }
	attempt take check
	# A node that comes back has the mode of the file as it is now.
	kill -KILL "$(cat "$SLUICE_RUNTIME/default/pid")"
	revived() { "$SLUICE" up --revive | grep -q 'is back'; }
	until_true 10 revived
	[ "$(status .mode)" = schedule ]
	"$SLUICE" open >/dev/null
	for node in 0 1; do
		[ "$("$SLUICE" status --ionode $node --json | jq -r .mode)" = open ]
	done
	check() { [ "$SUM" -gt 10000000 ]; }
	attempt take check
}

@test "a rule limits operations, whatever the job asks for, and counts whom it has held" {
	up <<-'YAML'
		rules:
		  - name: storms
		    job: "m*"
		    max_ops: 400
		    max_write: 90MB/s
	YAML
	local begin=${EPOCHREALTIME/./}
	"$SLUICE" run --job m1 --max-ops 5000 -- /usr/bin/python3 -c '
import os, sys
for _ in range(400):
    os.stat(sys.argv[1])' "$DIR"
	[ $((${EPOCHREALTIME/./} - begin)) -ge 800000 ]
	"$SLUICE" set m1 max_ops=1000 max_write=10MB/s
	[ "$(job m1 max_ops)" = 400 ]
	[ "$(job m1 max_write)" = 10000000 ]
	held() { "$SLUICE" rules list --json | jq -e '.rules[0] | .max_ops == 400 and .operations >= 400 and .hits > 0 and .held_s > 0.4'; }
	until_true 5 held
	run -0 "$SLUICE" rules
	[[ $output == *"storms (line 4): job=m*: max_ops 400, max_write 90MB/s"* ]]
	# A job that has asked for nothing is held all the same.
	sed -i 's/max_write: 90MB/max_write: 4MB/' "$CONFIG"
	"$SLUICE" reload
	begin=${EPOCHREALTIME/./}
	"$SLUICE" run --job m2 -- dd if=/dev/zero of="$DIR/w" bs=64K count=64 status=none
	[ $((${EPOCHREALTIME/./} - begin)) -ge 800000 ]
	sed -i 's/max_ops: 400/max_ops: fast/' "$CONFIG"
	run -1 --separate-stderr "$SLUICE" reload
	[[ $stderr == *"s.yaml:6: rules[0].max_ops: 'fast' is not for max_ops"* ]]
}

@test "a path and an op make a rule one of such calls on such files" {
	mkdir -p "$DIR/ckpt/deep"
	up <<-'YAML'
		rules:
		  - name: checkpoints
		    path: "ckpt,*.chk"
		    op: write
		    max: 10MiB
		  - name: storms
		    job: "s*"
		    op: metadata
		    max_ops: 400
		  - name: rest
		    user: "*"
		    max: 4GB/s
	YAML
	write() { # file: milliseconds for 10 MiB
		local begin=${EPOCHREALTIME/./}
		dd if=/dev/zero of="$1" bs=64K count=160 conv=notrunc status=none
		echo $(((${EPOCHREALTIME/./} - begin) / 1000))
	}
	export -f write
	# Neither another directory nor a tag of the job's own changes what a file is. Reads are of another rule.
	# shellcheck disable=SC2016 # the shell of the job expands it
	run -0 "$SLUICE" run --job s1 -- bash -c 'cd "$0/ckpt/deep" && write x && cat x >/dev/null && write "$0/y" &&
		"$1" run --tag mine -- bash -c "write \"$0/a.chk\""' "$DIR" "$SLUICE"
	echo "# ${lines[*]} ms"
	[ "${lines[0]}" -ge 800 ] && [ "${lines[2]}" -ge 800 ]
	wrote() { [ "$(job "$1" write_bytes)" -eq "$2" ]; }
	until_true 5 wrote s1:@checkpoints 10485760
	until_true 5 wrote s1:mine:@checkpoints 10485760
	until_true 5 wrote s1 10485760
	[ "$(job s1:@checkpoints rule)" = checkpoints ] && [ "$(job s1 rule)" = rest ]
	[ "$(job s1:@checkpoints read_bytes)" -eq 10485760 ]
	[ "$(job s1 max_ops)" -eq 400 ] && [ "$(job s1:@checkpoints max_ops)" -eq 400 ]
	held() { "$SLUICE" rules list --json | jq -e '.rules | .[0].bytes == 20971520 and .[0].hits > 0 and .[0].held_s > 1 and
		.[2].bytes >= 20971520 and .[0].match == {path: "ckpt,*.chk", op: "write"}'; }
	until_true 5 held
	run -2 --separate-stderr "$SLUICE" run --job s1:@checkpoints -- true
	[[ $stderr == *"a part that the path of a rule makes"* ]]
	# New values hold for running jobs, new paths for programs that start.
	sed -i 's/10MiB/3MB/; s/ckpt,/work,/' "$CONFIG"
	"$SLUICE" reload
	[ "$(job s1:@checkpoints max_write)" -eq 3000000 ]
	mkdir "$DIR/work"
	"$SLUICE" run --job s1 -- sh -c 'echo >"$0/work/z"; echo >"$0/ckpt/z"' "$DIR"
	until_true 5 wrote s1:@checkpoints 10485761
	# which rule, and why
	run -0 "$SLUICE" rules test user=alice path=work/x
	[ "${lines[0]}" = "yes  checkpoints ($CONFIG:4): write" ]
	[ "${lines[1]}" = "no   storms ($CONFIG:8): job is not given, the rule is for s*" ]
	[ "${lines[2]}" = "yes  rest ($CONFIG:12): read,metadata" ]
	run -0 "$SLUICE" rules test user=alice "path=$DIR/x.chk" op=read
	[ "${lines[0]}" = "no   checkpoints ($CONFIG:4): op is 'read', not of this rule" ]
	"$SLUICE" rules test --json user=alice job=s2 path=elsewhere op=metadata | jq -e '.rule == "storms" and .max_ops == 400'
	run -2 --separate-stderr "$SLUICE" rules test op=wirte
	[[ $stderr == *"Did you mean 'write'?"* ]]
}

@test "jobs of a user have one limit of operations, and share it by what they make" {
	up --ionodes 2 <<-'YAML'
		rules:
		  - name: storms
		    user: "*"
		    max_ops: 1000
		    max_write: 20MB/s
		    per: user
	YAML
	storm() { # job: stats without end
		start_load "$1" -- /usr/bin/python3 -c 'import os, sys
while True: os.stat(sys.argv[1])' "$DIR" >/dev/null
	}
	made() { "$SLUICE" status --json | jq '[.jobs[].operations] | add'; }
	for job in a b c; do storm $job; done
	"$SLUICE" run --job idle -- sleep 60 3>&- &
	LOADS+=($!)
	take() {
		local before after begin=${EPOCHREALTIME/./} end
		before=$(made)
		sleep 2
		after=$(made)
		end=${EPOCHREALTIME/./}
		SUM=$(((after - before) * 1000000 / (end - begin)))
		echo "# $SUM operations a second"
	}
	# A program that gets no CPU for more than 20 ms loses its turn.
	check() { [ "$SUM" -le 1080 ] && [ "$SUM" -ge 500 ]; }
	attempt take check
	[ "$(job a max_ops)" -eq 1000 ]
	held() { "$SLUICE" rules list --json | jq -e '.rules[0] | .hits > 0 and .held_s > 1 and .users[0].operations > 1000'; }
	until_true 5 held
	# one alone has all of it; the same with bytes of one direction
	end_load 0 || [ $? -eq 143 ]
	end_load 1 || [ $? -eq 143 ]
	attempt take check
	end_load 2 || [ $? -eq 143 ]
	for job in w x; do greedy $job; done
	until_true 10 flow w x
	take() { measure 1.5 w x; }
	check() { [ "$SUM" -le 22000000 ] && [ "$SUM" -ge 10500000 ]; }
	attempt take check
}

@test "what a rule with a path or an op cannot say is refused with its line" {
	local text
	for text in 'path: x, op: rename' 'path: x, name: "a/b"' 'op: metadata, max: 1G' 'op: write, min: 1M' \
		'op: read, max_ops: 5' 'op: write, max_iops: 5' 'op: write, max_read: 5M' 'path: ./x' \
		"path: $(printf 'x%.0s' {1..2100})"; do
		printf 'directory: %s\nrules:\n  - {%s}\n' "$DIR" "$text" >"$CONFIG"
		run -1 --separate-stderr "$SLUICE" rules check "$CONFIG"
		[[ $stderr == *"s.yaml:3"* ]] || { echo "$text: $stderr"; return 1; }
	done
	{
		printf 'directory: %s\nrules:\n' "$DIR"
		for text in {1..16}; do echo "  - {name: r$text, path: d$text}"; done
	} >"$CONFIG"
	run -1 --separate-stderr "$SLUICE" rules check "$CONFIG"
	[[ $stderr == *"s.yaml:18: more than 15 tags and paths of rules"* ]]
}

@test "rules test says which rule a job gets, and why not the others" {
	cat >"$CONFIG" <<-'YAML'
		rules:
		  - name: backup
		    user: backup
		    max: 1G
		  - name: night
		    account: "proj*"
		    qos: low
		    max: 1G
		  - name: rest
		    max: 50M
		    per: user
	YAML
	run -0 "$SLUICE" rules test --config "$CONFIG" user=alice account=proj7
	[ "${lines[0]}" = "no   backup ($CONFIG:2): user is 'alice', not backup" ]
	[ "${lines[1]}" = "no   night ($CONFIG:5): qos is not given, the rule is for low" ]
	[ "${lines[2]}" = "yes  rest ($CONFIG:9)" ]
	"$SLUICE" rules test --config "$CONFIG" --json user=backup | jq -e '.rule == "backup" and .max_bps == 1000000000'
	run -2 --separate-stderr "$SLUICE" rules test --config "$CONFIG" acount=x
	[[ $stderr == *"unknown key 'acount'. Did you mean 'account'?"* ]]
	run -0 "$SLUICE" rules check "$CONFIG"
	[ "$output" = "$CONFIG: 3 rules, no mistakes." ]
}
