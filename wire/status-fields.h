/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a status: one line for each. The structs of wire/status.h, the JSON of nodes,
 * controllers and layers, and the rules by which nodes are merged into a layer are made of these
 * lines. A new field is a line here, and the statement that sets it
 * (sluiced/ionode/control-status.c).
 *
 *	F(kind, key, merge, in)			member `key`, JSON "key"
 *	G(kind, object, key, merge, in)		member `object_key`, JSON "object":{"key"}
 *
 * kind: NUMBER; FLAG (true, false); TEXT; MAYBE, a number that can be null (NAN); MAYBE_FLAG.
 * The lines of one object stand together. If its first value is null, so is the object.
 *
 * merge, for the same job at several nodes and for the nodes of a layer:
 *	FIRST	the value of the first node	SUM	added up
 *	MOST	the largest: times pass on all nodes at once
 *	MEAN	weighted by requests		RATIO	weighted by batches
 *	LIMIT	added up over the nodes where the job has processes
 *	BUSIEST	of the node with the most requests
 *
 * in: N a node says it; C a controller; L the merged status of a layer; P a job's part at one node,
 * in the merged status; O a job's part, as a controller orders it; M a node or controller in the
 * merged status.
 */
#ifndef SL_WIRE_STATUS_FIELDS_H
#define SL_WIRE_STATUS_FIELDS_H

/* clang-format off */

#define STATUS_JOB_FIELDS(F, G)						\
	F(TEXT, job, FIRST, N | C | L)					\
	F(TEXT, ionode, FIRST, P | O)					\
	F(NUMBER, clients, SUM, N | L | P | O)				\
	F(NUMBER, attached, SUM, N | L)					\
	F(NUMBER, procs, MOST, N | L)					\
	F(NUMBER, nodes, MOST, N | L)					\
	F(NUMBER, uid, FIRST, N | L)					\
	F(TEXT, account, FIRST, N | L)					\
	F(TEXT, qos, FIRST, N | L)					\
	F(TEXT, partition, FIRST, N | L)				\
	F(TEXT, rule, FIRST, N | L)					\
	F(NUMBER, bandwidth_bps, SUM, N | L | P)			\
	F(NUMBER, average_bps, SUM, N | L)				\
	F(NUMBER, iops, SUM, N | L | P)					\
	F(NUMBER, ops_per_s, SUM, N | L)				\
	F(NUMBER, operations, SUM, N | L)				\
	G(NUMBER, ops, create, SUM, N | L)				\
	G(NUMBER, ops, lookup, SUM, N | L)				\
	G(NUMBER, ops, remove, SUM, N | L)				\
	G(NUMBER, ops, list, SUM, N | L)				\
	G(NUMBER, ops, attribute, SUM, N | L)				\
	F(NUMBER, ops_held_s, MOST, N | L)				\
	F(NUMBER, min_create, MOST, N | L)				\
	F(NUMBER, min_lookup, MOST, N | L)				\
	F(NUMBER, min_remove, MOST, N | L)				\
	F(NUMBER, min_list, MOST, N | L)				\
	F(NUMBER, min_attribute, MOST, N | L)				\
	F(NUMBER, min_ops, MOST, N | L)					\
	F(NUMBER, weight_create, MOST, N | L)				\
	F(NUMBER, weight_lookup, MOST, N | L)				\
	F(NUMBER, weight_remove, MOST, N | L)				\
	F(NUMBER, weight_list, MOST, N | L)				\
	F(NUMBER, weight_attribute, MOST, N | L)				\
	F(NUMBER, max_create, MOST, N | L)				\
	F(NUMBER, max_lookup, MOST, N | L)				\
	F(NUMBER, max_remove, MOST, N | L)				\
	F(NUMBER, max_list, MOST, N | L)				\
	F(NUMBER, max_attribute, MOST, N | L)				\
	F(NUMBER, max_ops, MOST, N | L)					\
	F(NUMBER, max_iops, MOST, N | L)				\
	F(NUMBER, max_read, MOST, N | L)				\
	F(NUMBER, max_write, MOST, N | L)				\
	F(NUMBER, share, FIRST, N | L)					\
	F(NUMBER, read_bytes, SUM, N | L | P)				\
	F(NUMBER, write_bytes, SUM, N | L | P)				\
	F(NUMBER, requests, SUM, N | L | P)				\
	F(NUMBER, batches, SUM, N | L | P)				\
	F(NUMBER, merge_ratio, RATIO, N | L)				\
	F(NUMBER, queued_requests, SUM, N | L | P)			\
	F(NUMBER, queued_bytes, SUM, N | L)				\
	F(NUMBER, inflight_bytes, SUM, N | L)				\
	F(NUMBER, throttled_s, MOST, N | L | P)				\
	F(NUMBER, waiting_s, MOST, N | L)				\
	F(NUMBER, unscheduled_bytes, SUM, N | L | P)			\
	F(NUMBER, dirty_bytes, SUM, N | L)				\
	F(NUMBER, cached_bytes, SUM, N | L)				\
	F(NUMBER, wire_bytes, SUM, N | L)				\
	F(NUMBER, floor_bytes, SUM, N | L)				\
	F(NUMBER, borrowed_bytes, SUM, N | L)				\
	G(NUMBER, latency_us, p50, MEAN, N | L)				\
	G(NUMBER, latency_us, p95, MEAN, N | L)				\
	G(NUMBER, latency_us, p99, MEAN, N | L)				\
	F(NUMBER, min_bps, LIMIT, N | L)				\
	F(NUMBER, max_bps, LIMIT, N | L)				\
	F(NUMBER, asked_min_bps, MOST, N | L)				\
	F(NUMBER, asked_max_bps, MOST, N | L)				\
	F(NUMBER, allowed_max_bps, MOST, N | L)				\
	F(NUMBER, asked_period_s, MOST, N | L)				\
	F(NUMBER, burst_bytes, FIRST, N | L)				\
	F(FLAG, best_effort, FIRST, N | L)				\
	F(NUMBER, weight, FIRST, N | L)					\
	F(NUMBER, period_s, FIRST, N | C | L)				\
	F(MAYBE, set, FIRST, N | L)					\
	G(NUMBER, pattern, files, BUSIEST, N | L)			\
	G(NUMBER, pattern, call_bytes, BUSIEST, N | L)			\
	G(TEXT, pattern, spatiality, BUSIEST, N | L)			\
	G(TEXT, pattern, size, BUSIEST, N | L)				\
	G(TEXT, pattern, op, BUSIEST, N | L)				\
	F(TEXT, order, BUSIEST, N | L)					\
	F(TEXT, order_reason, BUSIEST, N | L)				\
	F(TEXT, reason, FIRST, N | C | L | P)				\
	/* what the controller knows: null without one */		\
	F(MAYBE_FLAG, in_io, FIRST, C | L)				\
	F(MAYBE_FLAG, phase_declared, FIRST, C | L)			\
	F(MAYBE, phases, FIRST, C | L)					\
	F(MAYBE, mean_compute_s, FIRST, C | L)				\
	F(MAYBE, mean_bytes, FIRST, C | L)				\
	F(MAYBE, moved_bytes, FIRST, C)					\
	F(MAYBE, grant_bps, FIRST, C | L)				\
	F(MAYBE, rate_bps, FIRST, C | L | O)				\
	F(MAYBE, map_epoch, FIRST, C | L)				\
	F(TEXT, period_from, FIRST, C | L)				\
	F(MAYBE, period_confidence, FIRST, C | L)			\
	F(MAYBE, period_found_s, FIRST, C | L)				\
	F(NUMBER, share_ppm, FIRST, O)					\
	F(NUMBER, divided_bps, FIRST, O)

