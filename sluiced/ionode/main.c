/* SPDX-License-Identifier: Apache-2.0 */
/* sluiced ionode: options, sockets, start and end of an I/O node. `sluice up` starts it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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
#include "sluiced/ionode/trace.h"
#include "sluiced/ionode/turn.h"

#define JOIN_S	 5
#define DRAIN_NS (10 * INT64_C(1000000000))

static int usage(const char *problem, const char *what)
{
	if (problem)
		fprintf(stderr, "sluiced: %s '%s'. See 'sluiced --help'.\n", problem, what);
	else
		puts("usage: sluiced ionode --root DIR --socket PATH [OPTIONS]\n"
		     "\n"
		     "An I/O node: serves the clients of one user on this machine, or of all. "
		     "'sluice up' "
		     "starts it.\n"
		     "\n"
		     "  --root DIR         directory whose files are served\n"
		     "  --socket PATH      where clients connect\n"
		     "  --listen HOST:PORT serve clients of other machines too, over TCP\n"
		     "  --secret-file FILE what they have to know; a line in a file with mode "
		     "0600\n"
		     "  --admit SPEC, --share SPEC, --order SPEC\n"
		     "                     policy of a stage: see 'sluice policy list'\n"
		     "  --capacity RATE    what the node may draw from the file system, e.g. "
		     "500MB/s;\n"
		     "                     auto: it is found; auto,SENSOR: see sluice-up(1)\n"
		     "  --capacity-ops N   metadata operations per second that jobs share; auto: "
		     "found\n"
		     "  --charge WHAT      wire: what leaves the page cache (default); calls: each "
		     "byte of\n"
		     "                     each call\n"
		     "  --dirty SIZE       what a job may write before it waits for its "
		     "write-back; 0:\n"
		     "                     writes are charged at the call\n"
		     "  --device-model M   behave like a device: hdd, raid, ssd, or "
		     "bandwidth=200M,seek=5ms,\n"
		     "                     op=50us,streams=1; for experiments, the data is still "
		     "written\n"
		     "  --config FILE      sluice.yaml: rules, all that is not given here, and "
		     "what SIGHUP\n"
		     "                     reads again\n"
		     "  --trace FILE       record what the scheduler is told and answers\n"
		     "  --usage FILE       keep an account of what jobs use, for 'sluice report'\n"
		     "  --workers N        threads of the data path (one for each CPU)\n"
		     "  --window N         batches in flight to files with O_DIRECT or O_SYNC "
		     "(found by\n"
		     "                     measurement); for experiments\n"
		     "  --observe          measure everything, hold nothing\n"
		     "  --ask-always       see each call with its place, also of jobs that nothing "
		     "limits\n"
		     "  --lend TIME        how long a job with a grant may pause before others get "
		     "its\n"
		     "                     turn (2ms)\n"
		     "  --controller ADDR  controller of the layer: PATH or HOST:PORT\n"
		     "  --controller-secret FILE, --name NAME\n"
		     "                     what it has to be told over TCP, and who this node is "
		     "(0)\n"
		     "  --munge[=SOCKET]   instead, a credential of MUNGE, for a controller of "
		     "this "
		     "user\n"
		     "  --layer-nodes N    so many have a capacity like this one's, of which a min "
		     "is "
		     "given (1)\n"
		     "  --controller-loss grow|divide\n"
		     "                     without a controller: up to the capacity of the layer, "
		     "or no "
		     "more\n"
		     "                     than this node's (grow)\n"
		     "  --system           a layer for all users of this machine; not as root\n"
		     "  --admins LIST      who may change everything, beside root: users and "
		     "@groups\n"
		     "  --limits LIST      of each user: jobs=64,connections=256,weight=1,"
		     "requests=2000\n"
		     "                     (a second)\n"
		     "  --audit FILE       a line of JSON for each change, accepted or refused\n"
		     "  --log LEVEL        error, warn, info (default) or debug\n"
		     "  --ready-fd N       write a byte to this descriptor when clients may "
		     "connect\n");
	return problem ? 2 : 0;
}

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

/* The limits of the shell that has started it are not meant for what it does for others. */
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
 * What was posted before the signal is still served. What comes later, or takes too long, stays
 * as it is: its client finds that this node has gone before it began, and asks the next.
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

/* False: one is in a call that does not end. */
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
	signal(SIGXFSZ, SIG_IGN); /* EFBIG is for the client */
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
		_exit(rc ? 1 : 0); /* what it holds is waited for by the kernel */
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

