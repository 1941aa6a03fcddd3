/* SPDX-License-Identifier: Apache-2.0 */
/* sluiced ionode: options, sockets, start and end of an I/O node. `sluice up` starts it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "layer/config-node.h"
#include "model/device-spec.h"
#include "sched/spec.h"
#include "sluiced/ionode/adapt.h"
#include "sluiced/ionode/fence.h"
#include "sluiced/ionode/ionode.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/sense.h"
#include "sluiced/ionode/sensor.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/tcp/tcp.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/turn.h"

#define JOIN_S	 5
#define DRAIN_NS (10 * INT64_C(1000000000))

static const char cmd[] = "sluiced ionode";

/* ---- sockets and memory ---- */

static int make_bells(struct node *n)
{
	n->bells_fd = memfd_create("sluice-bells", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (n->bells_fd < 0 || ftruncate(n->bells_fd, sizeof(struct sl_bells)) ||
	    fcntl(n->bells_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	n->bells = mmap(NULL, sizeof(struct sl_bells), PROT_READ | PROT_WRITE, MAP_SHARED,
			n->bells_fd, 0);
	return n->bells == MAP_FAILED ? -errno : 0;
}

static int watch(struct node *n, int fd, void *what)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = what };

	return epoll_ctl(n->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* The limits of the shell that started the node should not apply to the I/O of its clients. */
static void raise_limits(void)
{
	struct rlimit l;

	sl_daemon_files();
	if (getrlimit(RLIMIT_FSIZE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_FSIZE, &l);
	}
}

/* ---- life ---- */

/*
 * Requests posted before the signal are still served. Later ones, or those that take too long, are
 * left: their client sees that this node has ended before it began them, and asks the next node.
 */
static void drain(struct node *n)
{
	sl_time end = node_now() + DRAIN_NS;
	struct sl_sched_stats st;

	pthread_mutex_lock(&n->lock);
	node_collect(n, node_now());
	n->leaving = true;
	node_unlock(n);
	node_wake_one(n);
	do {
		pthread_mutex_lock(&n->lock);
		node_collect(n, node_now());
		sl_sched_stats(n->sched, &st);
		node_unlock(n);
		if (st.requests)
			usleep(1000);
	} while (st.requests && node_now() < end);
	if (st.requests)
		log_warn("stop: %llu requests were not served in time",
			 (unsigned long long)st.requests);
}

/* False: a thread is in a call that does not return. */
static bool join_workers(const struct node *n, const pthread_t *threads)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += JOIN_S;
	for (uint32_t i = 0; i < n->workers; i++)
		if (pthread_timedjoin_np(threads[i], NULL, &end))
			return false;
	return true;
}

/* The file is not the node's: say which. */
static int start_trace(struct node *n, const char *path, const struct sl_config *config)
{
	int rc = trace_start(n, path, config);

	if (rc)
		fprintf(stderr, "sluiced: cannot record into %s: %s\n", path, strerror(-rc));
	return rc;
}

/* What auto is told, and `order` itself if it names a tree. */
static int start_order(struct node *n, const char *order)
{
	struct adapt tree = { .text = NULL };
	int rc;

	adapt_ratios(n);
	if (!order)
		return 0;
	adapt_read(&tree, order);
	n->adapt = &tree;
	rc = node_policy(n, "order", order, node_now());
	n->adapt = NULL;
	adapt_forget(&tree);
	if (rc)
		fprintf(stderr, "sluiced: %s\n", sl_error(n->sched));
	return rc;
}

static int run(struct node_config *config)
{
	struct node *n = calloc(1, sizeof(*n));
	struct sl_config sc = { .admit = config->admit,
				.share = config->share,
				.order = config->order,
				.capacity_bps = node_of_layer(config, config->capacity_bps),
				.lend_us = config->lend_us,
				.patterns = 1,
				.read = adapt_get,
				.read_arg = n,
				.limits = { .jobs = 4096, .files = 65536, .requests = 131072 } };
	pthread_t threads[SL_SHM_WORKERS];
	char err[300], tree[SL_SPEC_FILE_MAX + 1];
	int rc;

	if (!n)
		return -ENOMEM;
	/* A tree is part of what is recorded: then it is set below. */
	if (sc.order && sl_spec_file(sc.order, "tree", tree))
		sc.order = NULL;
	n->config = config;
	n->observe = config->observe;
	n->capacity_bps = n->pace.bps = config->capacity_bps;
	n->layer_bps = sc.capacity_bps;
	n->started = node_now();
	n->workers = config->workers ? config->workers : node_cpus();
	pthread_mutex_init(&n->lock, NULL);
	sl_list_init(&n->peers);
	window_init(&n->window, config->window);
	sl_device_init(&n->device, &config->device);
	if ((rc = rules_start(n)))
		return rc;
	if ((rc = sl_sched_create(&n->sched, &sc, node_now(), err, sizeof(err)))) {
		fprintf(stderr, "sluiced: %s\n", err);
		return rc;
	}
	if (getrandom(&n->epoch, sizeof(n->epoch), 0) != sizeof(n->epoch))
		n->epoch = (uint64_t)n->started;
	raise_limits();
	signal(SIGXFSZ, SIG_IGN); /* the client gets EFBIG instead */
	n->stop_fd = sl_daemon_signals();
	n->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	n->listen_fd = sl_daemon_listen(&config->daemon);
	if (n->listen_fd < 0)
		return n->listen_fd;
	if ((rc = site_start(n)) || (rc = make_bells(n)) ||
	    (rc = watch(n, n->listen_fd, &n->listen_fd)) ||
	    (rc = watch(n, n->stop_fd, &n->stop_fd)) || (rc = fence_start()) ||
	    (rc = files_start(n)) || (rc = watch(n, n->closed_fd, &n->closed_fd)) ||
	    (rc = ring_start(n)) || (config->trace && (rc = start_trace(n, config->trace, &sc))) ||
	    (rc = usage_start(n)) || (rc = start_order(n, sc.order ? NULL : config->order)) ||
	    (rc = ops_start(n, config->capacity_ops, config->find_ops)) ||
	    (pass_start(n, node_now()), rc = turn_start(n)) || (rc = sense_start(n)) ||
	    (rc = node_workers_start(n, threads))) {
		fprintf(stderr, "sluiced: cannot start: %s\n", strerror(-rc));
		return rc;
	}
	if ((rc = tcp_start(n))) {
		sl_daemon_unlisten(&config->daemon);
		return rc;
	}
	log_info("ionode root=%s socket=%s workers=%u ready", config->root, config->daemon.socket,
		 n->workers);
	sl_daemon_ready(&config->daemon);
	if ((rc = link_start(n)))
		log_error("cannot start the link to the controller: %s", strerror(-rc));
	rc = node_serve(n);
	sense_stop(n);
	link_stop(n);
	sl_daemon_unlisten(&config->daemon);
	tcp_pause(n);
	turn_stop(n);
	drain(n);
	atomic_store(&n->stop, true);
	node_wake_all(n);
	turn_join(n);
	if (!join_workers(n, threads)) {
		log_warn("stop: a file system does not come back");
		_exit(rc ? 1 : 0); /* the kernel waits for its operations in flight */
	}
	ring_stop(n);
	if (!tcp_stop(n)) {
		log_warn("stop: a file system does not come back");
		_exit(rc ? 1 : 0);
	}
	trace_stop(n);
	usage_stop(n);
	rules_stop(n);
	node_forget_peers(n);
	ops_stop(n);
	site_stop(n);
	log_info("ionode stopped");
	return rc;
}

enum {
	ROOT = 256,
	CAPACITY,
	CAPACITY_OPS,
	DEVICE,
	CHARGE,
	DIRTY,
	LOSS,
	LEND,
	NAME,
	LAYER_NODES,
	WORKERS,
	WINDOW,
	SYSTEM,
	ADMINS,
	LIMITS
};

/* A number from 1 to max. */
static int count(const char *name, const char *text, unsigned long max, uint32_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < 1 || n > max)
		return cli_usage(cmd, "--%s goes from 1 to %lu, not '%s'.", name, max, text);
	*out = (uint32_t)n;
	return 0;
}

static int capacity(struct node_config *c, const char *text)
{
	char err[SENSOR_TEXT];

	c->find = !strncmp(text, "auto", 4) && (!text[4] || text[4] == ',');
	if (c->find) {
		c->sensor = text[4] ? text + 5 : NULL;
		return c->sensor && sensor_check(c->sensor, err) ? cli_usage(cmd, "%s", err) : 0;
	}
	return sl_parse_rate(text, &c->capacity_bps) || !c->capacity_bps
		       ? cli_usage(cmd, "not a rate: '%s'.", text)
		       : 0;
}

/* 0, or CLI_USAGE after printing an error. */
static int take(struct node_config *c, int option)
{
	const char *wrong;
	int64_t ns;

	switch (option) {
	case ROOT:
		free((void *)(uintptr_t)c->root);
		c->root = realpath(optarg, NULL);
		return c->root ? 0 : cli_usage(cmd, "no directory '%s'.", optarg);
	case CAPACITY:
		return capacity(c, optarg);
	case CAPACITY_OPS:
		c->find_ops = !strcmp(optarg, "auto");
		if (!c->find_ops && (sl_ops_parse(optarg, &c->capacity_ops) || !c->capacity_ops))
			return cli_usage(cmd, "not a number of operations: '%s'.", optarg);
		return 0;
	case DEVICE:
		return sl_device_parse(optarg, &c->device)
			       ? cli_usage(cmd, "no device model '%s'.", optarg)
			       : 0;
	case NAME:
		c->name = optarg;
		if (!*optarg || strlen(optarg) >= SL_NODE_NAME_MAX || strpbrk(optarg, ", ="))
			return cli_usage(cmd, "not a name of a node: '%s'.", optarg);
		return 0;
	case LAYER_NODES:
		return count("layer-nodes", optarg, 100000, &c->layer_nodes);
	case LEND:
		if (sl_parse_time(optarg, &ns) || ns < 0 || ns > 1000000000)
			return cli_usage(cmd, "--lend: not a time of up to 1s: '%s'.", optarg);
		c->lend_us = (uint32_t)(ns / 1000);
		return 0;
	case LOSS:
		c->loss_divides = !strcmp(optarg, "divide");
		return 0;
	case CHARGE:
		c->charge_calls = !strcmp(optarg, "calls");
		return 0;
	case DIRTY:
		return sl_parse_bytes(optarg, &c->dirty)
			       ? cli_usage(cmd, "--dirty: not a size: '%s'.", optarg)
			       : 0;
	case WORKERS:
		return count("workers", optarg, SL_SHM_WORKERS, &c->workers);
	case WINDOW:
		return count("window", optarg, WINDOW_MAX, &c->window);
	case SYSTEM:
		c->site->on = c->daemon.open = true;
		return 0;
	case ADMINS:
		wrong = site_admins(c->site, optarg);
		return wrong ? cli_usage(cmd, "--admins: no user or @group '%s'.", wrong) : 0;
	case LIMITS:
		wrong = site_limits(c->site, optarg);
		return wrong ? cli_usage(cmd, "no limit of a user: '%s'.", wrong) : 0;
	}
	wrong = sl_daemon_option(&c->daemon, option, optarg);
	return wrong ? cli_usage(cmd, "%s '%s'.", wrong, optarg) : 0;
}

static int parse(int argc, char **argv, struct node_config *c)
{
	const struct cli_option options[] = {
		{ "root", ROOT, "DIR", .help = "directory whose files are served" },
		SL_DAEMON_OPTIONS(&c->daemon),
		{ "admit", 0, "SPEC", .text = &c->admit,
		  .help = "policy of this stage: see 'sluice policy list admit'" },
		{ "share", 0, "SPEC", .text = &c->share, .help = "the same of share" },
		{ "order", 0, "SPEC", .text = &c->order, .help = "the same of order" },
		{ "capacity", CAPACITY, "RATE",
		  .help = "what the node may draw from the file system, as 500MB/s; auto: it is "
			  "found; auto,SENSOR: see sluice-up(1)" },
		{ "capacity-ops", CAPACITY_OPS, "N",
		  .help = "metadata operations per second that jobs share; auto: found" },
		{ "charge", CHARGE, "wire|calls", .values = "=wire calls",
		  .help = "charge what leaves the page cache, or each byte of each call (wire)" },
		{ "dirty", DIRTY, "SIZE",
		  .help = "what a job may write before it waits for its write-back; 0: writes are "
			  "charged at the call" },
		{ "device-model", DEVICE, "MODEL",
		  .help = "behave like a device: hdd, raid, ssd, or "
			  "bandwidth=200M,seek=5ms,op=50us,streams=1; for experiments, the data is "
			  "still written" },
		{ "config", 0, "FILE", .text = &c->file,
		  .help = "sluice.yaml: rules, all that is not given here, and what SIGHUP reads "
			  "again" },
		{ "trace", 0, "FILE", .text = &c->trace,
		  .help = "record what the scheduler is told and answers" },
		{ "usage", 0, "FILE", .text = &c->usage,
		  .help = "keep an account of what jobs use, for 'sluice report'" },
		{ "workers", WORKERS, "N", .help = "threads of the data path (one for each CPU)" },
		{ "window", WINDOW, "N",
		  .help = "batches in flight to files with O_DIRECT or O_SYNC (found by "
			  "measurement); for experiments" },
		{ "observe", .flag = &c->observe, .help = "measure everything, hold nothing" },
		{ "ask-always", .flag = &c->ask_always,
		  .help = "see each call with its place, also of jobs that nothing limits" },
		{ "lend", LEND, "TIME",
		  .help = "how long a job with a grant may pause before others get its turn "
			  "(2ms)" },
		{ "controller", 0, "ADDR", .text = &c->controller,
		  .help = "controller of the layer: PATH or HOST:PORT" },
		{ "controller-secret", 0, "FILE", .text = &c->controller_secret,
		  .help = "secret of the controller, over TCP" },
		{ "name", NAME, "NAME", .help = "name of this node in its layer (0)" },
		{ "layer-nodes", LAYER_NODES, "N",
		  .help = "nodes of the layer with a capacity like this one's, of which a min is "
			  "given (1)" },
		{ "stay", .flag = &c->stay,
		  .help = "programs stay with this node: the others are on other machines" },
		{ "controller-loss", LOSS, "grow|divide", .values = "=grow divide",
		  .help = "without a controller: up to the capacity of the layer, or no more than "
			  "this node's (grow)" },
		{ "system", SYSTEM, .help = "a layer for all users of this machine; not as root" },
		{ "admins", ADMINS, "LIST",
		  .help = "who may change everything, beside root: users and @groups" },
		{ "limits", LIMITS, "LIST",
		  .help = "of each user: jobs=64,connections=256,weight=1,requests=2000 (a "
			  "second)" },
		{ "audit", 0, "FILE", .text = &c->site->audit,
		  .help = "a line of JSON for each change, accepted or refused" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "sluiced ionode --root DIR --socket PATH [OPTION]...",
		.about = "An I/O node: serves the clients of one user on this machine, or of all. "
			 "'sluice up' starts it.",
		.options = options,
		.more = "Manual: sluiced(8).",
	};
	const char *missing;
	int o, status;

	while ((o = cli_next(&command, argc, argv)) > CLI_USAGE)
		if ((status = take(c, o)))
			return status;
	if (o)
		return o;
	missing = !c->root				       ? "--root"
		  : c->daemon.listen && !c->daemon.secret_file ? "--secret-file" /* of programs */
							       : sl_daemon_missing(&c->daemon);
	return missing ? cli_usage(cmd, "missing option '%s'.", missing) : 0;
}

/* The file that is named on the command line, before its options are parsed. */
static const char *config_file(int argc, char **argv)
{
	static const char option[] = "--config";
	const size_t length = sizeof(option) - 1;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], option) && i + 1 < argc)
			return argv[i + 1];
		if (!strncmp(argv[i], option, length) && argv[i][length] == '=')
			return argv[i] + length + 1;
	}
	return NULL;
}

