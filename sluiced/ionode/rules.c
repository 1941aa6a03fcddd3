/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a node, from its configuration file (sluice.yaml): find the rule of each job, apply
 * it to the job's settings, and count how often and how long it has held jobs.
 *
 * A rule with `per: user` (group, account, rule) has one *bucket* for several jobs: its max is
 * that of all of them together. Jobs have a limit of their own in the scheduler, so a bucket is
 * divided among its jobs, anew every DIVIDE_NS: those that can use all they get have equal parts by
 * weight, others what they use and a quarter more (policy/machine/divide.c). Of a layer with
 * several nodes the controller does this, for jobs at all nodes (controller/buckets.c); a node that
 * has no order divides what is its part of the layer. A job that does nothing has STANDBY of the
 * bucket, so that it can begin: then it is given its part with the next division.
 *
 *	bucket 60M; a and b have always something waiting, c writes 6M now and then
 *	a 26.2M   b 26.2M   c 7.5M        c stops: a 30M, b 30M, c .6M
 *
 * Such limits on operations, calls, or the bytes of one direction are in joint.c.
 *
 * Names of users and groups are looked up when a user's first job registers, and when the file is
 * read again, never with the lock held.
 */
#include "sluiced/ionode/rules.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "sluiced/ionode/joint.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/turn.h"
#include "policy/machine/divide.h"

#define DIVIDE_NS INT64_C(50000000)
/* How long a job counts as waiting after it was seen waiting. */
#define HOLD_NS INT64_C(120000000)
#define MORE	1.25
#define STANDBY 0.02
#define GROUPS	64
#define COUNTS	4096 /* of rules and users, that are told apart */

struct user {
	uint32_t uid;
	char *name, *groups; /* groups: names, by commas */
};

struct count {
	unsigned rule;
	uint32_t uid;
	uint64_t bytes, ops, held_ns;
	uint64_t hits; /* seconds in which a job was held */
};

struct rules {
	struct config config;
	time_t taken_at;
	char error[CONFIG_TEXT]; /* error of the last file; "": it was accepted */
	struct user *user;
	size_t users;
	struct count *count;
	size_t counts;
	sl_time divided;
	struct node_job **job; /* for a division */
	struct sl_divide_job *part;
	size_t room;
};

/* ---- users ---- */

static char *groups_of(const struct passwd *pw)
{
	gid_t gid[GROUPS];
	int n = GROUPS;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (getgrouplist(pw->pw_name, pw->pw_gid, gid, &n) < 0)
		n = n < GROUPS ? n : GROUPS;
	for (int i = 0; i < n; i++) {
		struct group gr, *found = NULL;
		char buffer[4096];

		if (getgrgid_r(gid[i], &gr, buffer, sizeof(buffer), &found) == 0 && found)
			fprintf(f, "%s%s", ftell(f) ? "," : "", gr.gr_name);
	}
	fclose(f);
	return text;
}

/* Without a name a user is known by number. */
static struct user look_up(uint32_t uid)
{
	struct passwd pw, *found = NULL;
	struct user u = { .uid = uid };
	char buffer[4096];

	if (getpwuid_r(uid, &pw, buffer, sizeof(buffer), &found) == 0 && found) {
		u.name = strdup(pw.pw_name);
		u.groups = groups_of(&pw);
	} else if (asprintf(&u.name, "%u", uid) < 0) {
		u.name = NULL;
	}
	return u;
}

static struct user *find_user(const struct rules *r, uint32_t uid)
{
	for (size_t i = 0; i < r->users; i++)
		if (r->user[i].uid == uid)
			return &r->user[i];
	return NULL;
}

static void put_user(struct rules *r, struct user u)
{
	struct user *known = find_user(r, u.uid), *more;

	if (known) {
		free(known->name);
		free(known->groups);
		*known = u;
		return;
	}
	more = reallocarray(r->user, r->users + 1, sizeof(*more));
	if (!more) {
		free(u.name);
		free(u.groups);
		return;
	}
	r->user = more;
	r->user[r->users++] = u;
}

