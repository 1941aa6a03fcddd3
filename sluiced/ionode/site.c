/* SPDX-License-Identifier: Apache-2.0 */
/* A layer for all users of a machine: users, rights, names, audit. See site.h. */
#include "sluiced/ionode/site.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/json.h"
#include "base/log.h"
#include "sluiced/ionode/turn.h"

#define USERS	     4096
#define AUDITS_PER_S 20
#define AUDIT_BYTES  (UINT64_C(64) << 20) /* at this size it is renamed and a new file begins */

struct site {
	struct node_user *users;
	uint32_t count;
	int audit; /* -1: none */
};

/* ---- options ---- */

static bool number(const char *text, unsigned long most, unsigned long *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoul(text, &end, 10);
	return !*end && !errno && *out <= most;
}

static bool add_admin(struct site_config *c, const char *word)
{
	const struct passwd *user = NULL;
	const struct group *group = NULL;
	unsigned long id;

	if (c->admins == SITE_ADMINS || c->admin_groups == SITE_ADMINS)
		return false;
	if (word[0] == '@') {
		bool numeric = number(word + 1, UINT32_MAX - 1, &id);

		/* cppcheck-suppress getgrnamCalled ; there is one thread yet */
		if (!numeric && !(group = getgrnam(word + 1)))
			return false;
		c->admin_group[c->admin_groups++] = numeric ? (gid_t)id : group->gr_gid;
		return true;
	}
	if (number(word, UINT32_MAX - 1, &id))
		c->admin[c->admins++] = (uid_t)id;
	/* cppcheck-suppress getpwnamCalled ; there is one thread yet */
	else if ((user = getpwnam(word)))
		c->admin[c->admins++] = user->pw_uid;
	else
		return false;
	return true;
}

const char *site_admins(struct site_config *c, const char *list)
{
	static char copy[1024];
	char *save = NULL;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save))
		if (!add_admin(c, w))
			return w;
	return NULL;
}

const char *site_limits(struct site_config *c, const char *list)
{
	const struct {
		const char *key;
		uint32_t *value;
	} keys[] = { { "jobs", &c->jobs },
		     { "connections", &c->connections },
		     { "weight", &c->weight },
		     { "requests", &c->requests_per_s } };
	static char copy[256];
	char *save = NULL;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		char *value = strchr(w, '=');
		unsigned long count = 0;
		size_t i = 0;

		if (!value)
			return w;
		*value++ = 0;
		while (i < sizeof(keys) / sizeof(keys[0]) && strcmp(keys[i].key, w) != 0)
			i++;
		if (i == sizeof(keys) / sizeof(keys[0]) || !number(value, 1000000, &count) ||
		    !count)
			return w;
		*keys[i].value = (uint32_t)count;
	}
	return NULL;
}

/* ---- truncated segments ---- */

static volatile sig_atomic_t cut;

