# SPDX-License-Identifier: Apache-2.0
# The manual pages are well formed, and there is one for all that people type.
bats_require_minimum_version 1.5.0

@test "every page renders without a warning" {
	count=0
	for page in "$BUILD_DIR"/man/*.[1-8]; do
		run --separate-stderr env MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page"
		[ "$status" -eq 0 ]
		[ "$stderr" = "" ] || { echo "$page: $stderr"; false; }
		[[ "$output" == *NAME* ]]
		count=$((count + 1))
	done
	[ "$count" -ge 1 ]
}

@test "no page ends in a stray character" {
	for page in "$BUILD_DIR"/man/*.[1-8]; do
		last=$(tail -n 1 "$page")
		[[ "$last" != */n ]] || { echo "$page ends in: $last"; false; }
		[ "$(tail -c 1 "$page")" = "" ] || { echo "$page: no newline at the end"; false; }
	done
}

@test "what people type is not broken at the end of a line" {
	for page in "$BUILD_DIR"/man/*.[1-8]; do
		run env MANWIDTH=80 LC_ALL=C.UTF-8 man -E UTF-8 -l "$page"
		broken=$(grep -E '(‐|sluice-|--)$' <<<"$output") || continue
		echo "$page: $broken"
		false
	done
}

@test "every function of sluice.h is in libsluice(3)" {
	missing=
	for name in $(sed -n 's/^\t\(sl_[a-z_]*\);$/\1/p' "$SOURCE_DIR/sched/libsluice.map"); do
		# scdoc escapes underscores
		tr -d '\\' <"$SOURCE_DIR/man/libsluice.3.scd" | grep -qw "$name" || missing+=" $name"
	done
	[ "$missing" = "" ] || { echo "not described:$missing"; false; }
}

@test "every page says its name and section in the first line" {
	for source in "$SOURCE_DIR"/man/*.scd; do
		page=$(basename "$source" .scd)
		read -r first <"$source"
		[[ "$first" == "${page%.*}(${page##*.})"* ]] || { echo "$source: $first"; false; }
	done
}

# What `sluice help` lists, but for what has nothing to tell.
commands() {
	"$SLUICE" help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }' |
		grep -vxE 'help|version'
}

# Of a command, and of those of its options and words that have one of their own.
help_texts() { # command
	"$SLUICE" "$1" --help
	case $1 in
	bench) for what in sched path share sim control; do "$SLUICE" bench $what --help; done ;;
	sim) for mode in --requests --generate --import-darshan; do "$SLUICE" sim $mode --help; done ;;
	esac
}

# Each option of a help text with its argument: "--name NAME".
options_of() {
	grep -oE -- '^ .{5}--[a-z-]+( [^ ]+|\[=[^ ]+|$)?' | sed -E 's/^ .{5}//; s/ $//'
}

@test "every command has a page with all its options and their arguments, and is in sluice(1)" {
	bad=
	count=0
	for name in $(commands); do
		page=$SOURCE_DIR/man/sluice-$name.1.scd
		[ -e "$page" ] || { bad+=" sluice-$name(1)"; continue; }
		[ "$(grep -c "^\*$name\*\$" "$SOURCE_DIR/man/sluice.1.scd")" -eq 1 ] || bad+=" sluice(1):$name"
		grep -qx '# EXIT STATUS' "$page" || bad+=" exit-status:$name"
		sed -n '/^# SEE ALSO/,$p' "$SOURCE_DIR/man/sluice.1.scd" | grep -qF "*sluice-$name*(1)" ||
			bad+=" see-also:$name"
		text=$(tr -d '*_\\' <"$page")
		while read -r option; do
			grep -qwF -- "$option" <<<"$text" || bad+=" sluice-$name(1):'$option'"
		done < <(help_texts "$name" | options_of)
		count=$((count + 1))
	done
	[ "$bad" = "" ] || { echo "missing:$bad"; false; }
	[ "$count" -ge 15 ]
}

@test "sluiced(8) has all options of both daemons" {
	bad=
	for daemon in ionode controller; do
		for option in $("$SLUICED" $daemon --help | grep -oE -- '--[a-z][a-z-]+' | sort -u); do
			grep -qF -- "$option" "$SOURCE_DIR/man/sluiced.8.scd" || bad+=" $daemon:$option"
		done
	done
	[ "$bad" = "" ] || { echo "missing:$bad"; false; }
}

@test "sluice-policies(7) has every policy with every parameter" {
	# of a stage and a policy: the lines below its head
	section() { # stage, policy
		tr -d '\\' <"$BUILD_DIR/man/sluice-policies.7.scd" | awk -v stage="$1" -v policy="$2" '
			/^# / { in_stage = tolower($0) == "# stage " stage; on = 0; next }
			/^## / { on = in_stage && $2 == policy; if (on) print; next }
			on { print }'
	}
	bad=
	while read -r stage policy params; do
		text=$(section "$stage" "$policy")
		[ "$text" != "" ] || bad+=" $stage/$policy"
		for param in $params; do
			grep -qw -- "$param" <<<"$text" || bad+=" $stage/$policy:$param"
		done
	done < <("$SLUICE" policy list --json |
		jq -r '.policies[] | "\(.stage) \(.name) \([.params[].name] | join(" "))"')
	[ "$bad" = "" ] || { echo "missing:$bad"; false; }
}