void rules_know(struct node *n, uint32_t uid)
{
	bool known;
	struct user u;

	if (!n->rules)
		return;
	pthread_mutex_lock(&n->lock);
	known = find_user(n->rules, uid);
	pthread_mutex_unlock(&n->lock);
	if (known)
		return;
	u = look_up(uid);
	pthread_mutex_lock(&n->lock);
	put_user(n->rules, u);
	pthread_mutex_unlock(&n->lock);
}

void rules_again(struct node *n)
{
	size_t users;

	pthread_mutex_lock(&n->lock);
	users = n->rules->users; /* users are only added, at the end */
	pthread_mutex_unlock(&n->lock);
	for (size_t i = 0; i < users; i++) {
		struct user u;

		pthread_mutex_lock(&n->lock);
		u.uid = n->rules->user[i].uid;
		pthread_mutex_unlock(&n->lock);
		u = look_up(u.uid);
		pthread_mutex_lock(&n->lock);
		put_user(n->rules, u);
		pthread_mutex_unlock(&n->lock);
	}
}

static const char *user_name(const struct rules *r, uint32_t uid)
{
	const struct user *u = find_user(r, uid);

	return u && u->name ? u->name : "";
}

/* ---- applying rules ---- */

static const struct sl_rule *all_rules(const struct node *n)
{
	return n->rules->config.rules;
}

/* The rule whose max is that of all bytes of the job; NULL: none. */
static const struct sl_rule *bytes_rule(const struct node *n, const struct node_job *j)
{
	return n->rules ? sl_rules_bytes(all_rules(n), &j->rule) : NULL;
}

static const struct sl_rule *meter_rule(const struct node *n, const struct node_job *j,
					unsigned meter, uint64_t *limit)
{
	*limit = 0;
	return n->rules ? sl_rules_meter(all_rules(n), &j->rule, meter, limit) : NULL;
}

/* The one to name: whose path or whose max it is, or the first without `op`, or any. */
const char *rules_name(const struct node *n, const struct node_job *j)
{
	const struct sl_rule *rule = bytes_rule(n, j);
	int index = j->rule.whole;

	for (int op = 0; n->rules && op < SL_RULE_OPS; op++) {
		int held = j->rule.rule[op];

		if (held >= 0 && all_rules(n)[held].match[SL_RULE_PATH])
			return all_rules(n)[held].name;
		index = index < 0 ? held : index;
	}
	if (rule)
		return rule->name;
	return n->rules && index >= 0 ? all_rules(n)[index].name : NULL;
}

uint64_t rules_min_ops(const struct node *n, const struct node_job *j, uint64_t asked)
{
	return n->rules ? sl_rules_min_ops(all_rules(n), &j->rule, asked) : asked;
}

uint64_t rules_meter(const struct node *n, const struct node_job *j, unsigned meter)
{
	uint64_t asked = j->ops.asked.max[meter], limit;
	const struct sl_rule *rule = meter_rule(n, j, meter, &limit);

	return rule && rule->per == SL_PER_JOB && (!asked || asked > limit) ? limit : asked;
}

uint64_t rules_allowed(const struct node *n, const struct node_job *j, unsigned meter)
{
	uint64_t asked = j->ops.asked.max[meter], limit;

	return meter_rule(n, j, meter, &limit) && (!asked || asked > limit) ? limit : asked;
}

static uint64_t standby(const struct node *n, const struct node_job *j)
{
	uint32_t nodes = n->config->layer_nodes ? n->config->layer_nodes : 1;
	uint64_t bps = (uint64_t)((double)j->bucket_bps * STANDBY / nodes);

	return bps ? bps : 1;
}

/* A part that the path of a rule makes is matched as the job that it is a part of. */
static const struct node_job *job_of_part(const struct node *n, const struct node_job *j,
					  const char *tag, char name[SL_JOB_NAME_MAX])
{
	const char *full = j->name, *shown = n->site ? site_short(j) : j->name;
	char whole[SL_JOB_NAME_MAX];
	const struct node_job *job;

	snprintf(whole, sizeof(whole), "%.*s", (int)(tag - 1 - full), full);
	snprintf(name, SL_JOB_NAME_MAX, "%.*s", (int)(tag - 1 - shown), shown);
	job = node_job_find(n, sl_job_number(whole));
	return job && !strcmp(job->name, whole) ? job : j;
}

