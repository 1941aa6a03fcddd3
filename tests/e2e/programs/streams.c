/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C streams in all the ways that libc treats differently: modes, buffers, wide characters, seeking,
 * freopen, descriptors beneath. `streams DIR` works in DIR and prints what it finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static char block[300000];

static FILE *stream(const char *name, const char *mode)
{
	FILE *f = fopen(name, mode);

	if (!f) {
		perror(name);
		exit(1);
	}
	return f;
}

static void plain(void)
{
	FILE *f = stream("plain", "w+");
	char line[100];
	int number, sum = 0;

	printf("%zu\n", fwrite(block, 1, sizeof(block), f));
	for (int i = 0; i < 10000; i++)
		fprintf(f, "\nline %d", i);
	printf("%ld\n", ftell(f));
	fseek(f, sizeof(block), SEEK_SET);
	while (fscanf(f, " line %d", &number) == 1)
		sum += number;
	printf("%d %d %d\n", sum, feof(f) != 0, ferror(f));
	fseek(f, -4, SEEK_END);
	printf("%c", getc(f));
	ungetc('U', f);
	printf("%s\n", fgets(line, sizeof(line), f));
	rewind(f);
	fputs("at the beginning", f);
	fflush(f);
	if (write(fileno(f), " by write ", 10) != 10)
		perror("write");
	fputs("by stdio again", f);
	printf("%ld %ld\n", ftell(f), (long)lseek(fileno(f), 0, SEEK_CUR));
	fseek(f, 1000000, SEEK_SET);
	putc('!', f);
	printf("%d\n", fclose(f));
}

static void modes(void)
{
	static char mine[1 << 17];
	FILE *f = stream("modes", "w");

	setvbuf(f, NULL, _IONBF, 0);
	fputs("not buffered\n", f);
	fprintf(f, "%d\n", 42);
	f = freopen("modes", "a+", f);
	setvbuf(f, mine, _IOFBF, sizeof(mine));
	fputs("appended\n", f);
	rewind(f);
	printf("%d %ld\n", getc(f), ftell(f));
	fseek(f, 0, SEEK_CUR);
	fputs("again\n", f);
	printf("%ld\n", ftell(f));
	fclose(f);
	f = stream("modes", "r+");
	setvbuf(f, NULL, _IOLBF, 0);
	fseek(f, 4, SEEK_SET);
	fputs("BUFF\n", f);
	fclose(f);
	f = stream("modes", "r");
	printf("%d %d %d\n", fputc('x', f), fflush(f), ferror(f) != 0);
	fclose(f);
	f = fdopen(open("modes", O_WRONLY | O_APPEND), "a");
	fputs("by fdopen\n", f);
	fclose(f);
}

static void wide(void)
{
	FILE *f = stream("wide", "w");
	wchar_t line[100];

	printf("%d\n", fwide(f, 1) > 0);
	for (int i = 0; i < 5000; i++)
		fwprintf(f, L"\u00fc\u00f6 %d \u20ac\n", i);
	fclose(f);
	f = stream("wide", "r,ccs=UTF-8");
	for (int i = 0; i < 4000; i++)
		if (!fgetws(line, 100, f))
			puts("end");
	printf("%zu %d\n", wcslen(line), (int)wcstol(line + 3, NULL, 10));
	fclose(f);
}

static void children(void)
{
	FILE *f = stream("children", "w"), *p;
	char line[100] = "";

	fputs("twice\n", f); /* in both processes, as always */
	if (fork() == 0) {
		fputs("child\n", f);
		exit(0);
	}
	wait(NULL);
	fputs("parent\n", f);
	fclose(f);
	p = popen("cat children", "r");
	while (fgets(line, sizeof(line), p))
		fputs(line, stdout);
	printf("%d\n", pclose(p));
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "C.UTF-8");
	if (argc != 2 || chdir(argv[1]))
		return 2;
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)('a' + i % 26);
	plain();
	modes();
	wide();
	fflush(stdout);
	children();
	if (!freopen("stdout", "w", stdout))
		return 1;
	puts("flushed at the end of the program, or before");
	fwrite(block, 1, sizeof(block), stdout);
	return 0;
}
