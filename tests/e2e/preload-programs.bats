# SPDX-License-Identifier: Apache-2.0
# Programs that nobody here wrote, and languages other than C, with the preloaded library: their
# files are byte by byte what they are without it, and the data went through the node.
bats_require_minimum_version 1.5.0
load node

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir direct
	node_start
	head -c 3000017 /dev/urandom >data
}

# The node has moved at least this many bytes; and nothing was odd.
wrote() {
	[ "$(moved write)" -ge "$1" ] || { echo "the node wrote $(moved write)"; false; }
}

read_through() {
	[ "$(moved read)" -ge "$1" ] || { echo "the node read $(moved read)"; false; }
}

@test "dd, in blocks of several sizes, in both directions and with conv=notrunc" {
	for size in 512 4096 100000 2M; do
		forwarded dd if=data of="$ROOT/out" bs=$size status=none
		cmp data "$ROOT/out"
		forwarded dd if="$ROOT/out" of=back bs=$size status=none
		cmp data back
	done
	cp data expected
	for to in expected "$ROOT/out"; do
		forwarded dd if=data of=$to bs=1000 seek=17 skip=3 count=500 conv=notrunc status=none
	done
	cmp expected "$ROOT/out"
	forwarded dd if=data of="$ROOT/direct" bs=64k oflag=direct status=none
	cmp data "$ROOT/direct"
	wrote $((3000017 * 4 + 500000))
	read_through $((3000017 * 4))
	node_stop
}

@test "cat, tee, head, tail, sort and a shell that reads lines" {
	seq 20000 | sort -R >lines
	forwarded sh -c "cat >'$ROOT/lines'" <lines
	cmp lines "$ROOT/lines"
	forwarded tee "$ROOT/copy" <lines >/dev/null
	cmp lines "$ROOT/copy"
	[ "$(forwarded tail -n 1 "$ROOT/lines")" = "$(tail -n 1 lines)" ]
	[ "$(forwarded head -c 100000 "$ROOT/lines" | cksum)" = "$(head -c 100000 lines | cksum)" ]
	forwarded sort -n -o "$ROOT/lines" "$ROOT/lines"
	seq 20000 | cmp - "$ROOT/lines"
	sum=$(forwarded bash -c 'n=0; while read -r x; do n=$((n + x)); done; echo $n' <"$ROOT/lines")
	[ "$sum" -eq 200010000 ]
	forwarded bash -c "exec 5<>'$ROOT/lines'; read -r a <&5; read -r b <&5; echo x >&5; echo \$a\$b"
	[ "$(sed -n 3p "$ROOT/lines")" = x ]
	wrote 320000
	read_through 300000
	node_stop
}

@test "cp, mv, and tar with sparse files" {
	mkdir tree
	cp data tree/a
	truncate -s 50M tree/sparse
	printf end >>tree/sparse
	ln tree/a tree/b
	forwarded cp -r tree "$ROOT/tree"
	diff -r tree "$ROOT/tree"
	forwarded tar -C "$ROOT" -cSf "$ROOT/tree.tar" tree
	mkdir "$ROOT/out"
	forwarded tar -C "$ROOT/out" -xf "$ROOT/tree.tar"
	diff -r tree "$ROOT/out/tree"
	[ "$(stat -c %b "$ROOT/out/tree/sparse")" -lt 1000 ]
	forwarded mv "$ROOT/tree/a" "$BATS_TEST_TMPDIR/moved"
	cmp data moved
	wrote $((4 * 3000017))
	node_stop
}