/* The path of a rule by its name. */
static const char *path_of(const struct node *n, const char *name)
{
	for (size_t i = 0; n->rules && i < n->rules->config.rules_count; i++)
		if (!strcmp(all_rules(n)[i].name, name))
			return all_rules(n)[i].match[SL_RULE_PATH];
	return NULL;
}

/* The job as rules see it; name: room for that of a part. */
static struct sl_rule_job seen_as(const struct node *n, const struct node_job *j,
				  char name[SL_JOB_NAME_MAX])
{
	const char *tag = sl_tag_of(j->name), *path = NULL;
	const struct user *u = n->rules ? find_user(n->rules, j->owner.uid) : NULL;

	snprintf(name, SL_JOB_NAME_MAX, "%s", n->site ? site_short(j) : j->name);
	if (tag && *tag == SL_TAG_RULE) {
		path = path_of(n, tag + 1);
		j = job_of_part(n, j, tag, name);
	}
	return (struct sl_rule_job){ .value = { [SL_RULE_USER] = u ? u->name : NULL,
						[SL_RULE_GROUP] = u ? u->groups : NULL,
						[SL_RULE_ACCOUNT] = j->owner.account,
						[SL_RULE_QOS] = j->owner.qos,
						[SL_RULE_PARTITION] = j->owner.partition,
						[SL_RULE_JOB] = name,
						[SL_RULE_PATH] = path },
				     .title = j->title[0] ? j->title : NULL };
}

/* Its limits on operations and calls that are not its own alone. */
static void share_meters(struct node *n, struct node_job *j, const struct sl_rule_job *job)
{
	for (unsigned m = 0; m < SL_METERS; m++) {
		uint64_t limit;
		const struct sl_rule *rule = meter_rule(n, j, m, &limit);

		joint_set(n, j, m, sl_rule_bucket(rule, job), limit);
	}
}

void rules_job(struct node *n, struct node_job *j)
{
	char name[SL_JOB_NAME_MAX];
	const struct sl_rule_job job = seen_as(n, j, name);
	const struct sl_rule *rule;
	uint64_t bucket;

	j->rights = j->asked;
	sl_rules_match(n->rules ? all_rules(n) : NULL, n->rules ? n->rules->config.rules_count : 0,
		       &job, &j->rule);
	if (n->rules)
		sl_rules_clamp(all_rules(n), &j->rule, &j->rights);
	/* Without a capacity there is nothing to guarantee. */
	if (j->rule.whole >= 0 && (all_rules(n)[j->rule.whole].says & SL_SAYS_MIN) && !n->layer_bps)
		j->rights.min_bps = 0;
	rule = bytes_rule(n, j);
	bucket = sl_rule_bucket(rule, &job);
	j->bucket_bps = bucket && rule ? rule->max_bps : 0;
	if (bucket != j->bucket || !bucket) {
		j->bucket_here_bps = bucket ? standby(n, j) : 0;
		j->bucket_until = 0;
	}
	j->bucket = bucket;
	share_meters(n, j, &job);
}

/* ---- buckets ---- */

