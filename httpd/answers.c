/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are errands: the last hour, the policies, and changes of jobs and policies. */
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
		return http_error(r, MHD_HTTP_BAD_REQUEST, "seconds is a whole number from 1 to %d",
				  HISTORY_S);
	return errand(r, an_history_work);
}

/* What the command prints, and the stages in their order. */
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

/* ---- changing, in turn with others: layer_turn() ---- */

/*
 * What came of it, as an answer; 0 is none yet. who: "I/O node 1: " if those before have done it,
 * else "". Frees text.
 */
static int an_result(struct request *r, int rc, const char *silent, const char *who, char *text)
{
	if (rc == -ENOTCONN)
		errand_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", silent);
	else if (rc)
		errand_error(r, rc == -ENOENT ? MHD_HTTP_NOT_FOUND : MHD_HTTP_CONFLICT, "%s%s", who,
			     text && *text ? text : strerror(-rc));
	free(text);
	return rc;
}

static void an_done(struct request *r)
{
	static const char done[] = "{\"ok\":true}\n";

	errand_reply(r, MHD_HTTP_OK, strdup(done), sizeof(done) - 1);
}

static int an_tell_nodes(struct request *r, const char *line, bool some)
{
	char who[48], *text = NULL;
	int rc = layer_tell_all(&r->server->layer, line, some, who, &text);

	log_info("change=\"%.200s\" result=%d", line, rc);
	return an_result(r, rc, "no node of the layer answers", who, text);
}

/* One that is revived starts with the options that it had: with these, from now on. */
static void an_keep(const struct layer *l, const struct layer_member *m, char *line)
{
	char option[32], *save = NULL, *word, *value;

	strtok_r(line, " ", &save); /* "policy" */
	while ((word = strtok_r(NULL, " ", &save))) {
		value = strchr(word, '=');
		snprintf(option, sizeof(option), "--%.*s", (int)(value - word), word);
		if (layer_keep_option(l, m, option, value + 1))
			log_warn("option=%s cannot be kept", option);
	}
}

static int an_tell_controller(struct request *r, char *line)
{
	const struct layer *l = &r->server->layer;
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m);
	char *text = NULL;
	int rc = -ENOTCONN;

	if (!m[n - 1].controller) {
		errand_error(r, MHD_HTTP_CONFLICT,
			     "layer '%s' has no controller, which grant and allocate are for; "
			     "start it with 'sluice up --ionodes N'",
			     l->name);
		return -ENODEV;
	}
	if (m[n - 1].pid)
		rc = sl_client_control(m[n - 1].socket, line, &text);
	log_info("change=\"%.200s\" result=%d", line, rc);
	if (!rc)
		an_keep(l, &m[n - 1], line);
	return an_result(r, rc,
			 "the controller does not answer; 'sluice up --revive' brings it back", "",
			 text);
}

static void an_job_work(struct request *r)
{
	char line[CHANGE_LINE], err[CHANGE_TEXT];
	int turn;

	if (change_job(r->path + strlen(JOBS), r->body, r->length, line, err)) {
		errand_error(r, MHD_HTTP_BAD_REQUEST, "%s", err);
		return;
	}
	turn = layer_turn(&r->server->layer);
	if (!an_tell_nodes(r, line, true))
		an_done(r);
	layer_turn_end(turn);
}

enum MHD_Result answer_job(struct request *r)
{
	return errand(r, an_job_work);
}

/* Of what is left to refuse, most is the controller's: so it is asked first. */
static void an_policy_work(struct request *r)
{
	char nodes[CHANGE_LINE], controller[CHANGE_LINE], err[CHANGE_TEXT];
	int turn;

	if (change_policy(r->body, r->length, nodes, controller, err)) {
		errand_error(r, MHD_HTTP_BAD_REQUEST, "%s", err);
		return;
	}
	turn = layer_turn(&r->server->layer);
	if ((!*controller || !an_tell_controller(r, controller)) &&
	    (!*nodes || !an_tell_nodes(r, nodes, false))) {
		if (*nodes && layer_keep_change(&r->server->layer, nodes))
			log_warn("change=\"%.200s\" cannot be kept", nodes);
		an_done(r);
	}
	layer_turn_end(turn);
}

enum MHD_Result answer_policy(struct request *r)
{
	return errand(r, an_policy_work);
}
