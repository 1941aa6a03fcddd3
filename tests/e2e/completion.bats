# SPDX-License-Identifier: Apache-2.0
# Completion in bash and zsh: all that the program has, at the place where it can be typed.
bats_require_minimum_version 1.5.0
load layer

setup() {
	layer_setup
	SLUICE=$(realpath "$SLUICE")
	PATH=$(dirname "$SLUICE"):$PATH
	cd "$DIR"
}

teardown() {
	[ ! -S "$SLUICE_RUNTIME/tmux" ] || mux kill-server || true
	layer_teardown
}

# What bash would propose behind these words, of which the last is being typed.
offers() { # word…
	bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; printf "%s\n" "${COMPREPLY[@]}"' \
		"$BUILD_DIR/completion/sluice" "$@"
}

has() { # lines, word…
	local lines=$1 word
	shift
	for word in "$@"; do
		grep -qxF -- "$word" <<<"$lines" || { echo "no '$word' in: $lines"; return 1; }
	done
}

commands() {
	"$SLUICE" help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'
}

@test "every command is offered, and the one that is meant alone" {
	# shellcheck disable=SC2046 # words
	has "$(offers sluice '')" $(commands) --help --version
	[ "$(offers sluice sta)" = status ]
	[ "$(offers sluice zz)" = "" ]
	# shellcheck disable=SC2046
	has "$(offers sluice help '')" $(commands)
}