static int by_bucket(const void *a, const void *b)
{
	const struct node_job *x = *(struct node_job *const *)a, *y = *(struct node_job *const *)b;

	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* What it can use: unlimited, if requests were waiting for a quarter of the time. */
static double wants(struct node *n, struct node_job *j, sl_time now)
{
	uint64_t moved = j->moved[SL_READ] + j->moved[SL_WRITE];
	sl_time took = now - j->demand.at, waited;
	struct sl_job_stats st;

	if (sl_job_stats(n->sched, j->number, now, &st))
		return 0;
	waited = st.waiting_ns - j->demand.waited_ns;
	if (j->demand.at && took > 0) {
		double rate = (double)(moved - j->demand.moved) * 1e9 / (double)took;

		j->demand.rate_bps = 0.5 * j->demand.rate_bps + 0.5 * rate;
		if (st.queued_requests && (waited >= took / 4 || !j->demand.wanted))
			j->demand.backlogged_until = now + HOLD_NS;
	}
	j->demand.at = now;
	j->demand.moved = moved;
	j->demand.waited_ns = st.waiting_ns;
	if (now < j->demand.backlogged_until) {
		j->demand.wanted = true;
		return SL_ALL;
	}
	j->demand.wanted = j->demand.rate_bps * MORE > (double)j->bucket_bps / 1000;
	return j->demand.wanted ? j->demand.rate_bps * MORE : 0;
}

static void set_here(struct node *n, struct node_job *j, double bps, sl_time now)
{
	double before = (double)j->bucket_here_bps;

	if (bps < before * 1.005 && bps > before * 0.995)
		return;
	j->bucket_here_bps = bps < 1 ? 1 : (uint64_t)bps;
	node_job_apply(n, j, now);
}

/* Jobs of one bucket. */
static void divide(struct node *n, struct node_job **job, size_t count, sl_time now)
{
	struct sl_divide_job *part = n->rules->part;
	uint32_t nodes = n->config->layer_nodes ? n->config->layer_nodes : 1;
	uint32_t idle = 0;

	for (size_t i = 0; i < count; i++) {
		part[i] = (struct sl_divide_job){ .max_bps = SL_ALL,
						  .want_bps = wants(n, job[i], now),
						  .weight = job[i]->rights.weight
								    ? job[i]->rights.weight
								    : 1 };
		idle += !(part[i].want_bps > 0);
	}
	if (now < job[0]->bucket_until)
		return; /* the controller has divided it */
	sl_divide(part, (uint32_t)count, (double)job[0]->bucket_bps / nodes, NULL, now);
	for (size_t i = 0; i < count; i++) {
		job[i]->bucket_until = 0; /* renewing does not revive an expired order */
		set_here(n, job[i],
			 part[i].want_bps > 0 ? part[i].rate_bps
					      : (double)standby(n, job[i]) / idle,
			 now);
	}
}

void rules_divide(struct node *n, sl_time now)
{
	struct rules *r = n->rules;
	size_t count = 0, first = 0;

	if (!r || now - r->divided < DIVIDE_NS)
		return;
	r->divided = now;
	for (const struct node_job *j = n->jobs; j; j = j->next)
		count += j->bucket != 0;
	if (count > r->room) {
		struct node_job **job = reallocarray(r->job, 2 * count, sizeof(struct node_job *));
		struct sl_divide_job *part = reallocarray(r->part, 2 * count, sizeof(*part));

		r->job = job ? job : r->job;
		r->part = part ? part : r->part;
		if (!job || !part)
			return;
		r->room = 2 * count;
	}
	if (!count)
		return;
	turn_account(n, now);
	count = 0;
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->bucket)
			r->job[count++] = j;
	qsort(r->job, count, sizeof(struct node_job *), by_bucket);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && r->job[i]->bucket == r->job[first]->bucket)
			continue;
		divide(n, r->job + first, i - first, now);
		first = i;
	}
}

void rules_order(struct node *n, struct node_job *j, uint64_t bps, sl_time until, sl_time now)
{
	if (!j->bucket || !bps)
		return;
	j->bucket_until = until;
	set_here(n, j, (double)bps, now);
}

/* ---- parts of jobs ---- */

const struct config_job *rules_tag(const struct node *n, const char *job)
{
	const char *tag = n->rules ? sl_tag_of(job) : NULL;

	for (size_t i = 0; tag && i < n->rules->config.tags_count; i++)
		if (!strcmp(n->rules->config.tags[i].name, tag))
			return &n->rules->config.tags[i];
	return NULL;
}

/* A line of the patterns; false: there is no room, which config_parts() does not let happen. */
static bool put_pattern(char out[SL_TURN_TAGS], size_t *used, const char *mark, const char *tag,
			const char *path)
{
	int more = snprintf(out + *used, SL_TURN_TAGS - *used, "%s%s %s\n", mark, tag, path);

	if (more < 0 || (size_t)more >= SL_TURN_TAGS - *used) {
		out[*used] = 0;
		return false;
	}
	*used += (size_t)more;
	return true;
}

