/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process as client of an I/O node: one connection, made at the first use, shared by all its
 * threads. Used by the preloaded library and by programs of the project. Depends on libc alone,
 * allocates with mmap (it may run inside malloc's caller), and prints nothing but one line when
 * it gives up on the node.
 *
 * A *remote file* is an open file description that was passed to the node. All calls take the
 * arguments of the system call of that name, and return negative errno instead of -1.
 *
 * Configuration is the environment, set by `sluice run`:
 *	SLUICE_SOCKET    path of the node's socket, or tcp:HOST:PORT; not set: nothing is forwarded
 *	SLUICE_SECRET_FILE  with TCP: file with the secret of the layer
 *	SLUICE_ROOT      directory whose files are forwarded
 *	SLUICE_JOB_ID    else SLURM_JOB_ID PBS_JOBID LSB_JOBID FLUX_JOB_ID, else the session
 *	SLUICE_JOB_CONF  "min=…,max=…,weight=…,period=…", as `sluice run` was given
 *	SLUICE_MODE      "forward": the node makes the calls; else the program does, in its turn
 *	SLUICE_TIMEOUT   how long to wait for a node that does not answer, seconds (5; forward: 30)
 *	SLUICE_FALLBACK  forward: "direct": then use the real descriptor instead of failing with EIO
 *	SLUICE_BYPASS    programs (base names, by commas) that are left alone
 *	SLUICE_GATE      sluice-gate: put it before programs that the library cannot be in; "-":
 *			 behind a gate, leave the calls to it
 *	SLUICE_STRICT    read by sluice-gate: the gate is strict
 *	SLUICE_GATE_WAKE read by sluice-gate: "async": without SYNC_WAKE_UP, for `sluice bench path`
 *	SLUICE_IO_URING  "allow": a gate does not refuse io_uring
 *	SLUICE_LOG       file for that line, or "-" for stderr, which is the default
 */
#ifndef SL_CLIENT_CONN_CLIENT_H
#define SL_CLIENT_CONN_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The state of a descriptor of this process; plain data, owned by the caller. */
struct sl_remote {
	uint64_t dev, ino;     /* identity, checked by the caller before each use */
	_Atomic uint64_t file; /* the node's reference */
	_Atomic uint64_t life; /* connection in which that is valid; 0: not opened there yet */
	int open_flags;	       /* F_GETFL */
	/* NULL, or a cheap check that fd has not been closed or changed since, as far as known.
	 */
	bool (*still)(const struct sl_remote *r);
};

/*
 * Fill in dev, ino and open_flags of fd from the kernel. False: not a regular file, or not open for
 * data.
 */
bool sl_client_look(int fd, struct sl_remote *r);
/*
 * Whether fd still is that file, opened with the same flags. If not, and the call began only a
 * moment ago, it is treated as if it began after the change: it acts on the new file.
 */
#define SL_MOMENT_NS INT64_C(50000000)
bool sl_client_same(int fd, const struct sl_remote *r);

/* Whether this process forwards (environment, bypass list). Cheap; does not connect. */
bool sl_client_enabled(void);
/* The job of this process by the environment; NULL: none. */
const char *sl_client_job(void);
/*
 * After a wait for a node has timed out, until the next search for one: -EIO or -ENOTCONN, the
 * error that calls return meanwhile. Else 0. Cheap.
 */
int sl_client_given_up(void);
/* The directory, canonical, without a trailing slash; NULL when not enabled. */
const char *sl_client_root(void);

/*
 * Move `total` bytes between memory and fd at offset through the node. Opens the file at the node
 * when needed (passing fd), splits into pieces, waits. With append, the node writes at the end of
 * the file through the shared description and offset is ignored. Returns bytes moved (short at the
 * end of the file or when an error followed some success), or negative errno. -ENOTCONN: the node
 * is gone for good and fallback is direct, or it does not take the file: nothing has been done, fd
 * still is that file, and the caller uses it itself. If fd has become another file under the call
 * and the node is lost too, EIO.
 */
ssize_t sl_client_read(struct sl_remote *r, int fd, const struct iovec *iov, size_t total,
		       off_t offset);
ssize_t sl_client_write(struct sl_remote *r, int fd, const struct iovec *iov, size_t total,
			off_t offset, bool append);
/*
 * The node's part of fsync() or fdatasync(): for files that were written over TCP, whose data may
 * be in another machine's memory. 0, or negative errno: -EIO also if the node has restarted since
 * it took data of this file that was not synced. -ENOTCONN: a node has nothing to do. The
 * caller's own fsync() follows in any case, for data that did not go through the node.
 */
int sl_client_fsync(struct sl_remote *r, int fd, bool data_only);
/* The same for the node's whole file system: sync() and syncfs(). */
int sl_client_sync(void);
/*
 * Over TCP: the size of the file as the node has it. 0 or negative errno; -ENOTCONN: as for
 * sl_client_read().
 */
int sl_client_size(struct sl_remote *r, int fd, uint64_t *size);
/* Over TCP: a file that all programs of the layer can open and that contains no data; else NULL. */
const char *sl_client_common(void);
bool sl_client_far(void); /* the node is on another machine, so the call above is useful; cheap */
/*
 * Call it before the descriptor is closed. Returns when the node has closed its own descriptor of
 * the same open file description: before that, locks taken with flock(2) would outlive the
 * program's close(), and executing a file just written would fail with ETXTBSY.
 */
void sl_client_close(struct sl_remote *r);
/* The descriptor of the connection, or -1. The program must not close it or dup2() over it. */
int sl_client_fd(void);
bool sl_client_owns(int fd); /* whether it is that one; cheap */
/* The program wants that number for itself: continue the connection under another one. */
void sl_client_move_fd(void);
/* Call it before the process ends. Returns when the node has closed all of its descriptors. */
void sl_client_bye(void);
/* In the child of fork(): forget the parent's connection. Async-signal-safe. */
void sl_client_after_fork(void);
/*
 * Tell the node that the program begins or ends a phase of I/O. 0; -ENOTCONN: there is no node;
 * or another negative errno.
 */
int sl_client_phase(bool begin);
/* Send a line of text to the node; its answer goes to buf (0-terminated). For the command line. */
int sl_client_control(const char *socket_path, const char *line, char **answer);
/*
 * The same in two halves, so that several nodes are asked at once and a silent one does not use
 * up the time of the others. Pass the result of the first, a socket or -errno, to the second.
 */
int sl_client_control_begin(const char *socket_path, const char *line, int timeout_ms);
int sl_client_control_end(int sock, int timeout_ms, char **answer);

#endif