@test "every long option that a help text names is offered by its command, and understood by it" {
	for command in $(commands); do
		offered=$(offers sluice "$command" --)
		# shellcheck disable=SC2046
		has "$offered" $("$SLUICE" "$command" --help | sed -n '/^[A-Z][a-z ]*:$/,$p' |
			grep -oE '^(  -., |      )--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u)
		for option in $offered; do
			run "$SLUICE" "$command" "$option=x" --help
			[[ "$output" != *"unknown option"* ]] || { echo "$command: $output"; false; }
		done
	done
	has "$(offers sluice status -)" -j --json -w --watch --name
	has "$(offers sluice bench sched --)" --quick --filter --json
	has "$(offers sluice run --)" --procs --nodes
	for mode in --requests --generate --import-darshan; do
		# shellcheck disable=SC2046
		has "$(offers sluice sim $mode x --)" $(options_of sim $mode)
	done
}

# Long options that the help text of these words names at the begin of a line.
options_of() { # command, word…
	"$SLUICE" "$@" --help | grep -E '^ +(-., )?--[a-z]' | sed 's/\([^ ]\)  .*/\1/' | grep -oE -- '--[a-z-]+' | sort -u
}

@test "values are offered where an option has some, and not where it has none" {
	"$SLUICE" up --name east "$DIR" >/dev/null
	has "$(offers sluice status --name '')" east
	[ "$(offers sluice status --name = ea)" = east ]
	mkdir sub
	touch file.yaml
	has "$(offers sluice up --config '')" file.yaml sub
	[ "$(offers sluice up '')" = sub ]
	[ "$(offers sluice up --capacity '')" = "" ]
	has "$(offers sluice sim '')" file.yaml
	[ "$(offers sluice status '')" = "" ]
	has "$(offers sluice up --policy '')" share= grant=
	has "$(offers sluice up --policy share = '')" wfq io-sets
	has "$(offers sluice sim --requests --policy '')" order= share=
	has "$(offers sluice sim --policy '')" min-max fcfs
	has "$(offers sluice allocate -p '')" mckp
	has "$(offers sluice sim --generate '')" mix iosets
	[ "$(offers sluice sim --generate = in)" = intrepid ]
	has "$(offers sluice top --sort '')" now average weight
	for key in $(offers sluice top --sort ''); do
		"$SLUICE" top --batch --count 1 --sort "$key" >/dev/null
	done
	[ "$(offers sluice up --log-level '' | sort | xargs)" = "debug error info warn" ]
	[ "$(offers sluice run --fallback '' | xargs)" = "direct error" ]
	[ "$(offers sluice run --mode = t)" = turn ]
	has "$(offers sluice report '')" file.yaml
	# what stands below a layer that has died is none
	kill -KILL "$(cat "$SLUICE_RUNTIME/east/pid")"
	until flock -n "$SLUICE_RUNTIME/east/lock" true; do sleep 0.05; done
	"$SLUICE" status --all | grep -q "its log is"
	[ "$(offers sluice down --name '')" = east ]
}

@test "names of jobs are whole, those of the layer that was named, and nothing that a shell obeys" {
	local long name
	long=$(printf 'j%.0s' {1..63})
	# shellcheck disable=SC2016 # not to be obeyed
	name='a$(touch${IFS}evil)`touch${IFS}evil`'
	"$SLUICE" up "$DIR" >/dev/null
	"$SLUICE" up --name east "$DIR" >/dev/null
	"$SLUICE" run --name default --job "$name" -- dd if=/dev/zero of="$DIR/f" bs=4K count=1 status=none
	"$SLUICE" run --name east --job "$long" -- dd if=/dev/zero of="$DIR/g" bs=4K count=1 status=none
	[ "$(offers sluice set --name east '')" = "$long" ]
	[ "$(offers sluice set --name = east '')" = "$long" ]
	[ "$(offers sluice set --name default '')" = "$(printf %q "$name")" ]
	[ "$(offers sluice set --name default a)" = "$(printf %q "$name")" ]
	[ ! -e evil ]
	[ "$(offers sluice set --name default b)" = "" ]
}

@test "what a command takes is offered: subcommands, policies, jobs, keys, programs" {
	[ "$(offers sluice policy '' | sort | xargs)" = "list set show" ]
	[ "$(offers sluice policy set --n)" = --name ]
	[ "$(offers sluice policy set --j)" = "" ]
	[ "$(offers sluice policy list --n)" = "" ]
	[ "$(offers sluice policy show --j)" = --json ]
	has "$(offers sluice policy show '')" share/io-sets grant/fcfs
	has "$(offers sluice policy set '')" share= order=
	has "$(offers sluice policy set share = '')" io-sets
	[ "$(offers sluice policy set share = io)" = io-sets ]
	[ "$(offers sluice policy set share =)" = "$(offers sluice policy set share = '')" ]
	has "$(offers sluice bench '')" sched path share sim control
	"$SLUICE" up "$DIR" >/dev/null
	"$SLUICE" run --job ocean -- dd if=/dev/zero of="$DIR/f" bs=4K count=1 status=none
	[ "$(offers sluice set '')" = ocean ]
	has "$(offers sluice set ocean '')" min= max= weight=
	has "$(offers sluice set ocean ma)" max= max_ops= max_read=
	touch data
	[ "$(offers sluice run -- printen | sort -u)" = printenv ]
	[ "$(offers sluice run --job x -- cat dat)" = data ]
	[ "$(offers sluice run cat dat)" = data ]
}

mux() {
	tmux -S "$SLUICE_RUNTIME/tmux" -f /dev/null "$@" 3>&-
}

typed() { # keys, text that stands on the screen then
	mux send-keys C-u
	mux send-keys -l "$1"
	mux send-keys Tab
	shown "$2"
}

shown() { # text
	for ((i = 0; i < 300; i++)); do
		[[ "$(mux capture-pane -p)" == *"$1"* ]] && return
		sleep 0.1
	done
	mux capture-pane -p
	return 1
}

@test "zsh completes commands, options and values" {
	mkdir zsub
	mux new-session -d -x 100 -y 40 -e PATH="$PATH" -e SLUICE_RUNTIME="$SLUICE_RUNTIME" \
		-e ASAN_OPTIONS="$ASAN_OPTIONS" -e FPATH_MORE="$BUILD_DIR/completion" -c "$DIR" 'zsh -f'
	mux send-keys -l 'PS1="ready> "; fpath=($FPATH_MORE $fpath); autoload -U compinit; compinit -D -u; clear'
	mux send-keys Enter
	for ((i = 0; i < 300; i++)); do # the screen is cleared: its first line is the prompt
		[[ "$(mux capture-pane -p)" == "ready>"* ]] && break
		sleep 0.1
	done
	typed 'sluice stat' 'sluice status'
	typed 'sluice status --js' 'sluice status --json'
	typed 'sluice policy sh' 'sluice policy show'
	typed 'sluice policy show share/io' 'share/io-sets'
	typed 'sluice up --capa' 'sluice up --capacity'
	typed 'sluice up zs' 'sluice up zsub/'
	typed 'sluice sim --policy min-m' 'sluice sim --policy min-max'
	typed 'sluice sim --requests --wind' 'sluice sim --requests --window'
	typed 'sluice sim --generate per' 'sluice sim --generate persched'
	typed 'sluice top --sort wei' 'sluice top --sort weight'
	typed 'sluice allocate --policy mck' 'sluice allocate --policy mckp'
	typed 'sluice up --policy sha' 'sluice up --policy share='
	typed 'sluice set --name ' 'ready>'
	typed 'sluice ' 'start a layer'
	[[ "$(mux capture-pane -p)" != *"not found"* ]]
	[[ "$(mux capture-pane -p)" != *"error"* ]]
	mux kill-server
}