/* The page was truncated: map an empty one and continue. */
static void on_bus(int number_, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;
	void *got = MAP_FAILED;

	(void)context;
	if (info->si_code == BUS_ADRERR)
		got = mmap((void *)page, 4096, PROT_READ | PROT_WRITE,
			   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (got == MAP_FAILED) {
		signal(number_, SIG_DFL);
		raise(number_);
	}
	cut = 1;
}

void site_tick(struct node *n)
{
	bool was = cut;

	if (!n->site)
		return;
	cut = 0;
	for (struct node_job *j = n->jobs; j; j = j->next) {
		struct node_who owner = { .uid = j->uid };
		int rc = j->turn ? turn_job_check(n, j) : 0;

		if (!rc)
			continue;
		site_audit(n, &owner, "segment", j->name, false,
			   rc == -EFBIG ? "the segment was made larger; it is cut"
					: "the segment was cut; the job is forgotten");
		if (rc != -EFBIG) {
			turn_abandon(n, j->turn);
			turn_revoke(n, j->turn, node_now());
			if (!j->inside) /* else with the next tick */
				turn_job_forget(n, j);
		}
	}
	turn_rooms_check(n);
	if (was)
		log_warn("memory was cut under the node");
}

/* ---- start and end ---- */

static int write_root(const struct node *n)
{
	char path[PATH_MAX], text[PATH_MAX + 2];
	const char *slash = strrchr(n->config->daemon.socket, '/');
	int fd, length, rc = 0;

	if (!slash)
		return -EINVAL;
	snprintf(path, sizeof(path), "%.*s/root", (int)(slash - n->config->daemon.socket),
		 n->config->daemon.socket);
	length = snprintf(text, sizeof(text), "%s\n", n->config->root);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno; /* root's: `sluice up` wrote it */
	if (fchmod(fd, 0644) || write(fd, text, (size_t)length) != length)
		rc = -errno;
	close(fd);
	return rc;
}

int site_start(struct node *n)
{
	const struct site_config *c = n->config->site;
	struct sigaction bus = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_NODEFER };
	int rc;

	if (!c->on)
		return 0;
	n->site = calloc(1, sizeof(*n->site));
	if (!n->site)
		return -ENOMEM;
	n->site->audit = -1;
	if (geteuid() == 0) {
		fprintf(stderr, "sluiced: a layer for all users does not run as root; start it as "
				"an account of its own\n");
		return -EPERM;
	}
	if (n->config->daemon.listen) {
		fprintf(stderr, "sluiced: a layer for all users gives turns only; it opens no "
				"files for other machines (--listen)\n");
		return -EINVAL;
	}
	if (c->audit) {
		n->site->audit = open(c->audit,
				      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
		if (n->site->audit < 0) {
			rc = -errno;
			fprintf(stderr, "sluiced: cannot open %s: %s\n", c->audit, strerror(errno));
			return rc;
		}
	}
	sigaction(SIGBUS, &bus, NULL);
	rc = write_root(n);
	if (rc)
		fprintf(stderr, "sluiced: cannot write the file 'root' beside %s: %s\n",
			n->config->daemon.socket, strerror(-rc));
	return rc;
}

void site_stop(struct node *n)
{
	struct node_user *u, *next;

	if (!n->site)
		return;
	for (u = n->site->users; u; u = next) {
		next = u->next;
		free(u->status);
		free(u);
	}
	if (n->site->audit >= 0)
		close(n->site->audit);
	free(n->site);
	n->site = NULL;
}

/* ---- users ---- */

struct node_user *site_enter(struct node *n, const struct sl_peer *peer)
{
	struct site *s = n->site;
	struct node_user **p = &s->users, *u;

	while ((u = *p) && u->uid != peer->uid) {
		if (u->connections || node_now() - u->filled_ns < INT64_C(60000000000)) {
			p = &u->next;
			continue;
		}
		*p = u->next; /* unused for long */
		s->count--;
		free(u->status);
		free(u);
	}
	if (!u) {
		if (s->count == USERS || !(u = calloc(1, sizeof(*u))))
			return NULL;
		u->uid = peer->uid;
		u->filled_ns = node_now();
		u->requests = n->config->site->requests_per_s;
		u->audits = 5 * AUDITS_PER_S;
		u->next = s->users;
		s->users = u;
		s->count++;
	}
	if (u->connections >= n->config->site->connections) {
		struct node_who who = { .uid = peer->uid, .pid = peer->pid, .user = u };

		site_audit(n, &who, "connect", NULL, false, "too many connections of this user");
		return NULL;
	}
	u->connections++;
	return u;
}

void site_leave(struct node *n, struct node_user *u)
{
	(void)n;
	u->connections--;
}

bool site_is_admin(const struct node *n, const struct sl_peer *peer)
{
	const struct site_config *c = n->config->site;

	if (peer->uid == 0 || peer->uid == geteuid())
		return true;
	for (uint32_t i = 0; i < c->admins; i++)
		if (c->admin[i] == peer->uid)
			return true;
	for (uint32_t i = 0; i < c->admin_groups; i++)
		if (sl_peer_in(peer, c->admin_group[i]))
			return true;
	return false;
}

static void fill(const struct node *n, struct node_user *u, sl_time now)
{
	double s = (double)(now - u->filled_ns) / 1e9, rate = n->config->site->requests_per_s;

	if (s <= 0)
		return;
	u->filled_ns = now;
	u->requests = u->requests + s * rate < rate ? u->requests + s * rate : rate;
	u->audits += s * AUDITS_PER_S;
	u->audits = u->audits < 5 * AUDITS_PER_S ? u->audits : 5 * AUDITS_PER_S;
}

bool site_budget(const struct node *n, struct node_user *u, sl_time now)
{
	fill(n, u, now);
	if (u->requests < 1)
		return false;
	u->requests -= 1;
	return true;
}

/* ---- rights ---- */

bool site_allows(const struct node_who *who, const char *command)
{
	static const char *const everybody[] = { "status", "ping", "job", "set", "where", "phase" };

	for (size_t i = 0; i < sizeof(everybody) / sizeof(everybody[0]); i++)
		if (!strcmp(command, everybody[i]))
			return true;
	return who->admin;
}

/* "007" and "7" are one job: as sl_job_number() has it. */
static int full_name(uid_t uid, const char *name, char full[SL_JOB_NAME_MAX])
{
	bool decimal = *name && !name[strspn(name, "0123456789")];

	while (decimal && name[0] == '0' && name[1])
		name++;
	return snprintf(full, SL_JOB_NAME_MAX, "%u/%s", (unsigned)uid, name) < SL_JOB_NAME_MAX
		       ? 0
		       : -EINVAL;
}

int site_name(const struct node_who *who, const char *asked, char full[SL_JOB_NAME_MAX],
	      bool *other)
{
	size_t owner = strspn(asked, "0123456789");
	struct sl_cgroup group = { .kind = SL_CGROUP_NONE };
	unsigned long uid = who->uid;
	char digits[16], own[SL_JOB_NAME_MAX + SL_TAG_MAX];
	const char *tag;
	size_t length;

	*other = false;
	if (owner && asked[owner] == '/') { /* "1000/42" */
		if (owner >= sizeof(digits))
			return -EINVAL;
		memcpy(digits, asked, owner);
		digits[owner] = 0;
		if (!number(digits, UINT32_MAX - 1, &uid))
			return -EINVAL;
		if (!who->admin && uid != who->uid)
			return -EPERM;
		asked += owner + 1;
	}
	if (!*asked)
		return -EINVAL;
	if (!who->admin && who->pid > 0)
		sl_cgroup_of(who->pid, &group);
	tag = sl_tag_of(asked);
	length = tag ? (size_t)(tag - 1 - asked) : strlen(asked);
	if (group.kind == SL_CGROUP_SLURM &&
	    (strlen(group.job) != length || memcmp(group.job, asked, length) != 0)) {
		*other = true;
		snprintf(own, sizeof(own), tag ? "%s:%s" : "%s", group.job, tag);
		asked = own;
	}
	return full_name((uid_t)uid, asked, full);
}

const char *site_short(const struct node_job *j)
{
	const char *slash = strchr(j->name, '/');

	return slash ? slash + 1 : j->name;
}

const char *site_refuses(const struct node *n, const struct node_who *who, const struct node_job *j,
			 const struct sl_job_conf *conf, const struct sl_ops_conf *ops)
{
	const struct sl_job_conf none = { 0 }, *given = j ? &j->given : &none,
				 *now = j ? &j->asked : &none;
	const struct sl_ops_conf no_ops = { 0 }, *given_ops = j ? &j->given_ops : &no_ops;
	uint32_t weight = given->weight ? given->weight : n->config->site->weight;

	if (!n->site || who->admin)
		return NULL;
	if (conf->min_bps > now->min_bps && conf->min_bps > given->min_bps)
		return "only an administrator gives a min";
	if (given->max_bps && (!conf->max_bps || conf->max_bps > given->max_bps))
		return "the max is above what an administrator has set";
	if (given->max_bps && conf->burst_bytes > now->burst_bytes &&
	    conf->burst_bytes > given->burst_bytes)
		return "the burst is above what an administrator has set";
	if (conf->weight > weight)
		return "the weight is above what an administrator has set";
	for (int q = 0; q < SL_QUEUES; q++)
		if (ops->min[q] > given_ops->min[q] && ops->min[q] > (j ? j->ops.asked.min[q] : 0))
			return "only an administrator gives a min of operations";
	for (int c = 0; c < SL_CLASSES; c++)
		if (ops->weight[c] > given_ops->weight[c] &&
		    ops->weight[c] > (j ? j->ops.asked.weight[c] : 0))
			return "only an administrator gives a weight of a class";
	for (int m = 0; m < SL_METERS; m++)
		if (given_ops->max[m] && (!ops->max[m] || ops->max[m] > given_ops->max[m]))
			return "a limit on operations, calls or one direction is above what an "
			       "administrator has set";
	return NULL;
}

bool site_owns(const struct node_who *who, pid_t pid)
{
	char path[32];
	struct stat st;

	if (who->admin || pid == who->pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) == 0 && st.st_uid == who->uid;
}

/* ---- audit ---- */

/* The writer breaks lines between members. Newlines in texts are escaped. */
static size_t one_line(char *text)
{
	char *to = text;

	for (const char *c = text; *c; c++)
		if (*c == '\n')
			c += strspn(c + 1, " ");
		else
			*to++ = *c;
	*to++ = '\n';
	return (size_t)(to - text);
}

static void audit_line(struct node *n, const struct node_who *who, const char *what,
		       const char *job, bool accepted, const char *why, uint64_t left_out)
{
	struct json j;
	struct timespec ts;
	struct stat st;
	char *text = NULL, old[PATH_MAX];
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int64_t ms;

	if (!f)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	json_begin(&j, f);
	json_object(&j, NULL);
	json_double(&j, "time", (double)ms / 1000);
	json_uint(&j, "uid", who->uid);
	json_int(&j, "pid", who->pid);
	json_string(&j, "what", what);
	json_string(&j, "job", job);
	json_string(&j, "verdict", accepted ? "accepted" : "refused");
	json_string(&j, "why", why);
	if (left_out)
		json_uint(&j, "left_out", left_out);
	json_end(&j);
	if (fclose(f) == 0) {
		size = one_line(text);
		if (fstat(n->site->audit, &st) == 0 && (uint64_t)st.st_size > AUDIT_BYTES &&
		    snprintf(old, sizeof(old), "%s.1", n->config->site->audit) < PATH_MAX &&
		    rename(n->config->site->audit, old) == 0) {
			int fresh = open(n->config->site->audit,
					 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);

			if (fresh >= 0) {
				close(n->site->audit);
				n->site->audit = fresh;
			}
		}
		if (write(n->site->audit, text, size) != (ssize_t)size)
			log_error("audit: %s", strerror(errno));
	}
	free(text);
}

void site_audit(struct node *n, const struct node_who *who, const char *what, const char *job,
		bool accepted, const char *why)
{
	struct node_user *u = who->user;
	uint64_t left_out = 0;

	if (!n->site || n->site->audit < 0)
		return;
	if (u) {
		fill(n, u, node_now());
		if (u->audits < 1) {
			u->unaudited++;
			return;
		}
		u->audits -= 1;
		left_out = u->unaudited;
		u->unaudited = 0;
	}
	audit_line(n, who, what, job, accepted, why, left_out);
}
