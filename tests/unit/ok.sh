# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that are shell scripts: results as TAP, one by one. A script ends with `exit $status`.

n=0 status=0
ok() { # name, what was found: empty is good
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
		status=1
	fi
}
