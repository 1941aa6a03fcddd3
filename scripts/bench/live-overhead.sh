#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the policies cost on the way through a node, and what the dispatch window costs:
#
#	scripts/bench/live-overhead.sh [PAIRS] [DISK-DIRECTORY] [ROWS]
#
# Two nodes run at once, on two directories of one file system, and take turns; the order within a
# pair changes from pair to pair. Printed is JSON: for each row the median of the ratio of a pair
# and its 95 % interval (order statistics, no assumption on the distribution).
#
#	qos      policies that could limit, share and merge, with no limits set, against
#	         admit=open share=fifo order=to; in memory
#	grant    a job alone at a node of known capacity whose controller has the policy
#	         grant=min-dilation, against grant=none; in memory
#	window   a job alone with O_DIRECT: the window that the node finds by itself, against
#	         --window 64, more than is ever outstanding; on a disk
#
# ROWS: some of these, by commas; default: all. Build first (`make build`). About 4 seconds for each pair.
set -euo pipefail
cd "$(dirname "$0")/../.."

pairs=${1:-20} disk=${2:-/var/tmp} rows=,${3:-qos,grant,window}, build=${BUILD:-build} seconds=${SECONDS_EACH:-0.5}
work=$(mktemp -d /tmp/sluice-overhead-XXXXXX)
memory=$(mktemp -d /dev/shm/sluice-overhead-XXXXXX)
disk=$(mktemp -d "$disk/sluice-overhead-XXXXXX")
nodes=()

cleanup() {
	for pid in "${nodes[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work" "$memory" "$disk"
}
trap cleanup EXIT

cc -std=c17 -D_GNU_SOURCE -O2 -pthread -o "$work/load" tests/e2e/programs/live-load.c

node() { # name, directory, options
	local name=$1 dir=$2
	shift 2
	mkdir -p "$dir/$name"
	mkfifo "$work/ready"
	"$build/sluiced/sluiced" ionode --root "$dir/$name" --socket "$work/$name" --log warn \
		--ready-fd 9 "$@" 9>"$work/ready" &
	nodes+=($!)
	read -r -N 1 <"$work/ready"
	rm "$work/ready"
	declare -g "root_$name=$dir/$name"
}

moved() { # node, options of the load
	local name=$1 root=root_$1
	shift
	env LD_PRELOAD="$build/client/libsluice_preload.so" SLUICE_ROOT="${!root}" \
		SLUICE_SOCKET="$work/$name" SLUICE_JOB_ID="$name" \
		"$work/load" -T "$seconds" "$@" "${!root}/f"
}

row() { # what, node a, node b, options of the load
	local what=$1 a=$2 b=$3 i
	shift 3
	moved "$a" "$@" >/dev/null # files exist, pages are there
	moved "$b" "$@" >/dev/null
	for ((i = 0; i < pairs; i++)); do
		if ((i % 2)); then
			y=$(moved "$b" "$@") x=$(moved "$a" "$@")
		else
			x=$(moved "$a" "$@") y=$(moved "$b" "$@")
		fi
		echo "$x $y"
	done | awk -v what="$what" -v load="$*" -v s="$seconds" '
		function sort(v, n,   i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j] < v[j - 1]; j--) {
					t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
				}
		}
		{ r[NR] = $1 / $2; a[NR] = $1; b[NR] = $2 }
		END {
			sort(r, NR); sort(a, NR); sort(b, NR)
			m = int((NR + 1) / 2)
			lo = int((NR - 1.96 * sqrt(NR)) / 2); if (lo < 1) lo = 1
			hi = NR + 1 - lo
			mid = NR % 2 ? r[m] : (r[m] + r[m + 1]) / 2
			printf "{\"bench\":\"overhead\",\"what\":\"%s\",\"load\":\"%s\",\"pairs\":%d,", what, load, NR
			printf "\"mib_s\":%.0f,\"against_mib_s\":%.0f,", a[m] / s / 1048576, b[m] / s / 1048576
			printf "\"ratio\":%.4f,\"low\":%.4f,\"high\":%.4f}\n", mid, r[lo], r[hi]
		}'
}

controller() { # name, grant policy
	mkfifo "$work/ready"
	"$build/sluiced/sluiced" controller --socket "$work/c-$1" --grant "$2" --log warn --ready-fd 9 9>"$work/ready" &
	nodes+=($!)
	read -r -N 1 <"$work/ready"
	rm "$work/ready"
	node "$1" "$memory" --capacity 100G --controller "$work/c-$1"
}

if [[ $rows == *,qos,* ]]; then
	node on "$memory"
	node off "$memory" --admit open --share fifo --order to
	row qos on off -t 1 -s 1048576
	row qos on off -t 4 -s 131072
	row qos on off -t 1 -s 4096
	row qos on off -t 8 -s 4096
fi
if [[ $rows == *,grant,* ]]; then
	controller granted min-dilation
	controller free none
	row grant granted free -t 1 -s 1048576
	row grant granted free -t 4 -s 131072
	row grant granted free -t 4 -s 4096
fi
if [[ $rows == *,window,* ]]; then
	node adaptive "$disk"
	node fixed "$disk" --window 64
	row window adaptive fixed -d -t 16 -s 131072
	row window adaptive fixed -d -t 4 -s 1048576
	row window adaptive fixed -d -t 16 -s 4096
fi
