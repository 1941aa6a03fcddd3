#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a grant costs a job that nobody contends with: instructions of the scheduler for a request,
# with a grant and without, as callgrind counts them. The same on every run, however busy the
# machine is; on a quiet one, 'scripts/bench/live-overhead.sh 25 /tmp grant' says the same in time.
#
#	scripts/bench/grant-cost.sh
#
# Build first (`make build`). Some ten seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${BUILD:-build} work=$(mktemp -d /tmp/sluice-grant-XXXXXX)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c17 -O2 -Iinclude -o "$work/cost" scripts/bench/grant-cost.c "$build/sched/libsluice.a" -pthread -ldl -lm

count() { # granted, requests
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$work/cost" "$1" "$2" 2>&1 |
		awk '/Collected/ { print $NF }'
}

each() { # granted: for one request, without what is done once
	echo $((($(count "$1" 110000) - $(count "$1" 10000)) / 1000))
}

awk -v a="$(each 0)" -v b="$(each 1)" 'BEGIN {
	printf "{\"bench\":\"grant-cost\",\"instructions\":%.1f,\"granted\":%.1f,\"more\":%.4f}\n",
		a / 100, b / 100, b / a - 1
}'
