#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run one libFuzzer target for SL_FUZZ_S seconds (default 5), as one TAP case.
# usage: run.sh TARGET SEEDS
set -u
target=$1 seeds=$2
name=$(basename "$target")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

mkdir "$work/corpus"
[ -d "$seeds" ] || seeds=
echo 1..1
# The input that broke it is kept beside the target.
if "$target" -max_total_time="${SL_FUZZ_S:-5}" -timeout=30 -rss_limit_mb=1024 \
	-print_final_stats=1 -artifact_prefix="$target-" "$work/corpus" ${seeds:+"$seeds"} \
	>"$work/log" 2>&1; then
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
	if [ "${runs:-0}" -gt 0 ]; then
		echo "ok 1 - $name survives $runs inputs"
		exit 0
	fi
fi
echo "not ok 1 - $name survives"
tail -n 60 "$work/log" | sed 's/^/# /'
exit 1
