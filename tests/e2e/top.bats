# SPDX-License-Identifier: Apache-2.0
# `sluice top` in a terminal: what it shows, what its keys do, and that it gives the terminal back.
# The terminal is tmux, a server of its own for each test.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile live-load
}

setup() {
	live_setup
	SLUICE=$(realpath "$SLUICE")
	"$SLUICE" up --charge calls --capacity 40M "$DIR" >/dev/null
}

teardown() {
	[ ! -S "$SLUICE_RUNTIME/tmux" ] || mux kill-server || true
	live_teardown
}

mux() {
	tmux -S "$SLUICE_RUNTIME/tmux" -f /dev/null "$@" 3>&-
}

# A shell in a terminal of 80x24, or as given.
terminal() { # columns, rows
	mux new-session -d -x "${1:-80}" -y "${2:-24}" -e SLUICE="$SLUICE" \
		-e SLUICE_RUNTIME="$SLUICE_RUNTIME" -e LC_ALL="${LOCALE:-C.UTF-8}" -e NO_COLOR= \
		-e ASAN_OPTIONS="$ASAN_OPTIONS" "env PS1='prompt> ' bash --norc --noprofile"
	shows 'prompt>'
}

type_in() { # line for the shell
	mux send-keys -l "$1"
	mux send-keys Enter
}

keys() {
	mux send-keys "$@"
}

screen() {
	mux capture-pane -p
}

on_screen() { # text
	[[ "$(screen)" == *"$1"* ]]
}

off_screen() { # text
	[[ "$(screen)" != *"$1"* ]]
}

shows() { # text…
	local text
	for text in "$@"; do
		until_true 15 on_screen "$text" || { echo "no '$text' in:"; screen; return 1; }
	done
}

hides() { # text
	until_true 15 off_screen "$1" || { echo "'$1' still in:"; screen; return 1; }
}

load_of() { # job, options of run
	local job=$1
	shift
	start_load "$job" "$@" -- "$BIN/live-load" -T 120 -t 4 "$DIR/$job" >/dev/null
}

top() { # options
	type_in "clear; \"\$SLUICE\" top $*"
}

@test "top shows the jobs as status has them, sorts, filters, pauses and explains" {
	load_of a --max 4M
	load_of b --period 10
	terminal
	top -d 0.3
	shows "Layer 'default' for $DIR, up" "REASON" "at max" "capacity" "S1" "of 40.0M"
	# the one that moves more comes first, until it is sorted by name
	until_true 10 b_first
	keys '>'
	shows "Sorted by name"
	until_true 10 eval '[ "$(screen | sed -n "5s/ .*//p;6s/ .*//p" | tr "\n" " ")" = "a b " ]'
	keys r
	shows "Sorted by name, reversed"
	keys /
	keys -l 'AT MAX'
	keys Enter
	shows "only 'AT MAX'"
	# On a busy machine there are moments in which it is not at its max.
	until_true 10 eval '[ "$(screen | grep -c "^[ab] ")" -eq 1 ]'
	keys / C-u Enter
	hides "only"
	keys Space
	shows PAUSED
	"$SLUICE" run --job late -- dd if=/dev/zero of="$DIR/late" bs=64K count=1 status=none
	sleep 1
	off_screen late
	keys Space
	shows late
	keys '?'
	shows "Keys of sluice top"
	keys Escape
	hides "Keys of sluice top"
	keys q
	shows "prompt>"
}

b_first() {
	[[ "$(screen | sed -n 5p)" == "b "* ]]
}

max_is() { # job, bytes/s
	[ "$(job "$1" asked_max_bps)" = "$2" ]
}

slower() { # job, bytes/s
	local bps
	bps=$(job "$1" bandwidth_bps)
	[ "$bps" -gt 0 ] && [ "$bps" -lt "$2" ]
}

@test "a max that is changed in top is obeyed by the node, and a refusal is shown in its words" {
	load_of a
	load_of b
	terminal
	top --sort name -d 0.3
	shows "a: min - max -"
	keys j
	shows "b: min - max - weight 1"
	keys M
	shows "max of job b"
	keys -l 2M
	keys Enter
	shows "b: max=2M is set" "b: min - max 2.00M"
	max_is b 2000000
	max_is a 0
	until_true 10 slower b 3000000
	keys w
	keys -l 5
	keys Enter
	shows "weight=5 is set"
	[ "$(job b weight)" = 5 ]
	keys m
	keys -l 90M
	keys Enter
	shows "b: min=90M refused: min 90MB/s is above max 2MB/s"
	keys M
	keys -l zzz
	keys Enter
	shows "max: 'zzz' is not a rate; write 200M"
	keys M
	keys -l 9M
	keys Escape
	hides "max of job"
	max_is b 2000000
	keys q
	shows "prompt>"
}

@test "top follows the size of its terminal, and says when that is too small" {
	load_of a
	terminal 120 30
	top -d 0.3
	shows "REASON" "PERIOD"
	mux resize-window -x 60 -y 10
	hides "PERIOD"
	shows "REASON" "a: min -"
	mux resize-window -x 50 -y 9
	shows "too small: 50x9, not 60x10"
	mux resize-window -x 80 -y 24
	shows "REASON" "?:help q:quit"
	keys q
	shows "prompt>"
}

