/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What anybody may send to the HTTP server of a layer. The first byte chooses:
 *
 *	the body of a change of a job, or of policies: what is taken is one control line, of words
 *	that were checked; or of what-if: what is taken are policies;
 *	headers, each ended by a 0 byte: nobody writes without the token, whatever else is there;
 *	a status: it becomes metrics and a scenario, is written as it was read, and merged.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "httpd/change.h"
#include "httpd/guard.h"
#include "httpd/metrics.h"
#include "httpd/plan.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN "0123456789abcdef"

/* Words with single spaces between them, each with a = in it but for the first ones. */
static void is_line(const char *line, unsigned plain)
{
	const char *word = line;

	CHECK(strlen(line) < CHANGE_LINE);
	for (unsigned n = 0; *word; n++) {
		size_t length = strcspn(word, " ");

		CHECK(length > 0);
		for (size_t i = 0; i < length; i++)
			CHECK(word[i] > ' ' && word[i] <= '~');
		CHECK(n < plain || memchr(word, '=', length));
		word += length;
		CHECK(!*word || word[1]);
		word += *word == ' ';
	}
}

static void bodies(int which, const char *body, size_t size)
{
	char line[CHANGE_LINE], err[CHANGE_TEXT] = "";
	char *policy[CHANGE_POLICIES + 1];
	int rc;

	if (which == 0) {
		rc = change_job("job", body, size, line, err);
		if (rc == 0) {
			CHECK(!strncmp(line, "set job ", 8));
			is_line(line, 2);
		}
	} else if (which == 1) {
		rc = change_policy(body, size, line, err);
		if (rc == 0) {
			is_line(line, 1);
		}
	} else {
		rc = change_what_if(body, size, policy, err);
		for (size_t i = 0; rc == 0 && policy[i]; i++)
			CHECK(i < CHANGE_POLICIES && policy[i][0] != '-');
		if (rc == 0)
			change_what_if_free(policy);
	}
	CHECK(rc == 0 || (rc == -EINVAL && *err));
}

static void headers(char *text, size_t size)
{
	struct guard g = { .token = TOKEN,
			   .cookie = "fedcba9876543210",
			   .cookie_name = "sluice_reader",
			   .machine = "node" };
	const char *header[5] = { 0 };
	struct guard_request r;
	enum guard_verdict verdict;
	size_t at = 1;

	g.loopback = size && text[0] & 1;
	g.open = size && text[0] & 4;
	for (size_t i = 0; i < 5 && at < size; i++) {
		header[i] = text + at;
		at += strlen(text + at) + 1;
	}
	r = (struct guard_request){ .host = header[0],
				    .origin = header[1],
				    .authorization = header[2],
				    .cookie = header[3],
				    .token = header[4],
				    .write = size && text[0] & 2 };
	verdict = guard_check(&g, &r);
	CHECK(verdict != GUARD_OK || r.host);
	CHECK(verdict != GUARD_OK || !r.write ||
	      (r.authorization && strstr(r.authorization, TOKEN)));
}

/* It is written as it was read, but for text that is not UTF-8, and merges with itself. */
static void written_again(struct status *s, const char *text)
{
	struct status_member both[2] = {
		{ .name = "0", .socket = "a", .log = "b", .said = s },
		{ .name = "1", .socket = "c", .log = "d", .said = status_decode(text) },
	};
	char *out[3] = { NULL };
	size_t length[3];

	for (int i = 0; i < 3; i++) {
		struct status *again = i ? status_decode(out[i - 1]) : NULL;
		FILE *f = open_memstream(&out[i], &length[i]);
		struct json j;

		CHECK(f && (!i || again));
		json_begin_line(&j, f);
		json_object(&j, NULL);
		status_put(&j, i ? again : s, STATUS_OF_LAYER);
		json_end(&j);
		fclose(f);
		status_free(again);
	}
	CHECK(length[1] == length[2] && !memcmp(out[1], out[2], length[1]));
	for (int i = 0; i < 3; i++)
		free(out[i]);
	status_free(status_merge(both, 2, NULL, NULL));
}

static void status(const char *text)
{
	struct status *s = status_decode(text);
	char *out = NULL, err[PLAN_TEXT];
	static struct history h;
	struct plan p;
	size_t length;
	FILE *f;

	if (!s)
		return;
	f = open_memstream(&out, &length);
	metrics_write(f, "x", s, 0);
	fclose(f);
	free(out);
	CHECK(history_init(&h) == 0);
	if (plan_make(s, &h, &p, err) == 0) {
		out = plan_answer(&p, text, &length);
		cJSON_free(out);
		plan_free(&p);
	}
	history_free(&h);
	written_again(s, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size == 0)
		return 0;
	text = malloc(size);
	CHECK(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (data[0] % 5 < 3)
		bodies(data[0] % 5, text, size - 1);
	else if (data[0] % 5 == 3)
		headers(text, size);
	else
		status(text);
	free(text);
	return 0;
}