void rules_patterns(const struct node *n, const struct node_job *j, char out[SL_TURN_TAGS])
{
	const char mark[] = { SL_TAG_RULE, 0 }, *tag = sl_tag_of(j->name);
	char name[SL_JOB_NAME_MAX];
	struct sl_rule_job job;
	size_t used = 0;
	const struct config *c;

	memset(out, 0, SL_TURN_TAGS);
	if (!n->rules || (tag && *tag == SL_TAG_RULE))
		return;
	c = &n->rules->config;
	job = seen_as(n, j, name);
	for (int i = -1; (i = sl_rules_path(c->rules, c->rules_count, &job, i + 1)) >= 0;)
		put_pattern(out, &used, mark, c->rules[i].name, c->rules[i].match[SL_RULE_PATH]);
	for (size_t i = 0; !tag && i < c->tags_count; i++)
		if (c->tags[i].path)
			put_pattern(out, &used, "", c->tags[i].name, c->tags[i].path);
}

/* ---- the file ---- */

const struct config *rules_config(const struct node *n)
{
	return &n->rules->config;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_jobs(const struct config *a, const struct config *b)
{
	if (a->jobs_count != b->jobs_count)
		return false;
	for (size_t i = 0; i < a->jobs_count; i++)
		if (!same(a->jobs[i].name, b->jobs[i].name) ||
		    !same(a->jobs[i].words, b->jobs[i].words))
			return false;
	return true;
}

/* A key that cannot be changed while a layer is up; NULL: none. */
static const char *fixed_key(const struct config *a, const struct config *b)
{
	static const bool may[CONFIG_KEYS] = {
		[CONFIG_CAPACITY] = true, [CONFIG_MODE] = true, [CONFIG_LOG_LEVEL] = true
	};

	for (int k = 0; k < CONFIG_KEYS; k++)
		if (!may[k] && !same(a->value[k], b->value[k]))
			return config_keys[k].name;
	if (!same_jobs(a, b))
		return "jobs";
	for (int i = CONFIG_NODE_STAGES; i < CONFIG_STAGES; i++)
		if (!same(a->policy[i], b->policy[i]))
			return config_stages[i]; /* the controller's: 'sluice policy set' */
	if (a->dashboard != b->dashboard || !same(a->dashboard_host, b->dashboard_host) ||
	    !same(a->dashboard_port, b->dashboard_port))
		return "dashboard";
	return NULL;
}

int rules_read(const struct node *n, struct config *out, char err[CONFIG_TEXT])
{
	const char *key;
	int rc;

	if (!n->rules) {
		snprintf(err, CONFIG_TEXT,
			 "the layer was started without a configuration file; 'sluice up --config "
			 "FILE'");
		return -ENOENT;
	}
	rc = config_read(out, n->config->file, err);
	if (rc)
		return rc;
	key = fixed_key(&n->rules->config, out);
	if (!key)
		return 0;
	snprintf(err, CONFIG_TEXT,
		 "%.200s: '%s' cannot change while the layer is up: 'sluice down', then 'sluice "
		 "up'",
		 n->config->file, key);
	config_free(out);
	return -EINVAL;
}

/* Counters go on for rules of the same name. */
static void keep_counts(struct rules *r, const struct config *fresh)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->counts; i++)
		for (size_t k = 0; k < fresh->rules_count; k++)
			if (!strcmp(r->config.rules[r->count[i].rule].name, fresh->rules[k].name)) {
				r->count[kept] = r->count[i];
				r->count[kept++].rule = (unsigned)k;
				break;
			}
	r->counts = kept;
}

void rules_take(struct node *n, struct config *fresh, sl_time now)
{
	struct rules *r = n->rules;

	keep_counts(r, fresh);
	config_free(&r->config);
	r->config = *fresh;
	r->error[0] = 0;
	r->taken_at = time(NULL);
	r->divided = 0;
	for (struct node_job *j = n->jobs; j; j = j->next)
		node_job_rules(n, j, now);
}

void rules_refused(struct node *n, const char *why)
{
	if (n->rules)
		snprintf(n->rules->error, sizeof(n->rules->error), "%s", why);
}

int rules_start(struct node *n)
{
	char err[CONFIG_TEXT];
	int rc;

	if (!n->config->file)
		return 0;
	n->rules = calloc(1, sizeof(*n->rules));
	if (!n->rules)
		return -ENOMEM;
	/*
	 * `sluice up` has checked it. A node that is revived later must not fail because somebody
	 * has begun to edit it.
	 */
	rc = config_read(&n->rules->config, n->config->file, err);
	if (rc) {
		log_error("configuration refused, there are no rules: %s", err);
		rules_refused(n, err);
	} else {
		n->rules->taken_at = time(NULL);
	}
	rules_know(n, geteuid());
	return 0;
}

