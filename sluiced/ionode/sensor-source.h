/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers from outside of the kernel: a file, a command, or a Prometheus endpoint. Each source has
 * a thread that queries it periodically, because any of them may hang: a file on a dead mount, a
 * command in a system call, a name server. No other thread waits for it; when it is stopped, it
 * frees its memory as soon as it returns.
 */
#ifndef SL_SLUICED_IONODE_SENSOR_SOURCE_H
#define SL_SLUICED_IONODE_SENSOR_SOURCE_H

struct sensor_asker;

/*
 * source: file:PATH, command:COMMAND or http://HOST:PORT/PATH#METRIC. NULL: out of memory or
 * threads.
 */
struct sensor_asker *sensor_source_start(const char *source);
/*
 * Does not wait. 0 with the last answer; -EAGAIN: no answer yet; other -errno: the answer was
 * invalid or is too old.
 */
int sensor_source_last(struct sensor_asker *a, double *number);
/* Does not wait. A command that runs is killed. */
void sensor_source_stop(struct sensor_asker *a);

#endif
