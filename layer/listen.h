/* SPDX-License-Identifier: Apache-2.0 */
/* A layer that programs on other machines use, over TCP: its secret, and where it is to be found.
 */
#ifndef SL_LAYER_LISTEN_H
#define SL_LAYER_LISTEN_H

#include "layer/layer.h"

/* A secret of the layer's own, made if there is none yet. The lock is held. */
int layer_secret(const struct layer *l, char path[PATH_MAX]);
/* A new file with a secret in it. */
int layer_make_secret(const char *path);
/* The port at which a node listens, as its log says; 0: it does not. */
unsigned layer_port(const char *log);
/* The node has started with --listen at: remember where others reach it. */
int layer_note_address(const struct layer *l, const char *at);
/* The address that was remembered: "node7:4444". 0 or -errno. */
int layer_address(const struct layer *l, char out[300]);

#endif
