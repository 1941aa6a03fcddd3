/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice sim --requests`: simulates processes, files and devices under policies of an I/O node,
 * request by request (sim/requests.c).
 */
#include "lab/study/requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/units.h"
#include "lab/study/sim.h"
#include "layer/check.h"
#include "model/device-spec.h"
#include "sim/requests.h"

#define CMD	     "sim"
#define USE	     "sim --requests" /* whose --help tells more */
#define MAX_POLICIES 64
#define NAME_WIDTH   24

/* Options of the phase level. */
enum { OF_CSV = 256, OF_HTML, OF_REPEAT, OF_JOBS, OF_WINDOW_MODE };

struct study {
	struct sl_requests s;
	struct sl_requests_policy given[MAX_POLICIES];
	uint32_t n_given;
	const struct sl_requests_policy *policy; /* those to be compared */
	uint32_t n;
	struct sl_requests_result *result;
	struct sl_requests_app_result *app; /* n_apps for each policy */
	bool json, per_app;
};

/* ---- output ---- */

static double sr_mb_s(uint64_t bytes, sl_time ns)
{
	return ns > 0 ? (double)bytes * 1e3 / (double)ns : 0;
}

static double sr_merged(uint64_t requests, uint64_t batches)
{
	return batches ? (double)requests / (double)batches : 0;
}

static const char *sr_time(char *buf, double ns)
{
	return sl_format_time(buf, 16, (int64_t)ns);
}

static void sr_intro(const struct study *t)
{
	const struct sl_requests *s = &t->s;
	uint64_t procs = 0;
	char delay[16];

	for (uint32_t i = 0; i < s->n_apps; i++)
		procs += s->apps[i].procs;
	printf("%s:\n%u application%s, %" PRIu64 " process%s, %u server%s (%s)\n", s->name,
	       s->n_apps, s->n_apps == 1 ? "" : "s", procs, procs == 1 ? "" : "es",
	       s->striping.servers, s->striping.servers == 1 ? "" : "s", s->device.name);
	if (s->control.there)
		printf("a controller divides %.1f MB/s among them; reports and orders take %s\n",
		       (double)s->capacity_bps / 1e6, sr_time(delay, (double)s->control.delay_ns));
	putchar('\n');
}

static void sr_row(const char *name, sl_time took, uint64_t bytes, const struct sl_latency *call,
		   uint64_t requests, uint64_t batches)
{
	char makespan[16], mean[16], p99[16];

	if (strlen(name) > NAME_WIDTH)
		printf("%s\n%*s", name, NAME_WIDTH, "");
	else
		printf("%-*s", NAME_WIDTH, name);
	printf(" %8s %7.1f %7s %7s %8" PRIu64 " %6.1f", sr_time(makespan, (double)took),
	       sr_mb_s(bytes, took), sr_time(mean, call->mean_ns),
	       sr_time(p99, (double)call->p99_ns), batches, sr_merged(requests, batches));
}

static void sr_table(const struct study *t)
{
	sr_intro(t);
	printf("%-*s %8s %7s %7s %7s %8s %6s %5s\n", NAME_WIDTH, "policy", "makespan", "MB/s",
	       "mean", "p99", "ops", "merged", "seeks");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct sl_requests_result *r = &t->result[i];

		sr_row(t->policy[i].text, r->makespan_ns, r->bytes, &r->call, r->requests,
		       r->device_ops);
		printf(" %4.0f%%\n",
		       r->device_ops ? 100 * (double)r->seeks / (double)r->device_ops : 0);
		for (uint32_t k = 0; t->per_app && k < t->s.n_apps; k++) {
			const struct sl_requests_app_result *a = &t->app[i * t->s.n_apps + k];
			char name[SL_REQUESTS_NAME + 2];

			snprintf(name, sizeof(name), "  %s", t->s.apps[k].name);
			sr_row(name, a->io_ns, a->bytes, &a->call, a->requests, a->batches);
			putchar('\n');
		}
	}
	puts("\nmean, p99: of a call. ops: of the devices; merged: requests in one of them;\n"
	     "seeks: those of them that did not go on where another ended.");
}

static void sr_latency(struct json *j, const char *key, const struct sl_latency *l)
{
	json_object(j, key);
	json_double(j, "mean_us", l->mean_ns / 1e3);
	json_double(j, "p50_us", (double)l->p50_ns / 1e3);
	json_double(j, "p95_us", (double)l->p95_ns / 1e3);
	json_double(j, "p99_us", (double)l->p99_ns / 1e3);
	json_double(j, "max_us", (double)l->max_ns / 1e3);
	json_end(j);
}

static void sr_json_apps(struct json *j, const struct study *t,
			 const struct sl_requests_app_result *app)
{
	json_array(j, "apps");
	for (uint32_t k = 0; k < t->s.n_apps; k++, app++) {
		json_object(j, NULL);
		json_string(j, "name", t->s.apps[k].name);
		json_double(j, "io_s", (double)app->io_ns / 1e9);
		json_double(j, "end_s", (double)app->end_ns / 1e9);
		json_double(j, "mb_per_s", sr_mb_s(app->bytes, app->io_ns));
		json_uint(j, "bytes", app->bytes);
		json_uint(j, "calls", app->calls);
		json_uint(j, "requests", app->requests);
		json_uint(j, "batches", app->batches);
		sr_latency(j, "call", &app->call);
		sr_latency(j, "request", &app->request);
		json_end(j);
	}
	json_end(j);
}

static void sr_json(const struct study *t)
{
	struct json j;

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "level", "request");
	json_string(&j, "scenario", t->s.name);
	json_string(&j, "device", t->s.device.name);
	json_uint(&j, "servers", t->s.striping.servers);
	json_uint(&j, "seed", t->s.seed);
	json_array(&j, "policies");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct sl_requests_result *r = &t->result[i];

		json_object(&j, NULL);
		json_string(&j, "name", t->policy[i].text);
		json_double(&j, "makespan_s", (double)r->makespan_ns / 1e9);
		json_double(&j, "mb_per_s", sr_mb_s(r->bytes, r->makespan_ns));
		json_uint(&j, "bytes", r->bytes);
		json_uint(&j, "calls", r->calls);
		json_uint(&j, "requests", r->requests);
		json_uint(&j, "device_ops", r->device_ops);
		json_uint(&j, "seeks", r->seeks);
		json_double(&j, "merged", sr_merged(r->requests, r->device_ops));
		json_double(&j, "busy",
			    (double)r->busy_ns / (double)r->makespan_ns / t->s.striping.servers);
		sr_latency(&j, "call", &r->call);
		sr_latency(&j, "request", &r->request);
		if (t->s.control.there) {
			json_double(&j, "peak_mb_per_s", (double)r->peak_bytes / 1e6);
			json_uint(&j, "decisions", r->decisions);
		}
		sr_json_apps(&j, t, &t->app[i * t->s.n_apps]);
		json_uint(&j, "events", r->events);
		json_double(&j, "wall_s", r->wall_s);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

/* ---- the command ---- */

static bool sr_is_misuse(int error)
{
	return error == -EINVAL || error == -E2BIG || error == -ERANGE;
}

static int sr_policy(struct study *t, const char *text)
{
	const char *rest;
	enum sl_stage stage = sim_stage(text, &rest);
	char err[400];
	int rc;

	if (stage == SL_ALLOCATE)
		return cli_usage(USE,
				 "--policy '%s': allocate is not simulated; 'sluice allocate' "
				 "compares its policies.",
				 text);
	if (t->n_given == MAX_POLICIES)
		return cli_usage(USE, "at most %d policies can be compared.", MAX_POLICIES);
	rc = sl_requests_policy_parse(text, &t->given[t->n_given], err, sizeof(err));
	if (rc)
		return rc == -ENOMEM ? cli_fail(CMD, "out of memory.")
				     : cli_usage(USE, "--policy '%s': %s.", text, err);
	t->n_given++;
	return CLI_OK;
}

/* No policy was given: take each order policy, with the defaults of the other stages. */
static int sr_all_orders(struct study *t)
{
	const struct sl_policy *p;
	char text[80];
	int status = CLI_OK;

	for (unsigned i = 0; !status && i < MAX_POLICIES && (p = sl_policy_at(SL_ORDER, i)); i++) {
		snprintf(text, sizeof(text), "order=%s", p->name);
		status = sr_policy(t, text);
	}
	return status;
}

static int sr_run(struct study *t)
{
	char err[SL_REQUESTS_TEXT];
	int status;

	if (!t->n_given && !t->s.n_policies && (status = sr_all_orders(t)))
		return status;
	t->policy = t->n_given ? t->given : t->s.policies;
	for (uint32_t i = 0; !t->s.control.there && i < t->n_given; i++)
		if (t->given[i].grant)
			return cli_usage(
				USE,
				"--policy '%s': grant is decided by a controller, and %s has none; "
				"'sluice sim SCENARIO' compares its policies for whole I/O phases.",
				t->given[i].text, t->s.name);
	t->n = t->n_given ? t->n_given : t->s.n_policies;
	t->result = calloc(t->n + 1, sizeof(*t->result));
	t->app = calloc((size_t)t->n * t->s.n_apps + 1, sizeof(*t->app));
	if (!t->result || !t->app)
		return cli_fail(CMD, "out of memory.");
	for (uint32_t i = 0; i < t->n; i++) {
		int rc = sl_requests_run(&t->s, &t->policy[i], NULL, &t->result[i],
					 &t->app[i * t->s.n_apps], err, sizeof(err));

		if (rc) {
			cli_fail(CMD, "%s.", err);
			return sr_is_misuse(rc) ? CLI_USAGE : CLI_FAILED;
		}
	}
	if (t->json)
		sr_json(t);
	else
		sr_table(t);
	return CLI_OK;
}

static int sr_device(const char *text, struct sl_device_model *out)
{
	struct sl_guess guess = { .word = text };
	char all[200] = "";

	if (!sl_device_parse(text, out))
		return CLI_OK;
	if (strchr(text, '='))
		return cli_usage(USE,
				 "--device: '%s' is no device; write one like "
				 "bandwidth=200M,seek=5ms,op=50us,streams=1.",
				 text);
	for (unsigned i = 0; sl_device_preset(i); i++)
		sl_consider(&guess, sl_device_preset(i)->name);
	if (guess.best)
		return cli_unknown(USE, "device", &guess);
	for (unsigned i = 0; sl_device_preset(i); i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
			 sl_device_preset(i)->name);
	return cli_usage(USE, "unknown device '%s'; there are %s.", text, all);
}

static int sr_scenario(struct study *t, const char *path, const struct sl_device_model *device,
		       unsigned long window, const char *seed)
{
	char err[SL_REQUESTS_TEXT];
	int rc = sl_requests_load(path, &t->s, err, sizeof(err));

	if (rc) {
		cli_fail(CMD, "%s.", err);
		return rc == -EINVAL ? CLI_USAGE : CLI_FAILED;
	}
	if (device)
		t->s.device = *device;
	if (window)
		t->s.window_batches = (uint32_t)window;
	if (seed)
		t->s.seed = strtoull(seed, NULL, 10);
	return sr_run(t);
}

static int sr_main(struct study *t, int argc, char **argv)
{
	struct sl_device_model device = { 0 };
	const char *seed = NULL;
	unsigned long window = 0, number;
	bool here; /* the option that selects this command */
	const struct cli_option options[] = {
		{ "requests", 'R', .flag = &here, .help = NULL },
		{ "policy", 'p', "SPEC", .values = "<spec>",
		  .help = "such as order=aioli,wait_us=500,share=pool; again for more. Default: "
			  "those of the scenario, else each order" },
		{ "device", 'd', "NAME", .values = "hdd raid ssd pastel graphene suno edel",
		  .help = "this device instead of the scenario's: hdd, raid, ssd, pastel, "
			  "graphene, suno or edel" },
		{ "seed", 's', "S", .help = "seed of random numbers, instead of the scenario's" },
		{ "window", 'w', "N",
		  .help = "batches in flight at a device, instead of the scenario's" },
		{ "per-app", 'a', NULL, .flag = &t->per_app,
		  .help = "print each application as well" },
		CLI_JSON(&t->json),
		{ "csv", OF_CSV, NULL, .help = NULL },
		{ "html", OF_HTML, "FILE", .help = NULL },
		{ "repeat", OF_REPEAT, "N", .help = NULL },
		{ "jobs", OF_JOBS, "N", .help = NULL },
		{ "window-mode", OF_WINDOW_MODE, "MODE", .help = NULL },
		{ 0 },
	};
	const struct cli_command command = {
		.name = USE,
		.usage = "sim --requests [OPTION]... SCENARIO.yaml",
		.about = "Simulates processes that read and write files on a few servers, request "
			 "by request, with the scheduler of the daemon in each server, and "
			 "compares its policies. A scenario with a controller is a layer of "
			 "several I/O nodes: grants and the division over all nodes are "
			 "simulated too. 'sluice replay' checks the recording of a node.",
		.more = "The policies: sluice policy list. The scenario: sluice-sim(1).",
		.options = options,
		.arguments = 1,
	};
	int opt, status = CLI_OK;

	while ((opt = cli_next(&command, argc, argv)) > CLI_USAGE) {
		if (opt == 'p')
			status = sr_policy(t, optarg);
		else if (opt == 'd')
			status = sr_device(optarg, &device);
		else if (opt == 's' && check_count(seed = optarg, 0, UINT64_MAX, &number))
			status = cli_usage(USE, "--seed: '%s' is not a number.", optarg);
		else if (opt == 'w' && check_count(optarg, 1, SL_REQUESTS_WINDOW, &window))
			status = cli_usage(USE, "--window: '%s' is not a number from 1 to %d.",
					   optarg, SL_REQUESTS_WINDOW);
		else if (opt >= OF_CSV)
			status = cli_usage(USE, "--%s is not for --requests.",
					   cli_find(&command, opt)->name);
		if (status)
			return status;
	}
	if (opt)
		return cli_end(opt);
	if (optind == argc)
		return cli_usage(USE, "no scenario given.");
	return sr_scenario(t, sim_path(argv[optind]), device.name ? &device : NULL, window, seed);
}

int sim_requests_main(int argc, char **argv)
{
	struct study t = { 0 };
	int status;

	optind = 0; /* glibc: restart getopt(), the caller has used it */
	status = sr_main(&t, argc, argv);
	for (uint32_t i = 0; i < t.n_given; i++)
		sl_requests_policy_free(&t.given[i]);
	sl_requests_free(&t.s);
	free(t.result);
	free(t.app);
	return status;
}
