/* SPDX-License-Identifier: Apache-2.0 */
/* The live part of `sluice demo`. See demo-live.c. */
#ifndef SL_CLI_DEMO_LIVE_H
#define SL_CLI_DEMO_LIVE_H

#include <stdbool.h>

/* dir: beneath it a directory is made for the files, and removed. Returns an exit status. */
int demo_live(const char *dir, bool json);
/* demo-next.c: the end of either part, commands to go on with. */
void demo_next(void);

#endif
