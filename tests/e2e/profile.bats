# SPDX-License-Identifier: Apache-2.0
# `sluice profile`: finds the ratios of models, leaves nothing behind in a directory, keeps what it
# found, and says when it is worth nothing.
bats_require_minimum_version 1.5.0

setup() {
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	export SLUICE_STATE=$BATS_TEST_TMPDIR/state
	cd "$BATS_TEST_TMPDIR"
	mkdir dir
	# Small and short, but not too short for a busy disk: what is measured does not matter here.
	QUICK=(--time 3s --sizes 4Ki..64Ki --file-size 4Mi)
}

# usage: refused STATUS MESSAGE ARGUMENT...
refused() {
	local want=$1 message=$2
	shift 2
	run --separate-stderr "$SLUICE" profile "$@"
	[ "$status" -eq "$want" ] || { echo "status $status: $stderr"; false; }
	[ "$stderr" = "sluice profile: $message" ] || { echo "said: $stderr"; false; }
	[ "$output" = "" ]
	[ ! -e state ]
}

# Waits until process $1 has its file without a name.
has_file() {
	for _ in {1..200}; do
		# shellcheck disable=SC2010
		! ls -l "/proc/$1/fd" 2>/dev/null | grep -q 'dir/.*(deleted)' || return 0
		sleep 0.05
	done
	echo "no file"
	false
}

@test "the ratios of the models are found, those that were not tested too" {
	# Table I of AGIOS, as model/device.c has it: at 32 KiB, and at 8 KiB for its own clusters.
	while read -r model size read write; do
		"$SLUICE" profile --json --device-model "$model" >j
		jq -e --argjson size "$size" --argjson read "$read" --argjson write "$write" '
			def at($op): .points[] | select(.op == $op and .size_bytes == $size) | .ratio;
			.trusted and .kept == null and (.points | length) == 22 and
			([.points[] | select(.measured)] | length) == 6 and
			all(.points[]; .low <= .ratio and .ratio <= .high) and
			(at("read") / $read - 1 | fabs) < 0.005 and (at("write") / $write - 1 | fabs) < 0.005
			' j >/dev/null || { cat j; false; }
	done <<-END
		hdd 32768 40.0 18.0
		raid 32768 25.5 8.2
		ssd 32768 2.37 1.0
		pastel 8192 38.91 21.29
		graphene 8192 40.68 15.12
		suno 8192 25.46 8.17
		edel 8192 2.37 0.66
	END
	[ ! -e state ]
}

@test "a model can be written down, and gives the same again" {
	m=bandwidth=100M,seek=10ms,op=0s
	"$SLUICE" profile -m $m --sizes 1M --ops read --json >a
	"$SLUICE" profile -m $m --sizes 1M --ops read --json --output p >b
	jq -e '.points | length == 1' a
	diff <(jq 'del(.kept)' a) <(jq 'del(.kept)' b)
	# 1 MiB takes 10.48576 ms, and 10 ms to get there
	jq -e '.points[0] | .op == "read" and .size_bytes == 1048576 and (.ratio - 1.95367 | fabs) < 1e-4' a
	[ "$(head -n 1 p)" = "sluice-profile 1" ]
	"$SLUICE" profile --show p | grep -q '^read  *1MiB  *100MB/s  *51.2MB/s  *1.95 '
}

@test "it ends with the capacity that a layer may be given" {
	# 100 MB/s in sequence: nine tenths of that
	"$SLUICE" profile -m bandwidth=100M,seek=10ms,op=0s --sizes 1M >t
	[ "$(tail -n 1 t)" = "For a layer: use --capacity 90MB/s, nine tenths of the slower sequential rate." ]
	"$SLUICE" profile -m bandwidth=100M,seek=10ms,op=0s --sizes 1M --json | jq -e '.capacity_bps == 90000000'
	# figures that are worth nothing give none
	printf 'sluice-profile 1\nread 8192 52000000 1300000 38.5 41.2 5\nuntrusted it is memory\n' >p
	"$SLUICE" profile --show p | grep -q 'NOT TO BE TRUSTED'
	run ! grep -e --capacity <("$SLUICE" profile --show p)
}

