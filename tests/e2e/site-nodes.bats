# SPDX-License-Identifier: Apache-2.0
# A layer for all users over three machines, which are three directories here: a node on each, as an account of its
# own, and a controller that knows them by MUNGE. Tolerances are wide: the machine may be busy.
bats_require_minimum_version 1.5.0
load daemons
load live.bash

ALICE=21001 BOB=21002

setup() {
	[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
	command -v munged >/dev/null || [ ! -x /usr/sbin/munged ] || PATH=$PATH:/usr/sbin
	command -v munged >/dev/null || skip "no munged"
	as $ALICE test -x "$SLUICE" || skip "other users cannot reach the build"
	unset SLUICE_JOB_ID SLURM_JOB_ID PBS_JOBID LSB_JOBID FLUX_JOB_ID SLUICE_JOB_CONF SLUICE_RUNTIME XDG_RUNTIME_DIR
	export HOME=/nonexistent
	cd "$BATS_TEST_TMPDIR"
	PIDS=() LOADS=()
	SITE=$(mktemp -d /dev/shm/sluice-nodes-XXXXXX)
	chmod 755 "$SITE"
	mkdir -m 1777 "$SITE/scratch"
	BIN=$SITE compile live-load
	munge_up
	install -d -o daemon "$SITE/c"
	begin c.log controller --socket "$SITE/c/controller.sock" --listen 127.0.0.1:0 --munge="$SITE/munge"
	CONTROLLER=$(sed -n 's/.*controller listen=//p' c.log)
}

teardown() {
	local pid
	for pid in "${PIDS[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
	done
	rm -rf "${SITE:-}"
}

as() { # uid, command
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

munge_up() {
	head -c 64 /dev/urandom >"$SITE/key"
	chmod 600 "$SITE/key"
	munged --foreground --force --socket="$SITE/munge" --key-file="$SITE/key" --pid-file="$SITE/pid" --seed-file="$SITE/seed" \
		--log-file="$SITE/log" 2>munged.log 3>&- &
	PIDS+=($!)
	until_true [ -S "$SITE/munge" ]
	chmod 777 "$SITE/munge"
}

begin() { # log, words of sluiced, which runs as the account
	SLUICED=setpriv start "$1" --reuid daemon --regid daemon --clear-groups "$SLUICED" "${@:2}"
}

# Three nodes with this configuration, which is all that they are told of the layer.
machines_up() { # YAML comes in
	{
		printf 'directory: %s\ncharge: calls\nionodes: 3\n' "$SITE/scratch"
		cat
	} >"$SITE/site.yaml"
	local m
	for m in 1 2 3; do
		install -d -o daemon "$SITE/m$m/default"
		begin "n$m.log" ionode --system --socket "$SITE/m$m/default/node.sock" --name "n$m" --config "$SITE/site.yaml" \
			--audit "$SITE/m$m/default/audit" --controller "$CONTROLLER" --munge="$SITE/munge"
	done
}

on() { # machine, words of sluice
	SLUICE_SYSTEM=$SITE/m$1 "$SLUICE" "${@:2}" --name system
}

greedy() { # machine, uid, job
	SLUICE_SYSTEM=$SITE/m$1 setpriv --reuid "$2" --regid "$2" --clear-groups "$SLUICE" run --name system --job "$3" -- \
		"$SITE/live-load" -T 600 "$SITE/scratch/$2-$3-$1" >/dev/null 2>&1 3>&- &
	PIDS+=($!)
	LOADS+=($!)
}

moved() { # bytes of the two users on all machines, and the time in ms
	local m
	for m in 1 2 3; do on $m status --json; done | jq -sr "[.[].jobs[]] | [$ALICE, $BOB][] as \$u |
		map(select(.uid == \$u) | .write_bytes + .read_bytes) | add // 0" | tr '\n' ' '
	echo "$((${EPOCHREALTIME/./} / 1000))"
}

all_flow() { # so many pairs of a job and a machine
	local m
	[ "$(for m in 1 2 3; do on $m status --json; done | jq -s '[.[].jobs[] | select(.write_bytes + .read_bytes > 0)] | length')" -ge "$1" ]
}

# Bytes per second of each user over a while: A and B.
measure() { # seconds
	local before after
	read -ra before <<<"$(moved)"
	sleep "$1"
	read -ra after <<<"$(moved)"
	A=$(((after[0] - before[0]) * 1000 / (after[2] - before[2])))
	B=$(((after[1] - before[1]) * 1000 / (after[2] - before[2])))
	echo "# alice $A, bob $B bytes/s over $((after[2] - before[2])) ms"
}

# A figure may be off on a busy machine: it is taken up to three times.
both_within() { # percent, of alice, of bob
	for _ in 1 2 3; do
		measure 2
		! within "$1" "$A" "$2" || ! within "$1" "$B" "$3" || return 0
	done
	return 1
}

@test "each user has the max of a rule on three machines together, wherever the jobs are, and longer than an order lasts" {
	machines_up <<-'YAML'
		capacity: 300MB/s
		rules:
		  - name: everybody
		    user: "*"
		    max: 50MB/s
		    per: user
	YAML
	greedy 1 $ALICE a
	greedy 2 $ALICE a
	greedy 2 $ALICE b
	greedy 3 $ALICE c
	greedy 1 $BOB x # not on the second machine, whose part of the limit is his, too
	greedy 3 $BOB x
	until_true all_flow 6
	sleep 5 # orders are leases of 4 s
	both_within 10 50000000 50000000
	at_max() { [ "$(on 1 status --json | jq -r ".jobs[] | select(.job == \"$BOB/x\").reason")" = "at max of rule everybody" ]; }
	until_true 10 at_max # whenever the last thing that held it was the rule
	# Bob's own machine tells him nothing of Alice's jobs, nor does the controller.
	run -0 env SLUICE_SYSTEM="$SITE/m1" setpriv --reuid $BOB --regid $BOB --clear-groups "$SLUICE" status --json
	[[ "$output" != *$ALICE* ]]
	run as $BOB "$ASK" "$SITE/c/controller.sock" status
	[ "$status" -ne 0 ]
	"$ASK" "$SITE/c/controller.sock" status | jq -e '.ionodes | length == 3' # root may
	# Without limits they would have the machine to themselves.
	kill -9 "${LOADS[@]}"
	# One command opens them all, and closes them again; no user can.
	run -1 as $BOB "$SLUICE" open --controller "$SITE/c/controller.sock"
	modes() {
		for m in 1 2 3; do on $m status --json | jq -r .mode; done | sort | uniq -c | tr -s ' '
	}
	all() { [ "$(modes)" = " 3 $1" ]; }
	"$SLUICE" open --controller "$SITE/c/controller.sock"
	until_true 10 all open
	# Said again, it holds for a machine that was told otherwise since.
	"$ASK" "$SITE/m2/default/node.sock" close
	until_true 10 eval '[ "$(on 2 status --json | jq -r .mode)" = schedule ]'
	"$SLUICE" open --controller "$SITE/c/controller.sock"
	until_true 10 all open
	"$SLUICE" close --controller "$SITE/c/controller.sock"
	until_true 10 all schedule
}

@test "an account with one job and one with eight on three machines have equal shares" {
	machines_up <<-'YAML'
		capacity: 90MB/s
		policy:
		  share: fair,by=account:user:job
	YAML
	on 1 job add $ALICE/1 account=physics
	greedy 1 $ALICE 1
	for job in 1 2 3 4 5 6 7 8; do
		on $((job % 3 + 1)) job add $BOB/$job account=biology
		greedy $((job % 3 + 1)) $BOB $job
	done
	until_true all_flow 9
	both_within 10 45000000 45000000
	# Who has nothing to do leaves it to others.
	kill "${PIDS[5]}"
	wait "${PIDS[5]}" || true
	both_within 10 0 90000000
}

@test "operations and writes of all jobs of a user on three machines have one limit" {
	machines_up <<-'YAML'
		rules:
		  - {name: writes, op: write, max: 20MB/s, per: user}
		  - {name: storms, op: metadata, max_ops: 600, per: user}
	YAML
	storm() { # machine, uid, job
		SLUICE_SYSTEM=$SITE/m$1 setpriv --reuid "$2" --regid "$2" --clear-groups "$SLUICE" run --name system --job "$3" -- \
			/usr/bin/python3 -c 'import os, sys
while True: os.stat(sys.argv[1])' "$SITE/scratch" >/dev/null 2>&1 3>&- &
		PIDS+=($!)
	}
	storm 1 $ALICE a
	storm 2 $ALICE a
	storm 3 $ALICE b
	storm 2 $BOB x
	greedy 1 $ALICE c
	greedy 3 $BOB y
	greedy 2 $BOB z
	until_true 20 all_flow 3
	sleep 5 # orders are leases of 4 s
	# The most that they may, and more than the even part of a machine. A program that gets no CPU for more than 20 ms loses its turn.
	both_below() {
		for _ in 1 2 3 4; do
			measure 3
			[ "$A" -gt $(($1 * 11 / 10)) ] || [ "$B" -gt $(($1 * 11 / 10)) ] || [ "$A" -lt $(($1 / 2)) ] || [ "$B" -lt $(($1 / 2)) ] || return 0
		done
		return 1
	}
	both_below 20000000
	moved() { # operations instead of bytes
		local m
		for m in 1 2 3; do on $m status --json; done | jq -sr "[.[].jobs[]] | [$ALICE, $BOB][] as \$u |
			map(select(.uid == \$u) | .operations) | add // 0" | tr '\n' ' '
		echo "$((${EPOCHREALTIME/./} / 1000))"
	}
	both_below 600
	# Without the controller each machine stays within its even part.
	kill -STOP "${PIDS[1]}"
	even() { measure 2; [ "$A" -le 660 ] && [ "$A" -ge 100 ] && [ "$B" -le 230 ] && [ "$B" -ge 50 ]; }
	until_true 40 even
}
