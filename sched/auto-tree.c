/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision trees of order=auto: files as sluice-train(1) writes them, whose attributes are
 * things that a scheduler can see and whose classes are order policies.
 *
 *	op             read, write
 *	spatiality     contiguous, strided, random
 *	size           small, large
 *	files, ratio   numbers
 *	file_bytes a number, unknown before the end (AGIOS's T1 has it): all branches are followed
 *
 * The built-in one is sched/auto.tree: T2 of the shipped matrix,
 *
 *	sluice train tests/data/learn/runs.csv --output sched/auto.tree
 *
 * A tree is kept by name while a lane uses it; naming a file again reads it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slurp.h"
#include "detect/tree.h"
#include "sched/sched.h"

#include "sched/auto-tree.inc"

enum attribute { OP, SPATIALITY, SIZE, FILES, RATIO, FILE_BYTES, ATTRIBUTES };

static const struct {
	const char *name;
	const char *values[4]; /* none: a number */
} known[ATTRIBUTES] = {
	[OP] = { "op", { "read", "write" } },
	[SPATIALITY] = { "spatiality", { "contiguous", "strided", "random" } },
	[SIZE] = { "size", { "small", "large" } },
	[FILES] = { "files", { 0 } },
	[RATIO] = { "ratio", { 0 } },
	[FILE_BYTES] = { "file_bytes", { 0 } },
};

struct sl_advisor {
	struct sl_advisor *next;
	int64_t hash; /* of its name; 0: built in */
	struct sl_decision tree;
	struct {
		enum attribute is;
		/* The tree's value, by our index; NAN: the tree does not have it. */
		double value[4];
	} attribute[ATTRIBUTES];
	uint8_t arm[SL_DECISION_CLASSES];
};

/* ---- reading ---- */

/* Accept only regular files: opening a pipe without a writer would block for ever. */
static FILE *open_file(const char *name)
{
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc = 0;
	struct stat st;
	FILE *f = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st))
		rc = errno;
	else if (!S_ISREG(st.st_mode))
		rc = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	else if (!(f = fdopen(fd, "r")))
		rc = errno;
	if (f)
		return f;
	close(fd);
	errno = rc;
	return NULL;
}

int sl_spec_read(const char *name, char **text, size_t *length)
{
	FILE *f = open_file(name);
	int rc = f ? sl_slurp(f, 16 << 20, text, length) : -errno;

	if (f)
		fclose(f);
	return rc;
}

static int no_attribute(const char *file, const struct sl_decision_attribute *a, char *err,
			size_t err_size)
{
	snprintf(err, err_size,
		 "order/auto: %s: '%s' is not an attribute that a scheduler sees; a tree may use "
		 "op, files, "
		 "spatiality, size and ratio, each once, as in sluice-train(1)",
		 file, a->name);
	return -EINVAL;
}

static int bind_attribute(struct sl_advisor *v, uint32_t i, const char *file, char *err,
			  size_t err_size)
{
	const struct sl_decision_attribute *a = &v->tree.attribute[i];
	unsigned is = 0, numbers;

	while (is < ATTRIBUTES && strcmp(known[is].name, a->name) != 0)
		is++;
	if (is == ATTRIBUTES)
		return no_attribute(file, a, err, err_size);
	numbers = known[is].values[0] == NULL;
	if (numbers != (a->values == 0))
		return no_attribute(file, a, err, err_size);
	v->attribute[i].is = (enum attribute)is;
	for (unsigned k = 0; k < 4; k++) {
		const char *name = known[is].values[k];
		uint32_t value = name ? sl_decision_value(a, name) : SL_DECISION_NONE;

		v->attribute[i].value[k] = value == SL_DECISION_NONE ? (double)NAN : value;
	}
	return 0;
}

static int bind_tree(struct sl_advisor *v, const char *file, char *err, size_t err_size)
{
	int rc;

	/* The attributes' names differ, so there are at most as many as we know. */
	for (uint32_t i = 0; i < v->tree.attributes; i++) {
		if (i == ATTRIBUTES)
			return no_attribute(file, &v->tree.attribute[i], err, err_size);
		if ((rc = bind_attribute(v, i, file, err, err_size)))
			return rc;
	}
	for (uint32_t i = 0; i < v->tree.classes; i++) {
		int arm = sl_auto_find(v->tree.class_[i]);

		if (arm < 0) {
			snprintf(err, err_size,
				 "order/auto: %s: no order policy '%s' to choose; the policies "
				 "are to-agg, to, sjf, mlf, aioli",
				 file, v->tree.class_[i]);
			return -EINVAL;
		}
		v->arm[i] = (uint8_t)arm;
	}
	return 0;
}

