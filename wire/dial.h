/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a controller, for I/O nodes and for the other controller. */
#ifndef SL_WIRE_DIAL_H
#define SL_WIRE_DIAL_H

/*
 * Connect to PATH or HOST:PORT and say who one is, "@ionode" for example; secret_file: what is to
 * be known over TCP, or NULL. A blocking socket, or negative errno.
 */
int controller_dial(const char *address, const char *secret_file, const char *who);

#endif
