# SPDX-License-Identifier: Apache-2.0
# A layer that is used over TCP: `sluice up --listen`, `sluice run --connect`.
bats_require_minimum_version 1.5.0
load layer

setup() {
	layer_setup
	head -c 3000017 /dev/urandom >"$BATS_TEST_TMPDIR/data"
}

address() {
	"$SLUICE" status --json | jq -r .listen
}

@test "up --listen makes a secret, and says how a program on another machine comes in" {
	run -0 "$SLUICE" up --listen 127.0.0.1:0 "$DIR"
	secret=$SLUICE_RUNTIME/default/secret
	[ "$(stat -c %a "$secret")" = 600 ]
	[ "$(wc -c <"$secret")" -eq 49 ]
	at=$(address)
	[[ "$at" =~ ^127.0.0.1:[1-9][0-9]*$ ]]
	[ "${lines[5]}" = "  sluice run --connect $at --secret-file FILE -- COMMAND" ]
	[ "${lines[6]}" = "where FILE is a copy, with mode 0600, of $secret" ]
	[[ "$("$SLUICE" status)" == *$'\n'"TCP:      $at"$'\n'* ]]
	# as the other machine would, with nothing but the address and a copy of the secret
	cp "$secret" "$BATS_TEST_TMPDIR/copy"
	chmod 600 "$BATS_TEST_TMPDIR/copy"
	cd "$BATS_TEST_TMPDIR"
	SLUICE_RUNTIME=$BATS_TEST_TMPDIR/none "$SLUICE" run --connect "$at" --secret-file copy --job far --weight 3 -- \
		sh -c "cd / && dd if=$BATS_TEST_TMPDIR/data of=$DIR/f bs=100K status=none"
	cmp data "$DIR/f"
	[ "$(job far write_bytes)" -eq 3000017 ]
	[ "$(job far weight)" -eq 3 ]
	grep -q "tcp=127.0.0.1:[0-9]* pid=[0-9]* job=far connected" "$SLUICE_RUNTIME/default/log"
	# with down, the secret is gone
	"$SLUICE" down
	[ ! -e "$secret" ]
}

@test "a secret of one's own, in sluice.yaml; the directory may be elsewhere on the other machine" {
	(umask 077 && echo open-sesame-open >"$BATS_TEST_TMPDIR/secret")
	printf 'directory: %s\nlisten: 127.0.0.1:0\nsecret_file: secret\n' "$DIR" >"$BATS_TEST_TMPDIR/s.yaml"
	"$SLUICE" up --config "$BATS_TEST_TMPDIR/s.yaml"
	ln -s "$DIR" "$BATS_TEST_TMPDIR/mounted"
	"$SLUICE" run --connect "$(address)" --secret-file "$BATS_TEST_TMPDIR/secret" --job far \
		--directory "$BATS_TEST_TMPDIR/mounted" -- cp "$BATS_TEST_TMPDIR/data" "$DIR/f"
	cmp "$BATS_TEST_TMPDIR/data" "$DIR/f"
	[ "$(job far write_bytes)" -eq 3000017 ]
}

@test "what is wrong is told before the program starts" {
	"$SLUICE" up --charge calls --listen 127.0.0.1:0 --capacity 100M "$DIR"
	at=$(address)
	secret=$SLUICE_RUNTIME/default/secret
	far() { fails 1 "sluice run: $1" run --connect "$at" "${@:2}" -- touch "$DIR/started"; }
	(umask 077 && echo another-and-long-enough >"$BATS_TEST_TMPDIR/wrong")
	far "the node at $at does not accept the secret in $BATS_TEST_TMPDIR/wrong: it has another one, or belongs to another user." --secret-file "$BATS_TEST_TMPDIR/wrong"
	chmod 644 "$BATS_TEST_TMPDIR/wrong"
	far "cannot use the secret in $BATS_TEST_TMPDIR/wrong: you must own the file, and its mode must be 0600." --secret-file "$BATS_TEST_TMPDIR/wrong"
	far "cannot use the secret in none: No such file or directory." --secret-file none
	far "min 200MB/s does not fit: 0B/s of 100MB/s are promised to other jobs." --secret-file "$secret" --min 200M
	far "$DIR/none, the directory of the layer, does not exist on this machine." --secret-file "$secret" --directory "$DIR/none"
	cp "$secret" "$BATS_TEST_TMPDIR/kept"
	chmod 600 "$BATS_TEST_TMPDIR/kept"
	"$SLUICE" down
	run -1 --separate-stderr "$SLUICE" run --connect no-such-host.invalid:9 --secret-file "$BATS_TEST_TMPDIR/kept" -- true
	[ "$stderr" = "sluice run: cannot find an address for the host 'no-such-host.invalid'." ]
	far "cannot reach a node at $at. Is 'sluice up --listen' running there?" --secret-file "$BATS_TEST_TMPDIR/kept"
	[ ! -e "$DIR/started" ]
}

@test "a program over TCP goes on when the node is killed and started again" {
	"$SLUICE" up --charge calls --listen 127.0.0.1:0 --capacity 200MB/s "$DIR"
	at=$(address)
	"$SLUICE" run --connect "$at" --secret-file "$SLUICE_RUNTIME/default/secret" --job far --max 10MB/s -- \
		dd if=/dev/zero of="$DIR/f" bs=1M count=16 status=none 3>&- &
	sleep 0.7
	kill_node
	# the secret is kept, since nobody has brought the layer down
	"$SLUICE" up --charge calls --listen "$at" --capacity 200MB/s "$DIR"
	wait $!
	[ "$(stat -c %s "$DIR/f")" -eq $((16 << 20)) ]
}

@test "a node that is revived is at the port that it had got, or says where it is now" {
	"$SLUICE" up --listen 127.0.0.1:0 "$DIR"
	at=$(address)
	secret=$SLUICE_RUNTIME/default/secret
	for _ in 1 2; do # more than once, too
		kill_node
		run -0 --separate-stderr "$SLUICE" up --revive
		[ "$stderr" = "" ]
		[ "$(address)" = "$at" ]
		"$SLUICE" run --connect "$at" --secret-file "$secret" -- cp "$BATS_TEST_TMPDIR/data" "$DIR/f"
		cmp "$BATS_TEST_TMPDIR/data" "$DIR/f"
	done
	kill_node
	python3 -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("taken", flush=True)
time.sleep(60)' "${at##*:}" >"$BATS_TEST_TMPDIR/taken" 3>&- &
	other=$!
	for ((i = 0; i < 200; i++)); do
		[ -s "$BATS_TEST_TMPDIR/taken" ] && break
		sleep 0.05
	done
	run -0 --separate-stderr "$SLUICE" up --revive
	kill "$other"
	now=$(address)
	[[ "$now" =~ ^127.0.0.1:[1-9][0-9]*$ ]]
	[ "$now" != "$at" ]
	[ "$stderr" = "sluice up: warning: $at is used by another program; the layer now listens at $now. Programs that wait for it at the old address will not find it." ]
	"$SLUICE" run --connect "$now" --secret-file "$secret" -- cp "$BATS_TEST_TMPDIR/data" "$DIR/g"
	cmp "$BATS_TEST_TMPDIR/data" "$DIR/g"
	kill_node
	"$SLUICE" up --revive
	[ "$(address)" = "$now" ]
}
