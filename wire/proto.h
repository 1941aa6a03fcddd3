/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between a client and an I/O node, as data: encoding and decoding, no I/O.
 *
 * A connection is one process of one job. Both sides send *frames* over a stream socket: a
 * header of 64 bytes, little-endian, then `length` bytes of payload. The client begins with
 * HELLO, the node answers WELCOME or a REPLY with an error and hangs up. Then the client sends
 * requests, each with a tag of its choice, and gets one REPLY with that tag for each, in any
 * order. On one machine the data does not travel in frames: WELCOME carries two descriptors
 * (SCM_RIGHTS), a segment of this client and the doorbells of the node: see shm.h.
 *
 *	 0  u32 magic     "SLU" and the version of the header
 *	 4  u16 type      enum sl_frame_type
 *	 6  u16 flags     enum sl_frame_flags
 *	 8  u32 length    of the payload
 *	12  i32 status    REPLY: 0 or a positive errno
 *	16  u64 tag
 *	24  u64 job
 *	32  u64 file      reference, as OPEN's reply gave it
 *	40  u64 offset
 *	48  u64 count     bytes asked for, or moved
 *	56  u64 epoch     the node's life: differs each time a node starts
 */
#ifndef SL_WIRE_PROTO_H
#define SL_WIRE_PROTO_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_PROTO_VERSION 4
#define SL_FRAME_MAGIC	 0x31554c53U /* "SLU1" */
#define SL_FRAME_BYTES	 64
#define SL_SEALED_BYTES \
	80 /* over TCP after the greeting: the header, a stamp, and a seal; auth.h */
#define SL_NONCE_BYTES	  64
#define SL_PROOF_BYTES	  32
#define SL_CREDENTIAL_MAX 2048 /* with its end, which is not sent */
#define SL_MAX_PAYLOAD	  (4U << 20)
#define SL_JOB_NAME_MAX	  64
#define SL_TAG_MAX	  32  /* of a part of a job, with its end */
#define SL_TAG_COLON	  ':' /* a part is a job by the name JOB:TAG */
#define SL_TAG_RULE	  '@' /* before a tag that is the name of a rule with a path */
#define SL_OWNER_MAX	  48  /* name of an account and the like, with its end */
#define SL_PATH_BYTES	  4096
#define SL_TCP_DATA_BYTES (256U << 10) /* of one PREAD or PWRITE over TCP */

enum sl_frame_type {
	SL_HELLO = 1, /* payload: struct sl_hello */
	SL_WELCOME,   /* payload: struct sl_welcome */
	SL_REPLY,   /* status, count, of an append offset: its end; payload: data of a READ, text of
		       CONTROL */
	SL_OPEN,    /* offset: inode, count: flags of open(2); descriptor attached and file: device;
		       over    TCP payload: path below the export */
	SL_CLOSE,   /* file; no reply */
	SL_PREAD,   /* file, offset, count */
	SL_PWRITE,  /* file, offset; payload: the data */
	SL_FSYNC,   /* file; flags SL_F_DATASYNC */
	SL_CONTROL, /* payload: a line of text, e.g. "status"; the reply's payload is text */
	SL_CHALLENGE,  /* TCP, answer to HELLO: a nonce and the node's proof */
	SL_PROOF,      /* TCP: the client's proof, answered as HELLO is on a Unix socket */
	SL_LEASE,      /* TCP: renews the lease by its stamp; the reply has a new one */
	SL_SIZE,       /* TCP: file; the reply's count is its size */
	SL_CREDENTIAL, /* to a controller over TCP, before HELLO: text of MUNGE, no reply */
	SL_FRAME_TYPES
};

/*
 * A status besides errnos, also as the negative result of a slot: the node cannot accept the
 * request now and has not executed any of it; the client sends it again. It is not EAGAIN, because
 * a file system can return that.
 */
#define SL_COME_BACK 4095

/* The flags of open(2) that OPEN transmits. */
#define SL_OPEN_FLAGS (O_ACCMODE | O_APPEND | O_DIRECT | O_SYNC | O_DSYNC | O_NOATIME)

/*
 * Of a REPLY, SL_F_DATA: the payload is file data; SL_F_CROWDED: the client should have one PREAD
 * or PWRITE under way at a time, since the node has not enough buffers for more of each client.
 */
