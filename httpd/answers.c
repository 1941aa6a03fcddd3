/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that take time (errands): the last hour, the policies, and changes of jobs and policies.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "client/conn/client.h"
#include "httpd/change.h"
#include "httpd/server.h"
#include "layer/check.h"
#include "layer/param.h"
#include "layer/policy-json.h"

#define JOBS "/api/v1/jobs/"

/* ---- reading ---- */

static void an_history_work(struct request *r)
{
	struct server *s = r->server;
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	if (f) {
		pthread_mutex_lock(&s->history_lock);
		history_json(&s->history, f, (uint32_t)r->number,
			     server_now_ms() - server_monotonic_ns() / 1000000);
		pthread_mutex_unlock(&s->history_lock);
		fclose(f);
	}
	errand_reply(r, MHD_HTTP_OK, text, length);
}

enum MHD_Result answer_history(struct request *r)
{
	if (!http_number(r, "seconds", 1, HISTORY_S, 600, &r->number))
		return http_error(r, MHD_HTTP_BAD_REQUEST,
				  "seconds must be a whole number from 1 to %d", HISTORY_S);
	return errand(r, an_history_work);
}

/* The output of the command, and the stages in their order. */
static void an_policies_work(struct request *r)
{
	static const char *const order[] = { "allocate", "grant", "admit", "share", "order" };
	struct sl_policy_info info;
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);
	struct json j;

	if (!f) {
		errand_reply(r, MHD_HTTP_OK, NULL, 0);
		return;
	}
	json_begin(&j, f);
	json_object(&j, NULL);
	json_array(&j, "stages");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *name = NULL;

		sl_policy_default(order[i], &name);
		json_object(&j, NULL);
		json_string(&j, "stage", order[i]);
		json_string(&j, "question", param_stage_question(order[i]));
		json_string(&j, "default", name);
		json_end(&j);
	}
	json_end(&j);
	json_array(&j, "policies");
	for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++)
		policy_json(&j, &info);
	json_end(&j);
	json_end(&j);
	fclose(f);
	errand_reply(r, MHD_HTTP_OK, text, length);
}

enum MHD_Result answer_policies(struct request *r)
{
	return errand(r, an_policies_work);
}

/* ---- changing ---- */

static void an_change(struct request *r, const char *line)
{
	static const char done[] = "{\"ok\":true}\n";
	int rc = layer_change(&r->server->layer, line);

	log_info("change=\"%.200s\" result=%d", line, rc);
	if (rc) {
		errand_error(r,
			     rc == -ENOTCONN ? MHD_HTTP_SERVICE_UNAVAILABLE
			     : rc == -ENOENT ? MHD_HTTP_NOT_FOUND
					     : MHD_HTTP_CONFLICT,
			     "%s", layer_error());
		return;
	}
	if (*layer_warning())
		log_warn("change=\"%.200s\" warning=\"%.400s\"", line, layer_warning());
	errand_reply(r, MHD_HTTP_OK, strdup(done), sizeof(done) - 1);
}

static void an_job_work(struct request *r)
{
	char line[CHANGE_LINE], err[CHANGE_TEXT];

	if (change_job(r->path + strlen(JOBS), r->body, r->length, line, err))
		errand_error(r, MHD_HTTP_BAD_REQUEST, "%s", err);
	else
		an_change(r, line);
}

enum MHD_Result answer_job(struct request *r)
{
	return errand(r, an_job_work);
}

static void an_policy_work(struct request *r)
{
	char line[CHANGE_LINE], err[CHANGE_TEXT];

	if (change_policy(r->body, r->length, line, err))
		errand_error(r, MHD_HTTP_BAD_REQUEST, "%s", err);
	else
		an_change(r, line);
}

enum MHD_Result answer_policy(struct request *r)
{
	return errand(r, an_policy_work);
}
