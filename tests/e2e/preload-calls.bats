# SPDX-License-Identifier: Apache-2.0
# The preloaded library, call by call: what a program is answered and what is in its files is what
# it is without the library, and the data went through the node.
bats_require_minimum_version 1.5.0
load node

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	for program in calls together; do
		# Not built with the rest: sanitizers do not want anything preloaded before them.
		$CC -std=c17 -D_GNU_SOURCE -w -O2 -o $program "$SOURCE_DIR/tests/e2e/programs/$program.c" \
			-lpthread
		$CC -std=c17 -D_GNU_SOURCE -w -O2 -D_FILE_OFFSET_BITS=64 -D_FORTIFY_SOURCE=2 \
			-o $program-64 "$SOURCE_DIR/tests/e2e/programs/$program.c" -lpthread
	done
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir direct
	node_start
}

# Run a case of calls with the library and without; say how many bytes the node wrote for it.
same() {
	local direct=${DIRECT:-direct} forwarded=$ROOT
	"$BATS_FILE_TMPDIR/$1" "$2" "$direct" >direct.out
	forwarded "$BATS_FILE_TMPDIR/$1" "$2" "$forwarded" >forwarded.out
	diff direct.out forwarded.out
	diff -r "$direct" "$forwarded"
	written=$(moved write)
}

@test "positions, short reads, holes, duplicates, truncation" {
	same calls positions
	[ "$written" -eq 1300022 ]
	node_stop
}

@test "vectors, with flags and without, too long and too many" {
	same calls vectors
	[ "$written" -eq 603080 ]
	node_stop
}

@test "appends, and files that begin or cease to append" {
	same calls appends
	# pwrite() on such a file is left to the kernel, and so is an append of more than a slot.
	[ "$written" -eq 1017 ]
	node_stop
}

@test "errors are those of the kernel" {
	same calls errors
	[ "$written" -gt 0 ]
	node_stop
}

@test "sparse files beyond 4 GiB" {
	same calls large
	[ "$written" -eq 1048586 ]
	node_stop
}

@test "mappings see what was written, and are seen" {
	same calls mapped
	[ "$written" -eq 300007 ]
	node_stop
}

@test "O_DIRECT" {
	same calls direct
	node_stop
}

@test "a limit on the size of files is the program's own" {
	same calls limit
	[ "$written" -eq 10 ]
	node_stop
}

@test "a lock ends with close()" {
	same calls locks
	[ "$written" -eq 1200 ]
	node_stop
}

@test "the names with 64 and _chk are the same calls" {
	for case in positions vectors appends large mapped; do
		same calls-64 $case
	done
	[ "$written" -gt 1300022 ]
	node_stop
}

@test "a full disk" {
	[ "$(id -u)" -eq 0 ] || skip "mounting needs root"
	node_stop
	mkdir small
	mount -t tmpfs -o size=3M none small || skip "mounting is not allowed here"
	mkdir small/root
	ROOT=$PWD/small/root
	node_start
	"$BATS_FILE_TMPDIR/calls" full small/root >direct.out || failed=1
	rm -f small/root/f
	forwarded "$BATS_FILE_TMPDIR/calls" full small/root >forwarded.out || failed=1
	wrote=$(moved write)
	node_stop || failed=1
	umount small
	[ -z "${failed:-}" ]
	diff direct.out forwarded.out
	grep -q 'write: -1 ENOSPC' forwarded.out
	[ "$wrote" -gt 2000000 ]
}

together() {
	run -0 --separate-stderr forwarded "$BATS_FILE_TMPDIR/$1" "$2" "$ROOT"
	[ "$output" = fine ]
	[ "$(moved write)" -ge "$3" ]
	node_stop
}

@test "threads that write to one descriptor do not overwrite each other" {
	# Nearly all: a thread that finds the entry of the descriptor in use goes to the kernel.
	together together threads 230000
}

@test "threads that read from one descriptor read each byte once" {
	together together readers 1000000
}

@test "parent and children write to a descriptor that they share" {
	together together forks 128000
}

@test "lines appended by four processes are whole" {
	together together appends 128000
}

@test "a descriptor closed and replaced under a write" {
	together together closes 300000
}

@test "signal handlers that write while a write is interrupted" {
	together together signals 10000
}

@test "threads cancelled in open, write and close" {
	together together cancels 52000
}

@test "programs that close or replace all descriptors they do not know" {
	together together sweeps 32000
}

@test "vfork, posix_spawn and exec with an inherited descriptor" {
	together together spawns 636
}

@test "a program that was just written can be executed" {
	together together busy 600
}