void rules_stop(struct node *n)
{
	struct rules *r = n->rules;

	if (!r)
		return;
	free(n->joint_part);
	free(n->joint_divide);
	for (size_t i = 0; i < r->users; i++) {
		free(r->user[i].name);
		free(r->user[i].groups);
	}
	config_free(&r->config);
	free(r->user);
	free(r->count);
	free(r->job);
	free(r->part);
	free(r);
	n->rules = NULL;
}

/* ---- counters ---- */

static struct count *count_of(struct rules *r, unsigned rule, uint32_t uid)
{
	struct count *more;

	for (size_t i = 0; i < r->counts; i++)
		if (r->count[i].rule == rule && r->count[i].uid == uid)
			return &r->count[i];
	if (r->counts == COUNTS)
		return NULL;
	more = reallocarray(r->count, r->counts + 1, sizeof(*more));
	if (!more)
		return NULL;
	r->count = more;
	r->count[r->counts] = (struct count){ .rule = rule, .uid = uid };
	return &r->count[r->counts++];
}

/* Of 10,000 threads in a second; more is what a program has written into its segment. */
#define HELD_MOST UINT64_C(10000000000000)

static struct count *count_by(struct node *n, const struct node_job *j, const struct sl_rule *rule)
{
	return rule ? count_of(n->rules, (unsigned)(rule - all_rules(n)), j->owner.uid) : NULL;
}

static struct count *count_at(struct node *n, const struct node_job *j, enum sl_rule_op op)
{
	int index = n->rules ? j->rule.rule[op] : -1;

	return index < 0 ? NULL : count_of(n->rules, (unsigned)index, j->owner.uid);
}

/*
 * The rule whose limit on operations or calls held the job: the one that it came nearest to. NULL:
 * none.
 */
static const struct sl_rule *holding_rule(const struct node *n, const struct node_job *j,
					  const struct rules_done *done)
{
	const struct sl_rule *found = NULL;
	double most = -1;

	for (unsigned m = 0; m < SL_METERS; m++) {
		uint64_t limit, made;
		const struct sl_rule *rule = meter_rule(n, j, m, &limit);

		made = m < SL_CLASSES	    ? j->ops.made[m] - j->ops.rate_made[m]
		       : m == SL_METER_OPS  ? done->ops
		       : m == SL_METER_IOPS ? j->calls - j->rate_requests
		       : m == SL_METER_READ ? done->moved[SL_READ]
					    : done->moved[SL_WRITE];
		if (!rule || (j->ops.asked.max[m] && j->ops.asked.max[m] < limit) ||
		    (double)made / (double)limit <= most)
			continue;
		found = rule;
		most = (double)made / (double)limit;
	}
	return found;
}

static void count_held(struct count *c, uint64_t held_ns)
{
	if (!c || !held_ns)
		return;
	c->held_ns += held_ns;
	c->hits++;
}

void rules_count(struct node *n, const struct node_job *j, const struct rules_done *done)
{
	const struct sl_rule *rule = bytes_rule(n, j);
	struct count *c;

	for (int op = SL_RULE_READS; op <= SL_RULE_WRITES; op++)
		if ((c = count_at(n, j, (enum sl_rule_op)op)))
			c->bytes += done->moved[op == SL_RULE_READS ? SL_READ : SL_WRITE];
	if ((c = count_at(n, j, SL_RULE_METADATA)))
		c->ops += done->ops;
	/* If the job's own max is smaller, the rule did not hold it. */
	if (rule && (j->bucket || j->rights.max_bps == rule->max_bps))
		count_held(count_by(n, j, rule), done->held_ns > 0 ? (uint64_t)done->held_ns : 0);
	if (done->ops_held_ns && (rule = holding_rule(n, j, done)))
		count_held(count_by(n, j, rule),
			   done->ops_held_ns < HELD_MOST ? done->ops_held_ns : HELD_MOST);
}

void rules_status(const struct node *n, struct status *s)
{
	const struct rules *r = n->rules;

	if (!r)
		return;
	s->config_file = n->config->file;
	s->config_rules = (double)r->config.rules_count;
	s->config_loaded = (double)r->taken_at;
	s->config_error = r->error[0] ? r->error : NULL;
}

