/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `sluice`, each in a file of its name. base/cli.h has what they share. */
#ifndef SL_CLI_H
#define SL_CLI_H

#include "base/cli.h"
#include "layer/layer.h"

/* The exit status for what a function of layer/ returned; a failure is reported. */
static inline int cli_layer(const char *cmd, int rc)
{
	return cli_result(cmd, rc, layer_error());
}

int cmd_up(int argc, char **argv);
int cmd_down(int argc, char **argv);
int cmd_open(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_close(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_job(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_explore(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_allocate(int argc, char **argv);
int cmd_period(int argc, char **argv);
int cmd_dashboard(int argc, char **argv);
int cmd_profile(int argc, char **argv);

#endif
