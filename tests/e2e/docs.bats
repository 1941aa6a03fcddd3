# SPDX-License-Identifier: Apache-2.0
# The manual is true: what README, tutorial, guide and concept pages tell people to type works, prints what
# they say, and leads to where they say. docs-script.py makes a script of a document.
bats_require_minimum_version 1.5.0

setup() {
	SLUICE=${SLUICE:-build/cli/sluice}
	unset SLUICE_JOB_ID SLURM_JOB_ID PBS_JOBID LSB_JOBID FLUX_JOB_ID SLUICE_JOB_CONF
	unset SLUICE_TIMEOUT SLUICE_FALLBACK SLUICE_BYPASS SLUICE_LOG SLUICED SLUICE_PRELOAD
	SLUICE_RUNTIME=$(mktemp -d /tmp/sluice-docs-XXXXXX)
	HOME=$SLUICE_RUNTIME/home
	export SLUICE_RUNTIME HOME
	# What a reader has after `make build` in a clone: the sources, and the build below them.
	CLONE=$BATS_TEST_TMPDIR/sluice
	mkdir "$CLONE" "$HOME"
	for file in "$SOURCE_DIR"/*; do
		[[ ${file##*/} == build* ]] || ln -s "$file" "$CLONE"
	done
	ln -s "$BUILD_DIR" "$CLONE/build"
	cd "$CLONE"
}

teardown() {
	"$SLUICE" down --all --if-up --timeout 20 >/dev/null || cat "$SLUICE_RUNTIME"/*/log
	rm -rf "$SLUICE_RUNTIME"
}

# Run the blocks of a document as a reader would. The layers of this test are not those of the user.
follow() { # document
	python3 "$SOURCE_DIR/tests/e2e/docs-script.py" "$1" >"$BATS_TEST_TMPDIR/script" || return
	PATH=$CLONE/build/cli:$PATH timeout 200 bash "$BATS_TEST_TMPDIR/script" </dev/null 3>&-
}

@test "README.md: every command works" {
	follow README.md
}

@test "docs/tutorial.md: every command works" {
	follow docs/tutorial.md
}

@test "docs/admin.md: every command works" {
	follow docs/admin.md
}

@test "docs/slurm.md: every command works that needs no Slurm" {
	follow docs/slurm.md
}

@test "docs/concepts: every command works, and prints what is said" {
	for page in docs/concepts/*.md; do
		follow "$page"
	done
}

@test "a document that is wrong is found" {
	wrong() { # document
		printf "$1" >wrong.md
		run follow wrong.md
		[ "$status" -ne 0 ] || { echo "not found: $1"; return 1; }
		[[ "$output" == *wrong.md:$2:* ]] || { echo "$output"; return 1; }
	}
	wrong 'x\n\n```sh\ntrue\nsluice no-such-command\n```\n' 5
	wrong '```sh\nsluice help | false\ntrue\n```\n' 2
	wrong '```console\n$ echo a b\na  b\n```\n' 2
	wrong '```console\n$ echo a; echo b\n...\nc\n```\n' 2
	wrong '```console\n$ sluice no-such-command\n...\n```\n' 2
	wrong 'x\n\n    sluice help\n' 3
	wrong '<!-- not run: -->\n```sh\nfalse\n```\n' 1
	wrong '```c\nint x;\n```\n' 1
	wrong '```sh\ntrue\n' 1
	# and one that is right is not
	printf '<!-- not run: it fails -->\n```sh\nfalse\n```\n\n```console\n$ printf "a\\nb\\nc\\n"\na\n...\nc\n```\n' >right.md
	follow right.md
}

@test "pictures of the concept pages are what the program draws today" {
	mkdir drawn
	python3 docs/concepts/draw.py "$SLUICE" drawn
	count=0
	for picture in drawn/*.svg; do
		diff "$picture" "docs/concepts/${picture##*/}"
		grep -qF "](${picture##*/})" docs/concepts/*.md
		count=$((count + 1))
	done
	[ "$count" -eq 6 ]
}

@test "every policy is in the page of its stage" {
	missing=
	for policy in $("$SLUICE" policy list --json | jq -r '.. | objects | select(.stage? and .name?) |
			"\(.stage)/\(.name)"'); do
		grep -qF "| \`${policy#*/}\`" "docs/concepts/${policy%/*}.md" || missing+=" $policy"
	done
	[ "$missing" = "" ] || { echo "not in docs/concepts:$missing"; false; }
}

@test "links of the documents lead somewhere" {
	python3 - README.md docs/*.md docs/concepts/*.md <<'END'
import os, re, sys

def anchors(path):
    """Of the headings, as web pages of repositories make them."""
    for line in open(path, encoding="utf-8"):
        if re.match("#+ ", line):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            yield words.replace(" ", "-")

bad = []
for path in sys.argv[1:]:
    text = re.sub(r"(?s)```.*?```|<!--.*?-->", "", open(path, encoding="utf-8").read())
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        file = os.path.join(os.path.dirname(path), name) if name else path
        if not os.path.exists(file) or anchor and anchor not in anchors(file):
            bad.append(f"{path}: {target}")
sys.exit("\n".join(bad) or 0)
END
}

@test "who starts a dashboard as README.md says has time to look at it" {
	# in the block with 'sluice dashboard' nothing follows that would end it
	awk '/^```/ { shown = 0 } /^sluice dashboard/ { shown = found = 1 } shown && /^sluice down/ { exit 1 }
		END { if (!found) exit 1 }' README.md
}