@test "a directory is measured, is as it was, and its profile is kept" {
	echo mine >dir/mine
	"$SLUICE" profile "${QUICK[@]}" --json dir >j 2>err
	[ ! -s err ]
	[ "$(ls -A dir)" = mine ]
	[ "$(cat dir/mine)" = mine ]
	jq -e --arg dir "$(realpath dir)" '.directory == $dir and (.how == "direct" or .how == "buffered") and .confidence == 0.95 and
		.file_bytes == 4194304 and .seconds < 20 and (.points | length) == 10 and
		all(.points[]; .low <= .ratio and .ratio <= .high and .sequential_bps > 0) and
		([.points[] | select(.measured)] | length) >= 6' j
	kept=$(jq -r .kept j)
	[ "$(find state -type f)" = "${kept#"$PWD/"}" ]
	# What is shown is what was found, to the digits of the file; for a file beside it, too.
	"$SLUICE" profile --show --json dir >s
	diff <(jq -c '.points[] | [.op, .size_bytes, .pairs]' j) \
		<(jq -c '.points[] | [.op, .size_bytes, .pairs]' s)
	jq -e --slurpfile j j '.made == $j[0].made and .device == $j[0].device and
		([.points, $j[0].points] | transpose | all(.[]; (.[0].ratio / .[1].ratio - 1 | fabs) < 1e-4))' s
	"$SLUICE" profile --show "$kept" | grep -q "^write  *64KiB"
}

@test "one operation, through the page cache, to a file that was named" {
	run --separate-stderr "$SLUICE" profile "${QUICK[@]}" --ops read --buffered --output my.profile dir
	[ "$status" -eq 0 ]
	[[ "$(tr '\n' ' ' <<<"$output")" == "$(realpath dir): "*", buffered, "* ]]
	[[ "$output" == *"Stored in my.profile."* ]]
	[[ "$output" != *write* ]]
	! awk 'length > 80' <<<"$output" | grep . || false
	[ ! -e state ]
	[ "$(grep -c '^read ' my.profile)" -eq 5 ]
	[ -z "$(ls -A dir)" ]
}

@test "figures of memory are not to be trusted, and say so" {
	[ "$(stat -f -c %T /dev/shm)" = tmpfs ] && [ -w /dev/shm ] || skip "no tmpfs at /dev/shm"
	shm=$(mktemp -d -p /dev/shm)
	run --separate-stderr "$SLUICE" profile --time 1s --sizes 4Ki..64Ki --file-size 4Mi "$shm"
	rmdir "$shm"
	[ "$status" -eq 0 ]
	[[ "$output" == *"NOT TO BE TRUSTED: "*memory* ]]
	[ "$(grep -c '^untrusted ' state/*)" -eq 1 ]
	"$SLUICE" profile --show --json /dev/shm | jq -e '.trusted == false and (.why | test("memory"))'
}

@test "progress is shown on a terminal" {
	export SLUICE
	run -0 timeout 60 script -qec '"$SLUICE" profile --ops read --time 2s --sizes 4Ki..64Ki --file-size 4Mi dir' /dev/null
	[[ "$output" == *"read 4KiB: "*" of at most 2 s"* ]]
}

@test "a signal ends it and leaves nothing" {
	for signal in TERM HUP KILL; do
		"$SLUICE" profile --time 1h dir 2>err &
		pid=$!
		has_file $pid
		kill -$signal $pid
		status=0
		wait $pid || status=$?
		[ "$status" -eq $((128 + $(kill -l $signal))) ]
		[ $signal = KILL ] || [ "$(cat err)" = "sluice profile: interrupted; no profile was stored." ]
		[ -z "$(ls -A dir)" ]
		[ ! -e state ]
	done
	# A job in the background of a script ignores SIGINT, and so would this.
	run --separate-stderr timeout --preserve-status -s INT 3 "$SLUICE" profile --time 1h dir
	[ "$status" -eq 130 ]
	[ "$stderr" = "sluice profile: interrupted; no profile was stored." ]
	[ -z "$(ls -A dir)" ]
}

