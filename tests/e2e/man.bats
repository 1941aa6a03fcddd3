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
