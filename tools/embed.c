/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At build time, `embed NAME INPUT OUTPUT`: a text as a C string, `static const char NAME[] = ...;`,
 * one line of the text on each. So a page's style and program lie in files of their own, and in the
 * executable.
 */
#include <stdio.h>

int main(int argc, char **argv)
{
	int c, open = 0;

	if (argc != 4)
		return 2;
	if (!freopen(argv[2], "r", stdin) || !freopen(argv[3], "w", stdout)) {
		perror("embed");
		return 1;
	}
	printf("static const char %s[] =\n", argv[1]);
	while ((c = getchar()) != EOF) {
		if (!open)
			putchar('"');
		open = c != '\n';
		if (c == '\n')
			fputs("\\n\"\n", stdout);
		else if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ' || c > '~')
			printf("\\%03o", (unsigned)c);
		else if (c == '?') /* no trigraphs */
			fputs("\\?", stdout);
		else
			putchar(c);
	}
	puts(open ? "\";" : ";");
	return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