#define STATUS_LAYER_FIELDS(F, G)					\
	F(TEXT, version, FIRST, N | L)					\
	F(TEXT, root, FIRST, N | L)					\
	F(NUMBER, pid, FIRST, N | C | L)				\
	F(NUMBER, uptime_s, MOST, N | C | L)				\
	F(TEXT, mode, FIRST, N | L)					\
	G(NUMBER, config, rules, FIRST, N | L)				\
	G(NUMBER, config, loaded, FIRST, N | L)				\
	G(TEXT, config, file, FIRST, N | L)				\
	G(TEXT, config, error, FIRST, N | L)				\
	F(TEXT, admit, FIRST, N | L)					\
	F(TEXT, share, FIRST, N | L)					\
	F(TEXT, order, FIRST, N | L)					\
	F(NUMBER, epoch, FIRST, C)					\
	F(NUMBER, term, FIRST, C)					\
	F(TEXT, role, FIRST, C)						\
	F(TEXT, allocate, FIRST, C)					\
	F(TEXT, grant, FIRST, C)					\
	/* with what was set of their parameters */			\
	G(TEXT, policy, admit, FIRST, N | L)				\
	G(TEXT, policy, share, FIRST, N | L)				\
	G(TEXT, policy, order, FIRST, N | L)				\
	G(TEXT, policy, grant, FIRST, C)				\
	G(TEXT, policy, allocate, FIRST, C)				\
	F(NUMBER, capacity_bps, SUM, N | C | L)				\
	G(TEXT, capacity_auto, state, FIRST, N | L)			\
	G(NUMBER, capacity_auto, read_bps, FIRST, N | L)		\
	G(NUMBER, capacity_auto, write_bps, FIRST, N | L)		\
	G(NUMBER, capacity_auto, paced_bps, FIRST, N | L)		\
	G(TEXT, capacity_auto, why, FIRST, N | L)			\
	G(TEXT, capacity_auto, sensor, FIRST, N | L)			\
	G(TEXT, capacity_auto, mounted_below, FIRST, N | L)		\
	G(NUMBER, capacity_auto, blocked_threads, FIRST, N | L)		\
	G(NUMBER, capacity_auto, waiting_threads, FIRST, N | L)		\
	F(NUMBER, capacity_ops, SUM, N | L)				\
	F(FLAG, capacity_ops_found, FIRST, N | L)			\
	F(NUMBER, ops_per_s, SUM, N | L)				\
	F(TEXT, charge, FIRST, N | L)					\
	F(NUMBER, draw_bps, FIRST, N | L)				\
	F(NUMBER, floors_bps, SUM, N | L)				\
	F(NUMBER, workers, SUM, N | L)					\
	/* with a node each, of a layer for all users */		\
	F(NUMBER, machines, FIRST, N | L)				\
	F(NUMBER, requests, SUM, N | L)					\
	F(NUMBER, inflight_batches, SUM, N | L)				\
	F(NUMBER, inflight_bytes, SUM, N | L)				\
	F(NUMBER, window_batches, SUM, N | L)				\
	G(TEXT, trace, state, FIRST, N)					\
	G(TEXT, trace, file, FIRST, N)					\
	G(TEXT, trace, error, FIRST, N)					\
	F(NUMBER, decisions, SUM, N | L)				\
	F(NUMBER, decisions_per_s, SUM, N | L)				\
	F(NUMBER, bandwidth_bps, SUM, N | L)				\
	F(NUMBER, iops, SUM, N | L)					\
	/* jobs of other users, whose names this one may not see */	\
	G(MAYBE, others, jobs, FIRST, N | L)				\
	G(NUMBER, others, bandwidth_bps, FIRST, N | L)			\
	G(NUMBER, others, iops, FIRST, N | L)				\
	G(NUMBER, others, read_bytes, FIRST, N | L)			\
	G(NUMBER, others, write_bytes, FIRST, N | L)