/* In the list of rules: the same as `config` of the status. */
static void put_config(struct json *j, const struct node *n)
{
	struct status s = { 0 };

	rules_status(n, &s);
	json_object(j, "config");
	json_string(j, "file", s.config_file);
	json_uint(j, "rules", (uint64_t)s.config_rules);
	json_uint(j, "loaded", (uint64_t)s.config_loaded);
	json_string(j, "error", s.config_error);
	json_end(j);
}

static void put_rule(struct json *j, const struct node *n, unsigned index)
{
	const struct sl_rule *rule = &n->rules->config.rules[index];
	uint64_t jobs = 0, bytes = 0, made = 0, held = 0, hits = 0;
	char ops[sizeof("read,write,metadata")] = "";

	for (const struct node_job *job = n->jobs; job; job = job->next) {
		bool now = job->rule.whole == (int)index;

		for (int op = 0; op < SL_RULE_OPS; op++)
			now |= job->rule.rule[op] == (int)index;
		jobs += now;
	}
	for (size_t i = 0; i < n->rules->counts; i++)
		if (n->rules->count[i].rule == index) {
			bytes += n->rules->count[i].bytes;
			made += n->rules->count[i].ops;
			held += n->rules->count[i].held_ns;
			hits += n->rules->count[i].hits;
		}
	json_object(j, NULL);
	json_string(j, "name", rule->name);
	json_uint(j, "line", rule->line);
	json_object(j, "match");
	for (int k = 0; k < SL_RULE_KEYS; k++)
		if (rule->match[k])
			json_string(j, sl_rule_keys[k], rule->match[k]);
	for (int op = 0; op < SL_RULE_OPS; op++)
		if (rule->ops & 1U << op) {
			snprintf(ops + strlen(ops), sizeof(ops) - strlen(ops), "%s%s",
				 ops[0] ? "," : "", sl_rule_ops[op]);
		}
	if (ops[0])
		json_string(j, "op", ops);
	json_end(j);
	json_string(j, "per", sl_rule_pers[rule->per]);
	if (rule->says & SL_SAYS_MIN)
		json_uint(j, "min_bps", rule->min_bps);
	if (rule->says & SL_SAYS_MAX)
		json_uint(j, "max_bps", rule->max_bps);
	if (rule->says & SL_SAYS_MIN_OPS)
		json_uint(j, "min_ops", rule->min_ops);
	if (rule->says & SL_SAYS_BURST)
		json_uint(j, "burst_bytes", rule->burst_bytes);
	if (rule->says & SL_SAYS_WEIGHT)
		json_uint(j, "weight", rule->weight);
	for (int m = 0; m < SL_METERS; m++)
		if (rule->meter[m])
			json_uint(j, sl_meter_keys[m], rule->meter[m]);
	json_uint(j, "jobs", jobs);
	json_uint(j, "bytes", bytes);
	json_uint(j, "operations", made);
	json_double(j, "held_s", (double)held / 1e9);
	json_uint(j, "hits", hits);
	json_array(j, "users");
	for (size_t i = 0; i < n->rules->counts; i++) {
		const struct count *c = &n->rules->count[i];
		const char *name = user_name(n->rules, c->uid);

		if (c->rule != index)
			continue;
		json_object(j, NULL);
		json_string(j, "user", name[0] ? name : NULL);
		json_uint(j, "uid", c->uid);
		json_uint(j, "bytes", c->bytes);
		json_uint(j, "operations", c->ops);
		json_double(j, "held_s", (double)c->held_ns / 1e9);
		json_uint(j, "hits", c->hits);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

int rules_json(struct node *n, char **out)
{
	struct json j;
	size_t size;
	FILE *f = open_memstream(out, &size);

	if (!f)
		return ENOMEM;
	json_begin(&j, f);
	json_object(&j, NULL);
	put_config(&j, n);
	json_array(&j, "rules");
	for (unsigned i = 0; n->rules && i < n->rules->config.rules_count; i++)
		put_rule(&j, n, i);
	json_end(&j);
	json_end(&j);
	return fclose(f) ? ENOMEM : 0;
}
