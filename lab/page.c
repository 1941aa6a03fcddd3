/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that the pages with charts share: their head, figures as JSON in an element, and writing the
 * file completely or not at all.
 *
 * Names on a page may come from files of other users. In JSON, <, > and & occur only within
 * strings, where they can be escaped (\u003c). So no name can close the element and become markup.
 */
#include "lab/page.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/replace.h"
#include "base/cli.h"
#include "page-js.inc"

/* The policy forbids the page to load anything. */
static const char page_head[] =
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n";

static void pg_json(FILE *f, const char *json, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (json[i] == '<' || json[i] == '>' || json[i] == '&')
			fprintf(f, "\\u%04x", (unsigned)json[i]);
		else
			putc(json[i], f);
	}
}

int page_put(FILE *f, const struct page_parts *p, int (*json)(struct json *j, const void *what),
	     const void *what)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	struct json j;
	int rc;

	if (!memory)
		return -ENOMEM;
	json_begin(&j, memory);
	json_object(&j, NULL);
	rc = json(&j, what);
	if (!rc)
		json_end(&j);
	if (fclose(memory) && !rc)
		rc = -ENOMEM;
	if (!rc) {
		fprintf(f, "%s<title>%s</title>\n<style>\n%s%s", page_head, p->title, p->style,
			p->body);
		pg_json(f, text, size);
		fprintf(f, "</script>\n<script>\n%s%s</script>\n</body>\n</html>\n", page_js,
			p->script);
	}
	free(text);
	return rc;
}

/*
 * Whether the path exists but is not a regular file (/dev/stdout, a pipe): then write to it
 * directly.
 */
static bool pg_is_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

int page_check(const char *cmd, const char *path)
{
	struct stat st;
	char copy[PATH_MAX];
	int error = 0;

	if (strlen(path) >= sizeof(copy))
		error = ENAMETOOLONG;
	else if (!stat(path, &st) && S_ISDIR(st.st_mode))
		error = EISDIR;
	else if (pg_is_special(path) && access(path, W_OK))
		error = errno;
	else if (!pg_is_special(path) && access(dirname(strcpy(copy, path)), W_OK | X_OK))
		error = errno;
	if (!error)
		return CLI_OK;
	return cli_fail(cmd, "cannot write %s: %s.", path, strerror(error));
}

int page_write(const char *cmd, const char *path, int (*write)(FILE *f, const void *what),
	       const void *what)
{
	char *whole = realpath(path, NULL); /* a link stays one: what it leads to is replaced */
	int rc;

	if (pg_is_special(path))
		rc = sl_write_to(path, write, what);
	else
		rc = sl_replace(whole ? whole : path, 0666, write, what);
	free(whole);
	if (!rc)
		return CLI_OK;
	return cli_fail(cmd, "cannot write %s: %s.", path, strerror(-rc));
}
