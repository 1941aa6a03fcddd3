#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# libsluice.so shows exactly the functions of sluice.h, all with a version; header and build
# agree on the version; the header can be included alone, in plain C99.
#
# usage: exports.sh LIBRARY HEADER VERSION
set -u
library=$1 header=$2 version=$3
: "${CC:=cc}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/ok.sh"

# shellcheck disable=SC2086 # CC may hold options
$CC -E -P -x c "$header" | tr '\n' ' ' | grep -o '\bsl_[a-z0-9_]* *(' | tr -d ' (' |
	sort -u >"$work/declared"
nm -D --defined-only --with-symbol-versions "$library" | awk '$2 == "T" { print $3 }' |
	sort -u >"$work/shown"
sed 's/@.*//' "$work/shown" | sort -u >"$work/names"

echo 1..5
ok 'every function of the header is exported' "$(comm -23 "$work/declared" "$work/names")"
ok 'nothing else is exported' "$(comm -13 "$work/declared" "$work/names")"
ok 'every exported function has a version' "$(grep -v '@@SLUICE_[0-9]' "$work/shown")"
ok "the header says version $version" \
	"$(grep -qx "#define SL_VERSION \"$version\"" "$header" || grep SL_VERSION "$header")"
# shellcheck disable=SC2086
ok 'the header stands alone' "$(echo '#include "sluice.h"' |
	$CC -std=c99 -pedantic -Wall -Wextra -Werror -I"$(dirname "$header")" -fsyntax-only -x c - 2>&1)"
exit $status
