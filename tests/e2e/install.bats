# SPDX-License-Identifier: Apache-2.0
# What a build needs, what `make install` puts where, and that a stranger can build against it.
bats_require_minimum_version 1.5.0

setup_file() {
	export ROOT="$BATS_FILE_TMPDIR/root"
	DESTDIR="$ROOT" meson install -C "$BUILD_DIR" --no-rebuild --quiet
	PREFIX=$(jq -r '.[] | select(.name == "prefix") | .value' \
		"$BUILD_DIR/meson-info/intro-buildoptions.json")
	PKG_CONFIG_PATH=$(dirname "$(find "$ROOT" -name sluice.pc)")
	export PREFIX PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR="$ROOT"
}

library_dir() {
	dirname "$(find "$ROOT" -name libsluice.so)"
}

@test "program, both libraries, header, pkg-config file and manual are installed" {
	[ -x "$ROOT$PREFIX/bin/sluice" ]
	[ -f "$ROOT$PREFIX/include/sluice.h" ]
	[ -n "$(find "$ROOT" -name libsluice.so.0)" ]
	[ -n "$(find "$ROOT" -name libsluice.a)" ]
	[ -n "$(find "$ROOT" -name sluice.pc)" ]
	[ -n "$(find "$ROOT" -name sluice.1)" ]
	[ -n "$(find "$ROOT" -name libsluice.3)" ]
	[ -x "$ROOT$PREFIX/bin/sluice-httpd" ]
	[ -x "$ROOT$PREFIX/libexec/sluice-tools" ]
	# A job starts many programs by it: no library but libc, that for JSON, and the loader that every program has.
	[ "$(objdump -p "$ROOT$PREFIX/bin/sluice" | awk '/NEEDED/ && !/libc\.so|ld-linux|libcjson|san\.so/' | wc -l)" = 0 ]
	[ -f "$ROOT$PREFIX/share/sluice/grafana/sluice.json" ]
	[ -f "$ROOT$PREFIX/share/sluice/prometheus/sluice-rules.yaml" ]
	[ -n "$(find "$ROOT" -path '*/bash-completion/completions/sluice')" ]
	[ -n "$(find "$ROOT" -path '*/zsh/site-functions/_sluice')" ]
}

