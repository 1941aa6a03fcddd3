#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# scripts/test-summary is the judge of all other tests: what it must not overlook.
#
# usage: summary.sh TEST_SUMMARY
set -u
summary=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

n=0 status=0
gives() { # name, last line, exit status, arguments ...
	title=$1 line=$2 code=$3
	shift 3
	n=$((n + 1))
	"$summary" "$@" >out 2>&1
	got=$?
	if [ $got = "$code" ] && [ "$(tail -n 1 out)" = "$line" ]; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		echo "# wanted: $line, exit $code; got exit $got and"
		sed 's/^/# /' out
		status=1
	fi
}

build() { # name; records of its log come on standard input
	mkdir -p "$1/meson-info" "$1/meson-logs"
	echo '[{"name": "a", "suite": ["sluice:unit"]}]' >"$1/meson-info/intro-tests.json"
	cat >"$1/meson-logs/testlog.json"
}

printf '1..2\nok 1 - x\nok 2 - y\n' >good.tap
printf '1..2\nok 1 - x\nnot ok 2 - y\n' >bad.tap
printf '1..3\nok 1 - x\nok 2 - y\n' >short.tap
printf 'ok 1 - x\n' >noplan.tap
printf '1..2\nok 1 - x\nok 2 - y # SKIP no disk\n' >skip.tap
printf '1..0 # SKIP no disk\n' >all.tap
echo 'skip: y: no disk$' >allowed
build crashed <<'J'
{"name": "a", "stdout": "1..2\nok 1 - x\n", "result": "ERROR", "returncode": -11, "duration": 1}
J
build died <<'J'
{"name": "a", "stdout": "1..1\nok 1 - x\n", "result": "FAIL", "returncode": 1, "duration": 1}
J
build late <<'J'
{"name": "a", "stdout": "1..1\n", "result": "TIMEOUT", "returncode": -9, "duration": 1}
J
build fine <<'J'
{"name": "a", "stdout": "1..1\nok 1 - x\n", "result": "OK", "returncode": 0, "duration": 1}
{"name": "b", "stdout": "1..1\nok 1 - x\n", "result": "OK", "returncode": 0, "duration": 1}
J
build silent </dev/null
build parts </dev/null
rm parts/meson-logs/testlog.json
cp died/meson-logs/testlog.json parts/meson-logs/testlog-e2e.json
cp fine/meson-logs/testlog.json parts/meson-logs/testlog-unit.json
build again </dev/null
cp parts/meson-logs/testlog-e2e.json again/meson-logs/
build twice </dev/null
cp parts/meson-logs/testlog-e2e.json twice/meson-logs/
cp parts/meson-logs/testlog-e2e.json twice/meson-logs/testlog-repeated.json
head -n 1 fine/meson-logs/testlog.json >again/meson-logs/testlog-repeated.json
mkdir nothing

echo 1..19
gives 'cases are counted one by one' '2 passed, 0 failed' 0 good.tap
gives 'several sources are added up' '6 passed, 0 failed' 0 good.tap good.tap fine
gives 'all runs in a build directory count' '3 passed, 1 failed' 1 parts
gives 'a failed case fails' '1 passed, 1 failed' 1 bad.tap
gives 'a case that was planned and did not come is a failure' '2 passed, 1 failed' 1 short.tap
gives 'a test without a plan fails' '1 passed, 1 failed' 1 noplan.tap
gives 'a skip fails' '1 passed, 1 failed' 1 skip.tap
gives 'a skip that is allowed is only counted' '1 passed, 0 failed, 1 skipped' 0 \
	--allowed allowed skip.tap
gives 'a whole test that is skipped fails' '0 passed, 1 failed' 1 --allowed allowed all.tap
gives 'a crash fails' '1 passed, 1 failed' 1 crashed
gives 'a bad exit status after good cases fails' '1 passed, 1 failed' 1 died
gives 'running out of time fails' '0 passed, 1 failed' 1 late
gives 'no results at all fail' '0 passed, 1 failed' 1 nothing
gives 'a run of no tests fails' '0 passed, 0 failed' 1 silent
gives 'a run that ended badly fails without a failed case' '2 passed, 1 failed' 1 --bad fine fine
gives 'a run that ended badly is not counted twice' '1 passed, 1 failed' 1 --bad died died
gives 'what passes when it is repeated counts once' '1 passed, 0 failed' 0 again
gives 'what fails again has failed' '1 passed, 1 failed' 1 twice
n=$((n + 1))
"$summary" again >out 2>&1
if grep -q '^failed at first' out && grep -q 'again: a: FAIL' out; then
	echo "ok $n - the first failure is listed"
else
	echo "not ok $n - the first failure is listed"
	sed 's/^/# /' out
	status=1
fi
exit $status