/* An I/O node of a layer. C: as the controller knows it. */
#define STATUS_IONODE_FIELDS(F, G)					\
	F(TEXT, name, FIRST, M | C)					\
	F(TEXT, state, FIRST, M)					\
	F(FLAG, up, FIRST, C)						\
	F(NUMBER, pid, FIRST, M)					\
	F(TEXT, socket, FIRST, M | C)					\
	F(TEXT, log, FIRST, M)						\
	F(NUMBER, jobs, FIRST, M | C)					\
	F(NUMBER, clients, FIRST, M)					\
	F(NUMBER, uptime_s, FIRST, M)					\
	F(NUMBER, capacity_bps, FIRST, M | C)				\
	F(NUMBER, draw_bps, FIRST, M | C)				\
	F(NUMBER, heard_s, FIRST, C)					\
	F(NUMBER, floors_bps, FIRST, M)					\
	F(NUMBER, bandwidth_bps, FIRST, M)				\
	F(NUMBER, iops, FIRST, M)					\
	F(NUMBER, requests, FIRST, M)					\
	F(NUMBER, inflight_bytes, FIRST, M)				\
	F(NUMBER, decisions, FIRST, M)					\
	F(NUMBER, decisions_per_s, FIRST, M)				\
	F(NUMBER, ops_per_s, FIRST, M)					\
	F(NUMBER, capacity_ops, FIRST, M)				\
	G(TEXT, trace, state, FIRST, M)					\
	G(TEXT, trace, file, FIRST, M)					\
	G(TEXT, trace, error, FIRST, M)

/* A controller, in the merged status. */
#define STATUS_CONTROLLER_FIELDS(F, G)					\
	F(TEXT, state, FIRST, M)					\
	F(NUMBER, pid, FIRST, M)					\
	F(TEXT, socket, FIRST, M)					\
	F(TEXT, log, FIRST, M)						\
	F(NUMBER, uptime_s, FIRST, M)					\
	F(NUMBER, epoch, FIRST, M)					\
	F(NUMBER, term, FIRST, M)					\
	F(TEXT, allocate, FIRST, M)					\
	F(TEXT, grant, FIRST, M)					\
	G(TEXT, policy, grant, FIRST, M)				\
	G(TEXT, policy, allocate, FIRST, M)				\
	F(NUMBER, capacity_bps, FIRST, M)

/* clang-format on */

#endif