/*
 * The options of the configuration file come first, so the command line overrides them. A revived
 * node starts even if the file is being edited and has errors: all that it needs is on its command
 * line, and rules_start() reports the errors.
 */
static int parse_both(int argc, char **argv, struct config *file, struct config_words *words,
		      struct node_config *c)
{
	const char *path = config_file(argc, argv);
	char err[CONFIG_TEXT] = "", **all;
	unsigned long nodes = 1;
	int rc;

	if (!path || config_read(file, path, err))
		memset(words, 0, sizeof(*words));
	else if (file->value[CONFIG_IONODES])
		nodes = strtoul(file->value[CONFIG_IONODES], NULL, 10);
	if (path && !err[0])
		config_node_words(words, (const char *const *)file->value,
				  (const char *const *)file->policy, (unsigned)nodes);
	all = calloc((size_t)argc + words->count + 1, sizeof(*all));
	if (!all)
		return 1;
	all[0] = argv[0];
	memcpy(all + 1, words->word, words->count * sizeof(*all));
	memcpy(all + 1 + words->count, argv + 1, (size_t)(argc - 1) * sizeof(*all));
	rc = parse(argc + (int)words->count, all, c);
	if (rc > 0 && err[0])
		fprintf(stderr, "sluiced: %s\n", err);
	free(all);
	return rc;
}

int ionode_main(int argc, char **argv)
{
	static struct config file; /* the node borrows its words */
	static struct config_words words;
	struct site_config site = SITE_LIMITS;
	struct node_config config = {
		.daemon.ready_fd = -1, .site = &site, .lend_us = 2000, .dirty = NODE_DIRTY_AUTO
	};
	int rc = parse_both(argc, argv, &file, &words, &config);

	if (!rc)
		rc = run(&config) ? 1 : 0;
	free((void *)(uintptr_t)config.root);
	config_free(&file);
	return rc < 0 ? 0 : rc;
}