@test "python: os, files, buffers, append, mmap, subprocess" {
	cat >program.py <<'END'
import mmap, os, shutil, subprocess, sys
data = open(sys.argv[1], 'rb').read()
os.chdir(sys.argv[2])
with open('a', 'wb') as f:
    f.write(data)
    f.seek(1000)
    f.write(b'python')
fd = os.open('b', os.O_RDWR | os.O_CREAT)
assert os.write(fd, data) == len(data)
assert os.pwrite(fd, b'x' * 10, 5) == 10
assert os.lseek(fd, 0, os.SEEK_CUR) == len(data)
assert os.pread(fd, 12, 4)[1:11] == b'x' * 10
assert os.writev(fd, [b'1', b'22', b'333']) == 6
os.lseek(fd, 0, os.SEEK_SET)
assert len(os.read(fd, 1 << 23)) == len(data) + 6
child = os.fork()
if child == 0:
    os.lseek(fd, 0, os.SEEK_END)
    os.write(fd, b'child')
    os._exit(0)
os.waitpid(child, 0)
os.write(fd, b'parent')
os.close(fd)
with open('a', 'rb') as f:
    b = bytearray(len(data) + 100)
    assert f.readinto(b) == len(data)
    assert b[1000:1006] == b'python'
for i in range(100):
    with open('c', 'a') as f:
        print('line', i, file=f)
with open('c') as f:
    assert len(f.readlines()) == 100
with open('a', 'r+b') as f, mmap.mmap(f.fileno(), 0) as m:
    m[0:4] = b'mmap'
    f.seek(0)
    assert f.read(4) == b'mmap'
    f.seek(2)
    f.write(b'!!')
    f.flush()
    assert m[0:4] == b'mm!!'
shutil.copyfile('a', 'e') # sendfile
with open('a', 'rb') as a, open('f', 'w+b') as f:
    assert os.sendfile(f.fileno(), a.fileno(), 1000, 500000) == 500000
    assert a.tell() == 0 and f.tell() == 500000
    n = 0
    while n < len(data):
        n += os.copy_file_range(a.fileno(), f.fileno(), len(data))
    assert os.copy_file_range(a.fileno(), f.fileno(), 1) == 0
    assert os.copy_file_range(a.fileno(), f.fileno(), 100, 50, 7) == 100
    assert os.lseek(f.fileno(), 0, os.SEEK_CUR) == 500000 + len(data)
    for out in a.fileno(), 99, f.fileno(): # read only, not open, overlapping
        try:
            os.copy_file_range(a.fileno() if out == 99 else f.fileno(), out, 9, 0, 4)
            print('no error')
        except OSError as e:
            print(e.errno)
with open('d', 'wb') as f:
    subprocess.run(['echo', 'by a child'], stdout=f, check=True)
    f.write(b'by the parent')
END
	python3 program.py "$PWD/data" direct >direct.out
	forwarded python3 program.py "$PWD/data" "$ROOT" >forwarded.out
	diff direct.out forwarded.out
	diff -r direct "$ROOT"
	wrote 12000000
	read_through 12000000
	node_stop
}

@test "C++ streams" {
	c++ -std=c++17 -O2 -o fstream "$SOURCE_DIR/tests/e2e/programs/fstream.cc"
	./fstream direct/file >direct.out
	forwarded ./fstream "$ROOT/file" >forwarded.out
	diff direct.out forwarded.out
	cmp direct/file "$ROOT/file"
	wrote "$(stat -c %s direct/file)"
	node_stop
}

@test "Fortran: sequential, direct and stream access, formatted" {
	gfortran -O2 -o unformatted "$SOURCE_DIR/tests/e2e/programs/unformatted.f90"
	(cd direct && ../unformatted >../direct.out)
	cd "$ROOT"
	forwarded ../unformatted >../forwarded.out
	cd ..
	diff direct.out forwarded.out
	diff -r direct "$ROOT"
	wrote 1600000
	node_stop
}

