/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private layer for a measurement, over the directory of a struct private, started by `sluice up`
 * and used by `sluice run`, as users do. Functions return CLI_OK or an exit status.
 */
#ifndef SL_LAB_PRIVATE_LAYER_H
#define SL_LAB_PRIVATE_LAYER_H

#include "lab/private.h"

/*
 * After private_begin(). From now on p->runtime is the runtime directory of this program and of
 * what it starts. If this program is killed, a process that is started here stops the layer and
 * removes the directories.
 */
int private_layer_begin(struct private *p);
void private_layer_end(struct private *p); /* before private_end() */

/* `sluice up OPTIONS DIR`; options end with NULL, and may be NULL. */
int private_layer_up(struct private *p, const char *const *options);
/* `sluice down`; does nothing if the layer is not up. */
void private_layer_down(struct private *p);

/* The exit status of another command of `sluice`: args are its words, "sluice" first, NULL last. */
int private_layer_command(const struct private *p, const char *const *args);

/* CPU time that its nodes and its controller have used so far. */
int64_t private_layer_cpu_ns(void);
/* Where a layer that was started with --listen is reached, and the file with its secret. */
int private_layer_listens(const struct private *p, char address[300], char secret[PATH_MAX]);

#endif
