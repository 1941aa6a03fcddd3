# SPDX-License-Identifier: Apache-2.0
# For tests that start daemons by themselves: load it, then
#
#	start LOG WORDS…       sluiced WORDS, ready when this returns; its pid is in PIDS
#	start_controller       one that listens on loopback, at $CONTROLLER, secret in ./secret
load wait

start() { # log, words of sluiced
	local log=$1
	shift
	rm -f ready
	mkfifo ready
	"$SLUICED" "$@" --ready-fd 9 9>ready 3>&- 2>"$log" &
	PIDS+=($!)
	read -r -N 1 <ready || { cat "$log"; return 1; }
}

start_controller() {
	(umask 077 && head -c 24 /dev/urandom | base64 >secret)
	start c.log controller --socket c.sock --listen 127.0.0.1:0 --secret-file secret
	CONTROLLER=$(sed -n 's/.*controller listen=//p' c.log)
}