@test "status --watch keeps to a terminal that is narrower than its lines" {
	for job in a b c; do
		"$SLUICE" run --job $job -- dd if=/dev/zero of="$DIR/x" bs=4K count=1 status=none
	done
	terminal 50 14
	type_in 'clear; "$SLUICE" status --watch 0.3'
	shows "Layer 'default'" "JOB " "c  "
	sleep 1
	on_screen "Layer 'default'"
	on_screen "c  "
	keys C-c
	shows "prompt>"
	# what is typed then goes on in the next row, as it did before
	type_in "clear; echo $(printf '%080d' 7)"
	shows 00007
}

coloured() { # whether there are escapes for colours
	mux capture-pane -p -e | grep -q $'\033\\[[0-9;]*3[0-7]m'
}

@test "colours are left out with --no-color, NO_COLOR and on a terminal that has none" {
	load_of a --max 4M
	terminal
	top -d 0.3
	shows "at max"
	coloured
	keys q
	shows "prompt>"
	top --no-color -d 0.3
	shows "at max"
	run ! coloured
	keys q
	shows "prompt>"
	type_in "clear; NO_COLOR=1 \"\$SLUICE\" top"
	shows "at max"
	run ! coloured
	keys q
	shows "prompt>"
	type_in "clear; TERM=vt100 \"\$SLUICE\" top"
	shows "at max"
	run ! coloured
	keys q
	shows "prompt>"
	type_in "clear; TERM=no-such-terminal \"\$SLUICE\" top"
	shows "unknown terminal 'no-such-terminal'"
}

strange() { # whether there is anything but printable ASCII in the input
	LC_ALL=C grep '[^ -~]'
}

@test "bars are ASCII where the locale is" {
	load_of a
	LOCALE=C terminal
	top -d 0.3
	shows "M ####"
	run ! strange <<<"$(screen)"
	keys q
}

plain_terminal() { # as before: no other screen, a cursor, the same settings
	[ "$(mux display -p '#{alternate_on} #{cursor_flag}')" = "0 1" ]
}

@test "the terminal is given back after q, Ctrl-C, SIGTERM and SIGHUP" {
	load_of a
	terminal
	type_in 'clear; stty -g >"$SLUICE_RUNTIME/before"; echo saved'
	shows saved
	for way in q C-c TERM HUP; do
		top -d 0.3
		shows "REASON"
		[ "$(mux display -p '#{alternate_on}')" = 1 ]
		case $way in
		q | C-c) keys $way ;;
		*) kill -s $way "$(pgrep -P "$(mux display -p '#{pane_pid}')")" ;;
		esac
		shows "prompt>"
		until_true 5 plain_terminal
		type_in 'code=$?; clear; echo "code $code"; stty -g | cmp - "$SLUICE_RUNTIME/before" && echo same-$((40 + 2))'
		shows "code 0" same-42
	done
}

@test "top waits for a layer that went down, and goes on when it is back" {
	terminal
	top -d 0.3
	shows "No jobs yet"
	"$SLUICE" down >/dev/null
	shows "Layer 'default' is gone; waiting for its return."
	"$SLUICE" up --ionodes 2 "$DIR" >/dev/null
	shows "up" "2 of 2 nodes" "IONODE STATE"
	hides "is gone"
	# nor does a node that does not answer hold the keys
	kill -STOP "$(node_pid)"
	sleep 1
	keys '?'
	shows "Keys of sluice top"
	keys Escape
	keys q
	shows "prompt>"
	kill -CONT "$(node_pid)"
}

@test "--batch prints plain tables, and what is wrong is said" {
	load_of a --max 4M
	until_true 10 slower a 40000000
	LC_ALL=C run -0 "$SLUICE" top --batch -n 2 -d 0.2
	[ "$(grep -c '^JOB ' <<<"$output")" -eq 2 ]
	[[ "$output" == *"at max"* ]]
	table=$output
	run ! strange <<<"$table"
	run ! grep '.\{81\}' <<<"$table"
	run -0 "$SLUICE" top -b -n 1 --columns 200 --filter nobody
	[[ "$output" == *" AVG REASON"* ]]
	run ! grep '^a ' <<<"$output"
	run -1 "$SLUICE" top </dev/null
	[ "$output" = "sluice top: standard output is not a terminal; --batch prints plain text." ]
	see="See 'sluice top --help'."
	run -2 "$SLUICE" top --sort nmae
	[ "$output" = "sluice top: unknown key of --sort 'nmae'. Did you mean 'name'? $see" ]
	run -2 "$SLUICE" top --columns 80
	[ "$output" = "sluice top: --columns needs --batch. $see" ]
	run -2 "$SLUICE" top -b --count 0
	[ "$output" = "sluice top: --count: '0' is not a number from 1. $see" ]
	run -2 "$SLUICE" top -d 0
	[ "$output" = "sluice top: --interval: '0' is not a time from 0.1 seconds to a day. $see" ]
	"$SLUICE" down >/dev/null
	run -1 "$SLUICE" top --batch
	[ "$output" = "sluice top: no layer is up. Start one with 'sluice up DIR'." ]
}
