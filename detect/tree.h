/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decision tree, such as tells from a stream's pattern and the device which order policy suits
 * it: as a file that people can read and change, and as what the daemon asks. tree-read.c has the
 * format; c45.h learns one.
 *
 * Asking is pure: no allocation, no clock; many threads may ask one tree.
 */
#ifndef SL_DETECT_TREE_H
#define SL_DETECT_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SL_DECISION_NAME       63 /* longest, in bytes */
#define SL_DECISION_ATTRIBUTES 256
#define SL_DECISION_CLASSES    64
#define SL_DECISION_VALUES     256 /* of an attribute */
#define SL_DECISION_NODES      65536
#define SL_DECISION_DEPTH      100
#define SL_DECISION_LEAF       UINT32_MAX
#define SL_DECISION_NONE       UINT32_MAX

struct sl_decision_attribute {
	char name[SL_DECISION_NAME + 1];
	char (*value)[SL_DECISION_NAME + 1];
	uint32_t values; /* 0: it is a number */
};

struct sl_decision_node {
	uint32_t attribute; /* or SL_DECISION_LEAF */
	uint32_t child;	    /* first; inner nodes alone */
	uint32_t next;	    /* sibling, or SL_DECISION_NONE */
	uint32_t value;	  /* number: 0 for <=, 1 for >; else which; of the branch that leads here */
	double threshold; /* of the children, if the attribute is a number */
	uint32_t class_;  /* leaf */
	uint32_t counts;  /* leaf: where in count[] its weights by class are */
	double weight;	  /* of what it was learnt from, or of all beneath */
};

struct sl_decision {
	struct sl_decision_attribute *attribute;
	uint32_t attributes;
	char (*class_)[SL_DECISION_NAME + 1];
	uint32_t classes;
	struct sl_decision_node *node; /* the first is the root */
	uint32_t nodes;
	double *count; /* by class, for each leaf */
	uint32_t counts;
};

/*
 * The class for these values, one for each attribute: a number, or which value from 0; NAN if it
 * is not known (then every branch is gone, by its weight). share: classes of them, what speaks for
 * each, 1 together; may be NULL.
 */
uint32_t sl_decision_choose(const struct sl_decision *t, const double *values, double *share);
/* Its index, or SL_DECISION_NONE. */
uint32_t sl_decision_attribute(const struct sl_decision *t, const char *name);
uint32_t sl_decision_value(const struct sl_decision_attribute *a, const char *name);
uint32_t sl_decision_leaves(const struct sl_decision *t);

/* 0, or -errno with a message in err that names file and line; *out is empty then. */
int sl_decision_parse(const char *file, const char *text, size_t length, struct sl_decision *out,
		      char *err, size_t err_size);
void sl_decision_free(struct sl_decision *t);
/* As a file; the lines of the tree alone, each after `indent`. Write errors stay in f. */
void sl_decision_write(FILE *f, const struct sl_decision *t);
void sl_decision_print(FILE *f, const struct sl_decision *t, const char *indent);

/* ---- for those who make one ---- */

/* A leaf at the end of node[], with counts that are 0; its index, or SL_DECISION_NONE. */
uint32_t sl_decision_add(struct sl_decision *t);
/* weight of all inner nodes from the leaves'; to be called when all nodes are in place. */
void sl_decision_weigh(struct sl_decision *t);

#endif