static int parse(int argc, char **argv, struct node_config *c)
{
	enum {
		ROOT = 256,
		ADMIT,
		SHARE,
		ORDER,
		CAPACITY,
		CAPACITY_OPS,
		DEVICE,
		USAGE,
		ASK_ALWAYS,
		CHARGE,
		DIRTY,
		OBSERVE,
		LOSS,
		LEND,
		NAME,
		LAYER_NODES,
		CONTROLLER,
		CONTROLLER_SECRET,
		TRACE,
		CONFIG,
		WORKERS,
		WINDOW,
		SYSTEM,
		ADMINS,
		LIMITS,
		AUDIT,
		HELP
	};
	static const struct option options[] = {
		SL_DAEMON_OPTIONS,
		{ "root", 1, 0, ROOT },
		{ "admit", 1, 0, ADMIT },
		{ "share", 1, 0, SHARE },
		{ "order", 1, 0, ORDER },
		{ "capacity", 1, 0, CAPACITY },
		{ "capacity-ops", 1, 0, CAPACITY_OPS },
		{ "workers", 1, 0, WORKERS },
		{ "window", 1, 0, WINDOW },
		{ "device-model", 1, 0, DEVICE },
		{ "ask-always", 0, 0, ASK_ALWAYS },
		{ "charge", 1, 0, CHARGE },
		{ "dirty", 1, 0, DIRTY },
		{ "observe", 0, 0, OBSERVE },
		{ "controller-loss", 1, 0, LOSS },
		{ "lend", 1, 0, LEND },
		{ "name", 1, 0, NAME },
		{ "layer-nodes", 1, 0, LAYER_NODES },
		{ "controller", 1, 0, CONTROLLER },
		{ "controller-secret", 1, 0, CONTROLLER_SECRET },
		{ "trace", 1, 0, TRACE },
		{ "config", 1, 0, CONFIG },
		{ "usage", 1, 0, USAGE },
		{ "system", 0, 0, SYSTEM },
		{ "admins", 1, 0, ADMINS },
		{ "limits", 1, 0, LIMITS },
		{ "audit", 1, 0, AUDIT },
		{ "help", 0, 0, HELP },
		{ 0 },
	};
	char err[SENSOR_TEXT];
	const char *wrong;
	int64_t lend_ns;
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case ROOT:
			free((void *)(uintptr_t)c->root);
			c->root = realpath(optarg, NULL);
			if (!c->root)
				return usage("no directory", optarg);
			break;
		case ADMIT:
			c->admit = optarg;
			break;
		case SHARE:
			c->share = optarg;
			break;
		case ORDER:
			c->order = optarg;
			break;
		case CAPACITY:
			if (!strncmp(optarg, "auto", 4) && (!optarg[4] || optarg[4] == ',')) {
				c->find = true;
				c->sensor = optarg[4] ? optarg + 5 : NULL;
				if (c->sensor && sensor_check(c->sensor, err)) {
					fprintf(stderr, "sluiced: %s\n", err);
					return 2;
				}
			} else if (sl_parse_rate(optarg, &c->capacity_bps) || !c->capacity_bps) {
				return usage("not a rate:", optarg);
			} else {
				c->find = false;
			}
			break;
		case CAPACITY_OPS:
			c->find_ops = !strcmp(optarg, "auto");
			if (!c->find_ops &&
			    (sl_ops_parse(optarg, &c->capacity_ops) || !c->capacity_ops))
				return usage("not a number of operations:", optarg);
			break;
		case TRACE:
			c->trace = optarg;
			break;
		case CONFIG:
			c->file = optarg;
			break;
		case USAGE:
			c->usage = optarg;
			break;
		case DEVICE:
			if (sl_device_parse(optarg, &c->device))
				return usage("no device model", optarg);
			break;
		case NAME:
			c->name = optarg;
			if (!*optarg || strlen(optarg) >= SL_NODE_NAME_MAX ||
			    strpbrk(optarg, ", ="))
				return usage("not a name of a node:", optarg);
			break;
		case LAYER_NODES:
			c->layer_nodes = (uint32_t)strtoul(optarg, NULL, 10);
			if (c->layer_nodes < 1 || c->layer_nodes > 100000)
				return usage("nodes of a layer go from 1 to 100000, not", optarg);
			break;
		case CONTROLLER:
			c->controller = optarg;
			break;
		case CONTROLLER_SECRET:
			c->controller_secret = optarg;
			break;
		case LEND:
			if (sl_parse_time(optarg, &lend_ns) || lend_ns < 0 || lend_ns > 1000000000)
				return usage("not a time of up to 1s:", optarg);
			c->lend_us = (uint32_t)(lend_ns / 1000);
			break;
		case LOSS:
			c->loss_divides = !strcmp(optarg, "divide");
			if (!c->loss_divides && strcmp(optarg, "grow") != 0)
				return usage("neither grow nor divide:", optarg);
			break;
		case OBSERVE:
			c->observe = true;
			break;
		case ASK_ALWAYS:
			c->ask_always = true;
			break;
		case CHARGE:
			c->charge_calls = !strcmp(optarg, "calls");
			if (!c->charge_calls && strcmp(optarg, "wire") != 0)
				return usage("neither wire nor calls:", optarg);
			break;
		case DIRTY:
			if (sl_parse_bytes(optarg, &c->dirty))
				return usage("not a size:", optarg);
			break;
		case WORKERS:
			c->workers = (uint32_t)strtoul(optarg, NULL, 10);
			if (c->workers < 1 || c->workers > SL_SHM_WORKERS)
				return usage("workers go from 1 to 64, not", optarg);
			break;
		case WINDOW:
			c->window = (uint32_t)strtoul(optarg, NULL, 10);
			if (c->window < 1 || c->window > WINDOW_MAX)
				return usage("a window goes from 1 to 64, not", optarg);
			break;
		case SYSTEM:
			c->site->on = c->daemon.open = true;
			break;
		case ADMINS:
			if ((wrong = site_admins(c->site, optarg)))
				return usage("no user or @group", wrong);
			break;
		case LIMITS:
			if ((wrong = site_limits(c->site, optarg)))
				return usage("no limit of a user:", wrong);
			break;
		case AUDIT:
			c->site->audit = optarg;
			break;
		case HELP:
			return usage(NULL, NULL) - 1;
		case '?':
			return 2;
		default:
			if ((wrong = sl_daemon_option(&c->daemon, o, optarg)))
				return usage(wrong, optarg);
		}
	}
	if (optind < argc)
		return usage("unknown argument", argv[optind]);
	wrong = !c->root				     ? "--root"
		: c->daemon.listen && !c->daemon.secret_file ? "--secret-file" /* of programs */
							     : sl_daemon_missing(&c->daemon);
	return wrong ? usage("missing option", wrong) : 0;
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
 * What the command line leaves open, the configuration file says: its words come first. A node that
 * is revived is not kept down by a file that somebody has begun to edit: what it needs was on its
 * command line, and rules_start() says what is wrong.
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
