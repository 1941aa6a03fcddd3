# SPDX-License-Identifier: Apache-2.0
# Words that people type are not to be broken at the end of a line: no hyphenation, which .TH turns
# on again after scdoc's own .nh, and dashes in bold, as in sluice-run(1) or --if-up, are \-, behind
# which no line ends.
{
	n = split($0, part, /\\fB/)
	line = part[1]
	for (i = 2; i <= n; i++) {
		end = index(part[i], "\\fR")
		bold = end ? substr(part[i], 1, end - 1) : part[i]
		gsub(/-/, "\\-", bold)
		line = line "\\fB" bold (end ? substr(part[i], end) : "")
	}
	print line
}
/^\.TH/ { print ".nh" }