@test "sqlite3, with two writers at a time" {
	forwarded sqlite3 "$ROOT/db" 'create table t(k integer primary key, v text)'
	for k in 0 1; do
		forwarded sqlite3 "$ROOT/db" <<END &
.timeout 60000
begin immediate;
with recursive c(x) as (select 0 union all select x + 1 from c where x < 4999)
	insert into t select x * 2 + $k, hex(randomblob(50)) from c;
commit;
END
		pids+=" $!"
	done
	wait $pids
	[ "$(forwarded sqlite3 "$ROOT/db" 'pragma integrity_check; select count(*), sum(k) from t')" = \
		"ok
10000|49995000" ]
	[ "$(sqlite3 "$ROOT/db" 'pragma integrity_check')" = ok ]
	forwarded sqlite3 "$ROOT/db" 'pragma journal_mode=wal; update t set v = upper(v); vacuum' >/dev/null
	[ "$(sqlite3 "$ROOT/db" 'select count(*) from t')" = 10000 ]
	wrote 1000000
	node_stop
}

@test "git: clone, commit, gc, fsck" {
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
		GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	git init -q -b main origin
	cp data origin/
	for i in 1 2 3 4 5; do
		seq "$i"000 >"origin/file$i"
		git -C origin add . && git -C origin commit -q -m "$i"
	done
	forwarded git clone -q --no-local "$PWD/origin" "$ROOT/clone"
	forwarded sh -c "cd '$ROOT/clone' && seq 9999 >file9 && git add . && git commit -q -m 6 &&
		git gc -q && git fsck --strict"
	git -C "$ROOT/clone" fsck --strict
	git -C "$ROOT/clone" rm -q --cached file9 && rm "$ROOT/clone/file9"
	diff -r -x .git origin "$ROOT/clone"
	wrote 3000000
	node_stop
}

@test "fio verifies what it wrote, random and mixed, eight jobs, two engines" {
	for engine in psync pvsync2; do
		JOB=$engine forwarded fio --name=v --directory="$ROOT" --ioengine=$engine --rw=randrw --bs=4k \
			--bssplit=4k/50:64k/40:300k/10 --size=4M --numjobs=8 --verify=crc32c --do_verify=1 \
			--verify_fatal=1 --randrepeat=1 --fallocate=none --group_reporting --output=fio.log
		! grep -q 'err=[^ ]*[1-9]' fio.log || { cat fio.log; false; }
		JOB=$engine wrote 8000000
		JOB=$engine read_through 8000000
		rm -f "$ROOT"/v.*
	done
	node_stop
}

@test "C streams: modes, buffers, wide characters, freopen, children" {
	$CC -std=c17 -D_GNU_SOURCE -w -O2 -o streams "$SOURCE_DIR/tests/e2e/programs/streams.c"
	./streams direct >direct.out
	forwarded ./streams "$ROOT" >forwarded.out
	diff direct.out forwarded.out
	diff -r direct "$ROOT"
	wrote 760000
	read_through 150000
	node_stop
}

@test "C streams see the errors of the kernel" {
	cat >full.c <<'END'
#include <errno.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	FILE *f = fopen(argv[argc - 1], "r+");
	static char block[100000];
	size_t n;

	setvbuf(f, NULL, _IOFBF, 4096);
	while ((n = fwrite(block, 1, sizeof(block), f)) == sizeof(block))
		;
	printf("%d %d", n < sizeof(block), errno == EFBIG);
	printf(" %d", ferror(f) != 0);
	clearerr(f);
	rewind(f);
	printf(" %zu %d\n", fread(block, 1, 10, f), ferror(f));
	return fclose(f) != 0;
}
END
	$CC -w -o full full.c
	: >"$ROOT/file"
	forwarded bash -c "trap '' XFSZ; ulimit -f 1000; ./full '$ROOT/file'" >out
	[ "$(cat out)" = "1 1 1 10 0" ]
	node_stop
}

@test "a static program is left alone" {
	echo 'int write(int, const char *, unsigned long);
		int main(void) { return write(1, "static\n", 7) != 7; }' >static.c
	$CC -static -o static static.c
	forwarded ./static >"$ROOT/file"
	[ "$(cat "$ROOT/file")" = static ]
	[ "$(moved write)" -eq 0 ]
	node_stop
}

@test "files elsewhere are left alone, and names that only begin like the root" {
	mkdir "$ROOT-not"
	forwarded dd if=data of="$ROOT-not/out" bs=1M status=none
	forwarded dd if=data of=out bs=1M status=none
	cmp data out
	cmp data "$ROOT-not/out"
	"$ASK" "$SOCKET" status | jq -e '.jobs == []'
	ln -s "$ROOT" link
	forwarded dd if=data of=link/out bs=1M status=none
	[ "$(moved write)" -eq 3000017 ]
	node_stop
}

@test "a dynamic program of musl starts, is scheduled, and so is the glibc program it becomes" {
	musl-gcc -O2 -o musl "$SOURCE_DIR/tests/e2e/programs/musl.c"
	grep -q /lib/ld-musl musl # dynamic
	run -0 --separate-stderr forwarded ./musl "$ROOT" cp data "$ROOT/copy"
	[ "$output$stderr" = "" ]
	for name in a b c d; do
		head -c 1000000 /dev/zero | tr '\0' $name | cmp - "$ROOT/$name"
	done
	[ "$(cat "$ROOT/line")" = "a line" ]
	cmp data "$ROOT/copy"
	wrote $((4 * 1000000 + 3000017))
	read_through 4000000
	node_stop
}
