/* SPDX-License-Identifier: Apache-2.0 */
/* A layer that programs on other machines use over TCP: its secret and its address.
 */
#ifndef SL_LAYER_LISTEN_H
#define SL_LAYER_LISTEN_H

#include "layer/layer.h"

/*
 * Path of the layer's own secret, which is created if it does not exist. The caller holds the lock.
 */
int layer_secret(const struct layer *l, char path[PATH_MAX]);
/* A new file with a secret in it. */
int layer_make_secret(const char *path);
/* The port of a node, read from its log; 0: it does not listen. */
unsigned layer_port(const char *log);
/* Store the address of a node that was started with --listen at. */
int layer_note_address(const struct layer *l, const char *at);
/* The stored address: "node7:4444". 0 or -errno. */
int layer_address(const struct layer *l, char out[300]);

#endif
