#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Policies and their data structures are pure: they call nothing outside themselves but a few
# functions on memory and strings (so no clock, allocation, I/O, lock, log), and keep no
# writable static data (so any number of instances run side by side). Both can be read from the
# object files:
#
# - every undefined symbol must be defined in the given archives or be in the list below;
# - no section may be writable and non-empty, but .data.rel.ro: constant tables of pointers,
#   which the loader fills in and then protects. (nm shows those as `d` like any other data,
#   hence readelf.) That also finds thread-local data and constructors.
#
# And layer/ prints nothing: a command, a screen and a server use it.
#
# Then the same checks must fail on objects that break the rules.
#
# usage: purity.sh DS_ARCHIVE POLICY_ARCHIVE LAYER_ARCHIVE
set -u
ds=$1 policy=$2 layer=$3
: "${CC:=cc}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# __assert_fail: for bugs only, and then the program ends. *_chk: the same functions when the
# compiler checks bounds. _GLOBAL_OFFSET_TABLE_: position-independent code.
allowed='^(mem(set|cpy|move|cmp)|str(n?cmp|len)|__(mem(set|cpy|move))_chk'
allowed="$allowed|__stack_chk_fail|__assert_fail|_GLOBAL_OFFSET_TABLE_)\$"

foreign_calls() { # files; prints what they may not call
	nm --defined-only "$@" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$work/defined"
	nm --undefined-only "$@" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u |
		comm -23 - "$work/defined" | grep -Ev "$allowed"
}

writable_data() { # files; prints the sections and common symbols that they may not have
	readelf -SW "$@" | awk '
		/^File:/ { file = $2 }
		sub(/^ *\[ *[0-9]+\] /, "") && $5 !~ /^0+$/ && $7 ~ /W/ && $1 !~ /^\.data\.rel\.ro/ {
			print file, $1, "0x" $5, "bytes"
		}'
	nm "$@" 2>/dev/null | awk '$2 == "C" { print "common", $3 }'
}

prints() { # files; prints the functions and streams of output that they use
	nm --undefined-only "$@" 2>/dev/null |
		awk '$2 ~ /^(_*v?printf(_chk)?|puts|putchar|perror|stdout|stderr|cli_.*)$/ { print $2 }' | sort -u
}

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/ok.sh"

compile() { # name of the file; the source comes on standard input
	# shellcheck disable=SC2086 # CC may hold options
	$CC -O2 -fPIC -c -x c -o "$work/$1.o" - || echo "# $1.c does not compile"
}

found() { # turn the answer round: something must have been found
	[ -n "$2" ] || echo "$1 was not noticed"
}

echo 1..14
count=$(nm --defined-only "$ds" "$policy" 2>/dev/null | grep -c ' T sl_')
ok 'the archives hold functions to look at' "$([ "$count" -ge 10 ] || echo "only $count")"
ok 'base/ds calls nothing but functions on memory' "$(foreign_calls "$ds")"
ok 'base/ds has no writable static data' "$(writable_data "$ds")"
ok 'policy calls nothing but base/ds and functions on memory' "$(foreign_calls "$ds" "$policy")"
ok 'policy has no writable static data' "$(writable_data "$policy")"

ok 'layer prints nothing' "$(prints "$layer")"

compile counter <<'C'
int next(void);
int next(void) { static int counter; return ++counter; }
C
ok 'a static counter is noticed' "$(found counter "$(writable_data "$work/counter.o")")"
compile set <<'C'
int limit = 7;
C
ok 'initialised writable data is noticed' "$(found limit "$(writable_data "$work/set.o")")"
compile local <<'C'
int get(void);
static _Thread_local int last;
int get(void) { return last++; }
C
ok 'thread-local data is noticed' "$(found last "$(writable_data "$work/local.o")")"
compile start <<'C'
__attribute__((constructor)) static void start(void) { __asm__ volatile(""); }
C
ok 'a constructor is noticed' "$(found start "$(writable_data "$work/start.o")")"
compile clock <<'C'
#include <time.h>
long now(void);
long now(void) { return time(0); }
C
ok 'a clock is noticed' "$(found time "$(foreign_calls "$work/clock.o")")"
compile print <<'C'
#include <stdio.h>
#include <stdlib.h>
void *take(void);
void *take(void) { puts("taking"); return malloc(10); }
C
ok 'allocation and output are noticed' "$(
	[ "$(foreign_calls "$work/print.o" | tr '\n' ' ')" = 'malloc puts ' ] || echo 'they were not'
)"
ok 'printing is noticed' "$(found puts "$(prints "$work/print.o")")"
compile table <<'C'
#include <string.h>
static int one(const char *s) { return (int)strlen(s); }
extern int (*const table[])(const char *);
int (*const table[])(const char *) = { one };
C
ok 'a constant table of pointers is allowed' \
	"$(writable_data "$work/table.o")$(foreign_calls "$work/table.o")"
exit $status