static int load(struct sl_sched *s, const char *name, struct sl_advisor *v, char *err,
		size_t err_size)
{
	char *text = NULL;
	size_t length = 0;
	int rc;

	if (!name)
		return sl_decision_parse("the built-in tree", auto_tree, sizeof(auto_tree) - 1,
					 &v->tree, err, err_size);
	rc = s->read ? s->read(s->read_arg, name, &text, &length)
		     : sl_spec_read(name, &text, &length);
	if (rc) {
		snprintf(err, err_size, "order/auto: tree=%s cannot be read: %s", name,
			 rc == -EXDEV ? "give its absolute path" : strerror(-rc));
		return rc;
	}
	rc = sl_decision_parse(name, text, length, &v->tree, err, err_size);
	free(text);
	return rc;
}

const struct sl_advisor *sl_advisor_find(const struct sl_sched *s, int64_t hash)
{
	const struct sl_advisor *v = s->advisors;

	while (v && v->hash != hash)
		v = v->next;
	return v;
}

/* Free the trees that no lane uses any more; else one would stay for each name ever given. */
static void forget_unused(struct sl_sched *s)
{
	struct sl_advisor **at = &s->advisors;

	while (*at) {
		struct sl_advisor *v = *at;
		bool used = v->hash == 0;

		for (uint32_t i = 0; !used && i <= s->limits.jobs; i++)
			used = s->slots[i].own.choice && s->slots[i].own.choice->advisor == v;
		if (used) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		sl_decision_free(&v->tree);
		free(v);
	}
}

struct sl_advisor *sl_advisor_get(struct sl_sched *s, const char *name, char *err, size_t err_size)
{
	int64_t hash = name ? sl_spec_hash(name, strlen(name)) : 0;
	struct sl_advisor *old, *v = calloc(1, sizeof(*v)), *next;

	forget_unused(s);
	old = s->advisors;
	while (old && old->hash != hash)
		old = old->next;
	if (!v) {
		snprintf(err, err_size, "order/auto: no memory for a tree");
		return NULL;
	}
	v->hash = hash;
	if (load(s, name, v, err, err_size) ||
	    bind_tree(v, name ? name : "the built-in tree", err, err_size)) {
		sl_decision_free(&v->tree);
		free(v);
		return NULL;
	}
	if (!old) {
		v->next = s->advisors;
		s->advisors = v;
		return v;
	}
	/* Replace it in place: other lanes may use it. */
	next = old->next;
	sl_decision_free(&old->tree);
	*old = *v;
	old->next = next;
	free(v);
	return old;
}

void sl_advisors_free(struct sl_sched *s)
{
	while (s->advisors) {
		struct sl_advisor *v = s->advisors;

		s->advisors = v->next;
		sl_decision_free(&v->tree);
		free(v);
	}
}

/* ---- asking ---- */

unsigned sl_advisor_ask(const struct sl_advisor *v, const struct sl_access_pattern *p, double ratio,
			double share[SL_AUTO_ARMS])
{
	double values[ATTRIBUTES], by_class[SL_DECISION_CLASSES];
	uint32_t chosen;

	for (uint32_t i = 0; i < v->tree.attributes; i++) {
		switch (v->attribute[i].is) {
		case OP:
			values[i] = v->attribute[i].value[p->op == SL_WRITE];
			break;
		case SPATIALITY:
			values[i] =
				p->spatial == SL_ACCESS_UNKNOWN
					? NAN
					: v->attribute[i].value[p->spatial - SL_ACCESS_CONTIGUOUS];
			break;
		case SIZE:
			values[i] = p->size == SL_ACCESS_NO_SIZE
					    ? NAN
					    : v->attribute[i].value[p->size == SL_ACCESS_LARGE];
			break;
		case FILES:
			values[i] = p->files;
			break;
		case RATIO:
			values[i] = ratio;
			break;
		case FILE_BYTES:
		case ATTRIBUTES:
			values[i] = NAN;
			break;
		}
	}
	chosen = sl_decision_choose(&v->tree, values, by_class);
	memset(share, 0, SL_AUTO_ARMS * sizeof(share[0]));
	for (uint32_t i = 0; i < v->tree.classes; i++)
		share[v->arm[i]] += by_class[i];
	return v->arm[chosen];
}
