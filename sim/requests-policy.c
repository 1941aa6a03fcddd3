/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies of a run in one text: "order=aioli,wait_us=500,share=pool". Between commas stands
 * the beginning of a stage or a parameter of the one before; order/aioli is order=aioli.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/spec.h"
#include "sim/requests.h"

static const char **rp_stage(struct sl_requests_policy *p, const char *word, size_t length)
{
	if (length == 5 && !strncmp(word, "grant", 5))
		return &p->grant;
	if (length == 5 && !strncmp(word, "admit", 5))
		return &p->admit;
	if (length == 5 && !strncmp(word, "share", 5))
		return &p->share;
	if (length == 5 && !strncmp(word, "order", 5))
		return &p->order;
	return NULL;
}

static int rp_word(struct sl_requests_policy *p, const char ***stage, const char *word, char *err,
		   size_t err_size)
{
	size_t name = strcspn(word, "=/");
	const char **begins = word[name] ? rp_stage(p, word, name) : NULL;
	char *text;

	if (!begins && !*stage) {
		snprintf(err, err_size,
			 "'%.64s' does not begin with a stage; write order=aioli,share=pool", word);
		return -EINVAL;
	}
	if (begins && *begins) {
		snprintf(err, err_size, "%.5s is given twice", word);
		return -EINVAL;
	}
	if (begins)
		text = strdup(word + name + 1);
	else if (asprintf(&text, "%s,%s", **stage, word) < 0)
		text = NULL;
	if (!text) {
		snprintf(err, err_size, "no memory");
		return -ENOMEM;
	}
	if (begins)
		*stage = begins;
	free((char *)**stage);
	**stage = text;
	return 0;
}

/* The scheduler knows best what it takes. */
static int rp_check(const struct sl_requests_policy *p, char *err, size_t err_size)
{
	struct sl_config config = {
		.limits = { 1, 1, 1 }, .admit = p->admit, .share = p->share, .order = p->order
	};
	struct sl_sched *sched;
	struct sl_spec spec;
	int rc = sl_sched_create(&sched, &config, 0, err, err_size);

	sl_sched_destroy(sched);
	return !rc && p->grant ? sl_spec_parse(SL_GRANT, p->grant, &spec, err, err_size) : rc;
}

int sl_requests_policy_parse(const char *text, struct sl_requests_policy *out, char *err,
			     size_t err_size)
{
	char *copy = strdup(text), *save = NULL;
	const char **stage = NULL;
	int rc = copy ? 0 : -ENOMEM;

	*out = (struct sl_requests_policy){ .text = strdup(text) };
	if (!copy || !out->text) {
		snprintf(err, err_size, "no memory");
		rc = -ENOMEM;
	}
	for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word && !rc;
	     word = strtok_r(NULL, ",", &save))
		rc = rp_word(out, &stage, word, err, err_size);
	if (!rc && !stage) {
		snprintf(err, err_size, "it says nothing; write order=aioli,share=pool");
		rc = -EINVAL;
	}
	if (!rc)
		rc = rp_check(out, err, err_size);
	if (rc)
		sl_requests_policy_free(out);
	free(copy);
	return rc;
}

void sl_requests_policy_free(struct sl_requests_policy *p)
{
	free((char *)p->text);
	free((char *)p->grant);
	free((char *)p->admit);
	free((char *)p->share);
	free((char *)p->order);
	*p = (struct sl_requests_policy){ 0 };
}
