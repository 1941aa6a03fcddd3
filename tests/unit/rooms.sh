#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Each folder is a room, and includes headers only of the rooms below it. The table names, for every
# room, the rooms that it may use; a room may always use itself and the rooms inside it. A folder
# that is not in the table belongs to the nearest folder above it that is.
#
# Then the same check must fail on sources that break the rule.
#
# usage: rooms.sh SOURCE_DIR
set -u
source=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The rooms of a line are those below it; "include" is the public header.
cat >"$work/rooms" <<'ROOMS'
base/ds            include
base               base/ds include
policy             base/ds include
policy/request     base/ds include policy
policy/machine     base/ds include policy
detect             base base/ds include
sched              base base/ds include policy policy/request detect
wire               base base/ds include
model              base include
sim                base base/ds include policy sched detect model wire sluiced/controller
client/conn        base base/ds wire include
client/gate        base base/ds wire include client/conn
client/preload     base wire include client/conn client/gate
sluiced/controller base base/ds include policy policy/machine policy/request sched detect wire
sluiced/ionode     base base/ds include policy policy/machine sched detect wire model layer
sluiced            include
layer              base include policy wire sched model client/conn
lab                base base/ds include policy policy/machine wire sched detect model sim client/conn layer
cli                base include policy wire sched detect model sim client/conn client/gate layer lab
httpd              base base/ds include wire sim client/conn layer
integrate          base client/gate
examples           include
tools              include layer
ROOMS

# Prints "FILE includes HEADER" for each include that goes to a room that FILE's room may not use.
# Reads "FILE:HEADER" lines. A header without a folder is the file's neighbour, or sluice.h.
upward() {
	awk -v table="$work/rooms" '
	function room_of(path) {
		while (sub("/[^/]*$", "", path))
			if (path in may)
				return path
		return ""
	}
	BEGIN {
		while ((getline line < table) > 0) {
			n = split(line, word, " +")
			may[word[1]] = " "
			for (i = 2; i <= n; i++)
				may[word[1]] = may[word[1]] word[i] " "
		}
		close(table)
	}
	{
		split($0, part, ":")
		from = room_of(part[1])
		if (from == "") {
			print part[1] " is in no room of the table"
			next
		}
		to = part[2] == "sluice.h" ? "include" : room_of(part[2])
		if (part[2] !~ "/" && to == "" || to == from || index(to "/", from "/") == 1)
			next
		if (!index(may[from], " " to " "))
			print part[1] " includes " part[2]
	}'
}

includes() { # prints FILE:HEADER for the sources of the product
	(cd "$source" && find . -name '.?*' -prune -o -path './build*' -prune -o -path ./node_modules -prune -o \
		-path ./tests -prune -o -path ./scripts -prune -o -path ./include -prune -o \
		-name '*.[ch]' -exec grep -H '^#include "' {} +) |
		sed 's|^\./||; s|#include "||; s|".*||'
}

# Rooms that use each other in a circle: prints them. tsort wants "user used" and reports loops.
circles() {
	awk '{ for (i = 2; i <= NF; i++) print $1, $i }' "$1" | tsort 2>&1 >/dev/null
}

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/ok.sh"

found() { # turn the answer round: something must have been found
	[ -n "$2" ] || echo "$1 was not noticed"
}

echo 1..8
includes >"$work/includes"
ok 'there are includes to look at' "$([ "$(wc -l <"$work/includes")" -ge 500 ] || echo 'only a few')"
ok 'no include goes to a room that is not below' "$(upward <"$work/includes")"
ok 'the rooms have an order: none is below itself' "$(circles "$work/rooms")"

ok 'a command that the dashboard includes is noticed' \
	"$(found cli "$(echo 'httpd/main.c:cli/change.h' | upward)")"
ok 'a daemon that includes the other is noticed' \
	"$(found controller "$(echo 'sluiced/ionode/main.c:sluiced/controller/brain.h' | upward)")"
ok 'a policy that includes more than data structures is noticed' \
	"$(found log "$(echo 'policy/request/share/wfq.c:base/log.h' | upward)")"
ok 'a folder that the table does not name is noticed' \
	"$(found attic "$(echo 'attic/old.c:base/log.h' | upward)")"
printf 'base cli\ncli base\n' >"$work/loop"
ok 'a circle is noticed' "$(found circle "$(circles "$work/loop")")"
exit $status
