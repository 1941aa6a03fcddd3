#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a shell script of the code blocks of a Markdown document, for docs.bats to run.

    docs-script.py FILE.md

A fenced block is treated by its language:

    sh       commands; they must succeed. The blocks of a document are one session.
    console  "$ COMMAND", and below it what that prints, all of it; "..." stands for any lines.
    text     no code: a picture, a sample.
    other    must be written to a file: <!-- file: NAME --> in the line before it.

<!-- not run: REASON --> before a block leaves it out. What would be left out without being said is an
error: a block of four spaces, a language without a file, a reason that is missing.
"""
import re
import shlex
import sys


def fail(path, line, words):
    sys.exit(f"{path}:{line}: {words}")


def blocks(path):
    """(line, language, directive, lines) of each fenced block."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    i, note, in_list = 0, None, False
    while i < len(lines):
        line, fence = lines[i], re.match(r"^( *)```(\S*)$", lines[i])
        comment = re.match(r"^<!-- (not run|file): *(.*?) *-->$", line)
        if fence:
            start, body = i + 1, []
            i += 1
            while i < len(lines) and lines[i].strip() != "```":
                body.append(lines[i][len(fence[1]):])
                i += 1
            if i == len(lines):
                fail(path, start, "the block has no end.")
            yield start, fence[2], note, body
            note = None
        elif comment:
            if not comment[2]:
                fail(path, i + 1, f"'{comment[1]}:' says nothing.")
            note = (comment[1], comment[2])
        elif line.strip():
            if note:
                fail(path, i + 1, "the comment above is not followed by a block.")
            if re.match(r"^ {4}|^\t", line) and not in_list and not lines[i - 1].strip():
                fail(path, i + 1, "a block without a fence is not run; write ```sh.")
            if not line.startswith(" "):
                in_list = bool(re.match(r"^([-*]|\d+\.) ", line))
        i += 1


def pattern(expected):
    """A pattern of bash for the lines, in which ... is any."""
    parts = [shlex.quote(part) for part in re.split(r"(?m)^\.\.\.(?:\n|$)", "\n".join(expected).rstrip("\n"))]
    return "*".join(parts)


def console(path, start, body):
    """Commands of a block, each with what it prints."""
    i = 0
    if not body or not body[0].startswith("$ "):
        fail(path, start, "a console block begins with '$ COMMAND'.")
    while i < len(body):
        line, command, expected = start + 1 + i, [body[i][2:]], []
        while command[-1].endswith("\\") and i + 1 < len(body):
            i += 1
            command.append(body[i])
        i += 1
        while i < len(body) and not body[i].startswith("$ "):
            expected.append(body[i])
            i += 1
        print(f"at {path}:{line}")
        print("{\n" + "\n".join(command) + '\n} >"$docs_out" 2>&1 || { cat "$docs_out"; false; }')
        print(f'prints=$(cat "$docs_out")\n[[ "$prints" == {pattern(expected)} ]] || '
              '{ echo "it printed:"; echo "$prints"; false; }')


def main():
    path = sys.argv[1]
    print("""set -eEuo pipefail
where=start
at() { where=$1; }
trap 'echo "$where: a command of this block failed"' ERR
docs_out=$(mktemp)
trap 'rm -f "$docs_out"' EXIT
# What was started in the background must have succeeded, too.
wait() {
	local job
	for job in $(jobs -p); do
		builtin wait "$job"
	done
}""")
    for start, language, note, body in blocks(path):
        if note and note[0] == "not run":
            continue
        if note:
            print(f"at {path}:{start}\ncat >{shlex.quote(note[1])} <<'END OF BLOCK'")
            print("\n".join(body) + "\nEND OF BLOCK")
        elif language == "sh":
            for i, line in enumerate(body):
                # not inside of a command of several lines
                if line and not line[0].isspace() and (i == 0 or not body[i - 1].endswith("\\")) \
                        and not re.match(r"(done|fi|esac|END|\})\b", line):
                    print(f"at {path}:{start + 1 + i}")
                print(line)
        elif language == "console":
            console(path, start, body)
        elif language != "text":
            fail(path, start, f"a block of '{language}' needs <!-- file: NAME --> or <!-- not run: REASON -->.")
    print('wait')


main()
