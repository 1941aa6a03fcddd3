/* SPDX-License-Identifier: Apache-2.0 */
/* The emergency switch: see open.c. */
#ifndef SL_CLI_OPEN_H
#define SL_CLI_OPEN_H

/* cmd: "open" or "close", what all nodes are told; name NULL: the default layer; controller: its
 * socket, for the nodes of all machines. An exit status. */
int open_switch(const char *cmd, const char *name, const char *controller);

#endif
