/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensors: information about a file system besides the calls of programs. The interface is small,
 * so a new kind is a parser and a line in a table.
 *
 *	block              bytes that the block device beneath has moved (/sys/dev/block/M:N/stat)
 *	nfs                bytes and requests under way of an NFS mount (/proc/self/mountstats)
 *	lustre             RPCs under way of the OSCs of a Lustre client (osc.*.rpc_stats)
 *	queue=SOURCE       a number: requests that the servers have waiting, from
 *	capacity=SOURCE    a number: what the file system can do, in bytes a second, from
 *	                   file:PATH, command:COMMAND, or http://HOST:PORT/PATH#METRIC (Prometheus'
 * text format)
 *
 * Without a word the kind follows from the file system of the directory; many have none. The
 * formats of NFS and Lustre are those that their documentation describes; tests read files that
 * were written after it.
 */
#ifndef SL_SLUICED_IONODE_SENSOR_H
#define SL_SLUICED_IONODE_SENSOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SENSOR_TEXT 300

struct sensor_reading {
	bool has_bytes, has_queue, has_capacity;
	uint64_t bytes[2]; /* read and written, since some time */
	double queue;	   /* requests under way or waiting */
	double busy_s;	   /* has_busy: the sum of the times of all requests, since some time */
	bool has_busy;
	double capacity_bps;
};

struct sensor;

/*
 * word "": choose by the file system of root. Returns 0 with *out NULL if there is no sensor for
 * it; -errno with a message.
 */
int sensor_open(struct sensor **out, const char *word, const char *root, char err[SENSOR_TEXT]);
void sensor_close(struct sensor *s);
const char *sensor_name(const struct sensor *s); /* "none" for NULL */
/* Waits only for the kernel. 0, or -errno: no value now. */
int sensor_read(struct sensor *s, struct sensor_reading *out);
/* Whether a word is one that sensor_open() takes: 0, or -EINVAL with a message. */
int sensor_check(const char *word, char err[SENSOR_TEXT]);

/* ---- parsers: pure; 0 or -EINVAL ---- */

int sensor_parse_number(const char *text,
			double *out); /* the first word; the rest of the text must be blank */
int sensor_parse_block(const char *text, struct sensor_reading *out);
/* The mount with that mount point. */
int sensor_parse_nfs(const char *text, const char *mount, struct sensor_reading *out);
/* Adds to *out: each OSC has a file. */
int sensor_parse_lustre(const char *text, struct sensor_reading *out);
/*
 * The first sample of that name, with or without labels; metric may have labels, written as the
 * endpoint does.
 */
int sensor_parse_prometheus(const char *text, const char *metric, double *out);
/*
 * Of /proc/self/mountinfo: whether another file system is mounted below the directory, and where.
 */
bool sensor_parse_mounts(const char *text, const char *root, char below[PATH_MAX]);

#endif
