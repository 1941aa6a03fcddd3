# SPDX-License-Identifier: Apache-2.0
# up --hosts: a layer on three machines, which are three runtime directories of this one.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile live-load
}

setup() {
	live_setup
	unset SLURM_JOB_ID SLURMD_NODENAME
	LAUNCH=$BATS_TEST_TMPDIR/launch
	export BASE=$SLUICE_RUNTIME
	cat >"$LAUNCH" <<-'SH'
		#!/bin/sh
		host=$1
		shift
		mkdir -p -m 700 "$BASE/$host"
		[ "$host" != broken ] || { echo 'host is broken' >&2; exit 1; }
		SLUICE_RUNTIME=$BASE/$host exec "$@"
	SH
	chmod +x "$LAUNCH"
}

teardown() {
	local host
	"$SLUICE" down --if-up >/dev/null 2>&1 || true
	for host in m2 m3; do on $host down --if-up >/dev/null 2>&1 || true; done
	live_teardown
}

on() { # machine, words of sluice
	SLUICE_RUNTIME=$BASE/$1 "$SLUICE" "${@:2}"
}

up() { # options of up
	"$SLUICE" up --listen 127.0.0.1:0 --launch "$LAUNCH" "$@" "$DIR"
}

@test "one command starts a layer on three machines, one bandwidth holds over them, and down ends them all" {
	run -0 up --hosts "localhost,m[2-3]" --capacity 30M --charge calls --policy share=wfq
	[[ $output == *"on 3 machines, at most 30MB/s"* ]]
	"$ASK" "$BASE/default/controller.sock" status | jq -e '[.ionodes[] | select(.up) | .name] | sort == ["0", "m2", "m3"]'
	run -0 "$SLUICE" status
	[[ $output == *"on one of 3 machines"* ]]
	[ "$(on m2 status --json | jq .machines)" = 3 ]
	# the secret is in no command line
	[ "$(stat -c %a "$BASE/m2/default/secret")" = 600 ]
	! grep -rqaF "$(cat "$BASE/m2/default/secret")" /proc/[0-9]*/cmdline 2>/dev/null
	# a job on two of them has its max once
	local m
	for m in m2 m3; do
		SLUICE_RUNTIME=$BASE/$m "$SLUICE" run --job wide --max 10M -- "$BIN/live-load" -T 120 "$DIR/$m" >/dev/null 3>&- &
		LOADS+=($!)
	done
	moved() {
		for m in m2 m3; do on $m status --json; done | jq -s '[.[].jobs[] | select(.job == "wide") | .write_bytes] | add // 0'
	}
	flows() { [ "$(moved)" -gt 3000000 ]; }
	until_true 20 flows
	rate() {
		local before a b
		a=${EPOCHREALTIME/./} before=$(moved)
		sleep 1.5
		b=${EPOCHREALTIME/./}
		RATE=$((($(moved) - before) * 1000 / ((b - a) / 1000)))
		echo "# $RATE bytes/s"
		within 15 "$RATE" 10000000
	}
	rate || rate || rate
	kill "${LOADS[@]}"
	wait "${LOADS[@]}" 2>/dev/null || true
	run -1 --separate-stderr "$SLUICE" set --capacity 50M
	[[ $stderr == *"several machines"* ]]
	"$SLUICE" down
	gone() { [ ! -e "$BASE/m2/default/root" ] && [ ! -e "$BASE/m3/default/root" ]; }
	until_true 15 gone
}

@test "what does not start is named, and nothing is left" {
	run -1 --separate-stderr up --hosts localhost,m2,broken
	[[ $stderr == *"no node was started on broken; the layer is not up."*"host is broken"* ]]
	run -1 "$SLUICE" status
	gone() { [ ! -e "$BASE/m2/default/root" ]; }
	until_true 15 gone
	run -2 --separate-stderr up --hosts "m[2-"
	[[ $stderr == *"cannot parse 'm[2-'"* ]]
	run -2 --separate-stderr up --hosts m2,m3
	[[ $stderr == *"this machine is not in 'm2,m3'"* ]]
	run -2 --separate-stderr up --hosts localhost,m2 --ionodes 2
	[[ $stderr == *"one node on each machine"* ]]
	mkdir "$DIR/a b"
	run -2 --separate-stderr "$SLUICE" up --hosts localhost,m2 --launch "$LAUNCH" "$DIR/a b"
	[[ $stderr == *"cannot be passed through the shell"* ]]
}