@test "directories that cannot be measured" {
	refused 1 "none: No such file or directory." none
	: >file
	refused 1 "file is not a directory." file
	run --separate-stderr "$SLUICE" profile /proc
	[ "$status" -eq 1 ]
	[[ "$stderr" == "sluice profile: cannot make a file in /proc: "* ]]
}

@test "a limit on the size of files" {
	(
		ulimit -f 1024 # KiB
		refused 1 "cannot write 4MiB to a file in dir: File too large." "${QUICK[@]}" dir
	)
	[ -z "$(ls -A dir)" ]
}

@test "a full file system" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	cat >full <<-'END'
		mount -t tmpfs -o size=3M none dir || exit 99
		"$SLUICE" profile --sizes 8Ki..256Ki dir
		echo $?
		# No more than half of the room, unless asked for more: that is no more either
		"$SLUICE" profile --sizes 8Ki..64Ki --file-size 1G --time 1s --json dir | jq .file_bytes
	END
	SLUICE=$SLUICE run --separate-stderr unshare --mount sh full
	[ "$status" -eq 0 ]
	[ "$output" = $'1\n1572864' ]
	[ "$stderr" = "sluice profile: dir has 3MiB left; a test with requests of up to 256KiB needs twice 4MiB. Smaller --sizes need less." ]
}

@test "what is kept cannot be read or written" {
	run --separate-stderr "$SLUICE" profile --show dir
	[ "$status" -eq 1 ]
	[[ "$stderr" == "sluice profile: the file system of dir has no profile ($SLUICE_STATE/"*".profile). 'sluice profile dir' makes one." ]]
	refused 1 "none: No such file or directory." --show none
	echo hello >file
	refused 1 "file:1: this is no profile: its first line must be 'sluice-profile 1'." --show file
	run --separate-stderr "$SLUICE" profile -m hdd --output /dev/null
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice profile: /dev/null is no regular file. --output can name another file." ]
	[[ "$output" == "hdd, model"* ]]
	[ -c /dev/null ]
	run --separate-stderr "$SLUICE" profile -m hdd --output file/p
	[ "$stderr" = "sluice profile: cannot write file/p: Not a directory. --output can name another file." ]
}

@test "wrong use is told apart" {
	see=" See 'sluice profile --help'."
	refused 2 "no directory given.$see"
	refused 2 "unexpected argument 'more'.$see" dir more
	refused 2 "--ops must be of read and write, not 'read,erase'.$see" --ops read,erase dir
	refused 2 "--ops must be of read and write, not ','.$see" --ops , dir
	refused 2 "--sizes '8M..8K' ends below where it begins.$see" --sizes 8M..8K dir
	refused 2 "--sizes must ascend, as powers of two: '8192' does not, in '8Ki,8192'.$see" --sizes 8Ki,8192 dir
	refused 2 "--sizes: 'big' is no size; write one like 64Ki.$see" --sizes 8Ki..big dir
	refused 2 "--sizes must be from 4KiB to 64MiB, not '1Ki'.$see" --sizes 1Ki..8Ki dir
	refused 2 "--sizes must be from 4KiB to 64MiB, not '0'.$see" --sizes 0 dir
	refused 2 "--sizes must be from 4KiB to 64MiB, not '1T'.$see" --sizes 8Ki..1T dir
	refused 2 "--sizes is empty.$see" --sizes , dir
	refused 2 "--time must be from 1s to 1h, not '10ms'.$see" --time 10ms dir
	refused 2 "--time must be from 1s to 1h, not 'soon'.$see" --time soon dir
	refused 2 "--file-size: 'x' is no size; write one like 4Gi.$see" --file-size x dir
	refused 2 "--file-size must be 16 times the largest of --sizes, 128MiB.$see" --file-size 1M dir
	refused 2 "give either --device-model or a directory.$see" -m hdd dir
	refused 2 "unknown device model 'hd'. Did you mean 'hdd'?$see" -m hd
	refused 2 "--show can only be combined with --json.$see" --show --ops read dir
}