@test "the installed program finds its daemon and its library, wherever it was put" {
	mkdir "$BATS_TEST_TMPDIR/dir"
	SLUICE_RUNTIME=$(mktemp -d /tmp/sluice-e2e-XXXXXX)
	export SLUICE_RUNTIME
	unset SLUICED SLUICE_PRELOAD
	"$ROOT$PREFIX/bin/sluice" up "$BATS_TEST_TMPDIR/dir"
	run "$ROOT$PREFIX/bin/sluice" run -- sh -c 'echo "$LD_PRELOAD"; echo x >"$0"/f' \
		"$BATS_TEST_TMPDIR/dir"
	"$ROOT$PREFIX/bin/sluice" down
	rm "$SLUICE_RUNTIME"/.usage-default # the account stays, and nothing else
	rmdir "$SLUICE_RUNTIME"
	[ "$status" -eq 0 ]
	[[ "$output" == "$(realpath "$ROOT")$PREFIX"/*/libsluice_preload.so ]]
	[ "$(cat "$BATS_TEST_TMPDIR/dir/f")" = x ]
}

@test "nothing of the tests or of the inside is installed" {
	run find "$ROOT" ! -type d \( -name 'test-*' -o -name '*.bats' -o -name 'libpolicy*' \
		-o -name 'libds*' -o -name '*.h' ! -name sluice.h \)
	[ "$output" = "" ]
}

@test "the soname is libsluice.so.0" {
	run readelf -d "$(library_dir)/libsluice.so"
	[[ "$output" == *"soname: [libsluice.so.0]"* ]]
}

@test "the example server builds with pkg-config against the shared library and runs" {
	cd "$BATS_TEST_TMPDIR"
	$CC -o server "$SOURCE_DIR/examples/example-server.c" -D_GNU_SOURCE \
		$(pkg-config --cflags --libs sluice)
	LD_LIBRARY_PATH=$(library_dir) ./server </dev/null
	run readelf -d ./server
	[[ "$output" == *"libsluice.so.0"* ]]
}

@test "the example server builds with pkg-config against the static library and runs" {
	cd "$BATS_TEST_TMPDIR"
	$CC -static -o server "$SOURCE_DIR/examples/example-server.c" \
		-D_GNU_SOURCE $(pkg-config --static --cflags --libs sluice)
	./server </dev/null
}

@test "a program that declares its phases builds against either library, and runs with and without a layer" {
	cd "$BATS_TEST_TMPDIR"
	cat >phase.c <<-'END'
		#include <errno.h>
		#include <stdlib.h>
		#include <sluice.h>
		int main(void)
		{
			int expected = getenv("SLUICE_SOCKET") ? 0 : -ENOTCONN;
			return sl_phase_begin() != expected || sl_phase_end() != expected;
		}
	END
	$CC -o shared phase.c $(pkg-config --cflags --libs sluice)
	$CC -o archive phase.c $(pkg-config --cflags sluice) "$(find "$ROOT" -name libsluice.a)" -pthread
	export LD_LIBRARY_PATH
	LD_LIBRARY_PATH=$(library_dir)
	mkdir dir
	SLUICE_RUNTIME=$(mktemp -d /tmp/sluice-e2e-XXXXXX)
	export SLUICE_RUNTIME
	"$ROOT$PREFIX/bin/sluice" up "$PWD/dir"
	failed=
	for program in shared archive; do
		./$program || failed=$program
		"$ROOT$PREFIX/bin/sluice" run -- ./$program || failed="$program under run"
	done
	"$ROOT$PREFIX/bin/sluice" down
	rmdir "$SLUICE_RUNTIME"
	[ "$failed" = "" ]
}

@test "the installed program says its version" {
	run "$ROOT$PREFIX/bin/sluice" --version
	[ "$status" -eq 0 ]
	[[ "$output" == *"$(pkg-config --modversion sluice)"* ]]
}

# A machine without dpkg, on which there are only these programs.
only_with() { # programs
	local name
	rm -rf "$BATS_TEST_TMPDIR/bin"
	mkdir "$BATS_TEST_TMPDIR/bin"
	for name in "$@"; do
		ln -s "$(command -v "$name")" "$BATS_TEST_TMPDIR/bin/$name"
	done
	PATH=$BATS_TEST_TMPDIR/bin
}

@test "without dpkg a build needs a compiler, meson, ninja, pkg-config and the libraries" {
	unset CC
	tools=(sh env dirname sed python3 cc gcc as ld ar meson ninja)
	run -0 --separate-stderr bash -c "$(declare -f only_with); only_with \"\$@\" pkg-config
		'$SOURCE_DIR/scripts/deps' build" - "${tools[@]}"
	[ "$output" = "" ]
	run -1 --separate-stderr bash -c "$(declare -f only_with); only_with \"\${@:1:11}\" pkg-config
		'$SOURCE_DIR/scripts/deps' build" - "${tools[@]}"
	[ "$stderr" = "make deps: this is not Debian; please install: ninja" ]
	# a library that is not there
	run -1 --separate-stderr env PKG_CONFIG_LIBDIR=/none bash -c "$(declare -f only_with)
		only_with \"\$@\" pkg-config; '$SOURCE_DIR/scripts/deps' build" - "${tools[@]}"
	[[ "$stderr" == *"please install: yaml-0.1 (library) libcjson (library) "* ]]
	[[ "$stderr" != *cmocka* ]]
	# for testing it asks for more
	run -1 --separate-stderr bash -c "$(declare -f only_with); only_with \"\$@\" pkg-config
		'$SOURCE_DIR/scripts/deps'" - "${tools[@]}"
	[[ "$stderr" == *" bats "*" clang-tidy "*chromium* ]]
}

@test "without bats and scdoc it is configured without tests and manual pages" {
	unset CC PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
	run -0 bash -c "$(declare -f only_with)
		only_with sh env cc gcc as ld ar meson ninja pkg-config python3 uname
		meson setup '$BATS_TEST_TMPDIR/build' '$SOURCE_DIR'"
	[ -f "$BATS_TEST_TMPDIR/build/build.ninja" ]
	run ! grep -E 'test-sched|sluice\.1' "$BATS_TEST_TMPDIR/build/build.ninja"
	grep -q libsluice_preload.so "$BATS_TEST_TMPDIR/build/build.ninja"
}