enum sl_frame_flags { SL_F_APPEND = 1, SL_F_DATASYNC = 2, SL_F_DATA = 4, SL_F_CROWDED = 8 };

/*
 * Leases, over TCP. A node executes a request only while its client's lease is valid, and the
 * client goes elsewhere only when it is not any more. Each frame of the node has a stamp, its own
 * clock (CLOCK_BOOTTIME, ns) at that time; each frame of the client gives back the newest stamp
 * that it has got. The lease is valid until SL_CLIENT_LEASE_NS after the stamp given back. The client got
 * that stamp later than it was made: so SL_CLIENT_LEASE_NS after it last heard of the node, by its own
 * clock, no lease is valid. It waits for SL_LEASE_MARGIN_NS more, for clocks that do not run alike.
 * The node begins nothing in the last SL_FENCE_NS of a lease: see sluiced/ionode/fence.c.
 */
#define SL_CLIENT_LEASE_NS INT64_C(8000000000)
#define SL_LEASE_MARGIN_NS INT64_C(1000000000)
#define SL_FENCE_NS	   INT64_C(3000000000)
#define SL_LEASE_TAG	   UINT64_MAX /* tag of a reply that has only a stamp, requested or not */
#define SL_RENEW_NS	   INT64_C(1000000000) /* how often a client that waits renews it */

/* Capabilities of a side; the node answers with those in use. */
enum sl_caps { SL_CAP_SHM = 1 };

struct sl_frame {
	uint16_t type, flags;
	uint32_t length;
	int32_t status;
	uint64_t tag, job, file, offset, count, epoch;
};

/* The identity of the client. 0 or "": not given. */
struct sl_hello {
	uint32_t version, caps;
	uint32_t pid;
	uint32_t weight;
	uint64_t min_bps, max_bps, burst_bytes;
	int64_t period_ns;
	uint32_t best_effort;
	uint32_t procs, nodes;		     /* of the job, as declared */
	char job[SL_JOB_NAME_MAX];	     /* name of the job; ends with 0 */
	unsigned char nonce[SL_NONCE_BYTES]; /* TCP only: random */
};

/*
 * The owner of a job. The node knows the uid of its peer; the other members are declared. "":
 * unknown.
 */
struct sl_job_owner {
	uint32_t uid;
	char account[SL_OWNER_MAX], qos[SL_OWNER_MAX], partition[SL_OWNER_MAX];
};

struct sl_welcome {
	uint32_t version, caps;
	uint64_t job; /* number of the job */
	uint64_t epoch;
	uint32_t client;		     /* index of this client in the doorbells */
	uint32_t slots, slot_bytes, workers; /* layout of the segment */
	uint64_t segment_bytes, bells_bytes;
};

#define SL_HELLO_BYTES	 (4 * 4 + 4 * 8 + 3 * 4 + SL_JOB_NAME_MAX + SL_NONCE_BYTES)
#define SL_WELCOME_BYTES (2 * 4 + 2 * 8 + 4 * 4 + 2 * 8)

/* Encoders cannot fail. Decoders: -EPROTO for a bad magic, type, flag, length or unterminated text.
 */
void sl_frame_encode(const struct sl_frame *f, unsigned char out[SL_FRAME_BYTES]);
int sl_frame_decode(const unsigned char in[SL_FRAME_BYTES], struct sl_frame *f);
void sl_hello_encode(const struct sl_hello *h, unsigned char out[SL_HELLO_BYTES]);
int sl_hello_decode(const unsigned char *in, size_t length, struct sl_hello *h);
void sl_welcome_encode(const struct sl_welcome *w, unsigned char out[SL_WELCOME_BYTES]);
int sl_welcome_decode(const unsigned char *in, size_t length, struct sl_welcome *w);

/* The number of a named job: its digits if it is a number, else a hash of the name. */
uint64_t sl_job_number(const char *name);
bool sl_tag_is_good(const char *tag); /* 1 to 31 letters, digits and - _ . */
/* The tag in "JOB:TAG" or "JOB:@RULE"; NULL: it is not the name of a part. */
const char *sl_tag_of(const char *job);

#endif
