# SPDX-License-Identifier: Apache-2.0
# Waiting for an event. layer, live, node and daemons load this file.
#
#	until_true [SECONDS] CMD…   wait until CMD succeeds, 20 s if no time is given; on a busy machine,
#	                            three times as long

until_true() { # [seconds] command
	local seconds=20 pause=0.02 tries=0 end
	if [[ $1 =~ ^[0-9]+$ ]]; then
		seconds=$1
		shift
	fi
	end=$((SECONDS + 3 * seconds))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -le $end ] || return 1
		sleep $pause
		# What takes longer is asked for less often: each look starts several processes.
		tries=$((tries + 1))
		[ $tries -ne 5 ] || pause=0.05
		[ $tries -ne 15 ] || pause=0.15
	done
}
