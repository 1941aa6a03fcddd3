#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The preloaded library loads on systems as old as RHEL 8: no symbol of a glibc newer than 2.28, no library but
# libc and those that were parts of it then, and nothing of io_uring. base/oldlibc.h says how that is kept.
# Then the same checks must fail on a library that breaks the rules.
#
# usage: oldlibc.sh LIBRARY
set -u
library=$1 newest=2.28
: "${CC:=cc}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/ok.sh"

newer() { # library; prints the versions of glibc that it needs and that are newer
	# The loader goes by .gnu.version_r, which has versions of weak symbols, too.
	readelf -VW "$1" | sed -n 's/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' | sort -u |
		while read -r version; do
			[ "$(printf '%s\n' "$version" "$newest" | sort -V | tail -n 1)" = "$newest" ] ||
				readelf --dyn-syms -W "$1" | grep -F "@GLIBC_$version " || echo "$version"
		done
	readelf -VW "$1" | grep -F GLIBC_ABI
}

needed() { # library; prints what else it needs
	readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -Ev '^(libc|libdl|libpthread)\.so\.[0-9]+$'
}

uring() { # library; prints symbols of io_uring
	readelf --dyn-syms -W "$1" | grep -F io_uring
}

bad() { # name, libraries; the source comes on standard input
	name=$1
	shift
	# shellcheck disable=SC2086 # CC may hold options
	$CC -shared -fPIC -Wl,--no-as-needed -o "$work/$name.so" -x c - "$@" || echo "# $name does not compile"
}

found() { # turn the answer round: something must have been found
	[ -n "$2" ] || echo "$1 was not noticed"
}

echo 1..7
ok 'the library names versions of glibc' \
	"$(readelf -VW "$library" | grep -q 'Name: GLIBC_2' || echo 'it names none')"
ok "it needs no glibc newer than $newest" "$(newer "$library")"
ok 'it needs no library but libc' "$(needed "$library")"
ok 'it has nothing of io_uring' "$(uring "$library")"

# On a machine of that age there is no newer symbol to break the rule with.
bad weak <<'C'
extern char __libc_single_threaded __attribute__((weak));
int alone(void);
int alone(void) { return &__libc_single_threaded && __libc_single_threaded; }
C
if nm -D "$work/weak.so" | grep -q 'single_threaded@'; then
	ok 'a newer symbol is noticed, also a weak one' "$(found weak "$(newer "$work/weak.so")")"
else
	ok 'there is no newer symbol here to notice' ''
fi
echo 'int nothing;' | bad other -lm
ok 'another library is noticed' "$(found libm "$(needed "$work/other.so")")"
bad ring <<'C'
int io_uring_setup(unsigned entries, void *p);
int ring(void);
int ring(void) { return io_uring_setup(1, 0); }
C
ok 'io_uring is noticed' "$(found io_uring "$(uring "$work/ring.so")")"
exit $status
