/* SPDX-License-Identifier: Apache-2.0 */
/* The live part of `sluice demo`. See live.c. */
#ifndef SL_LAB_DEMO_LIVE_H
#define SL_LAB_DEMO_LIVE_H

#include <stdbool.h>

/* dir: beneath it a directory is made for the files, and removed. Returns an exit status. */
int demo_live(const char *dir, bool json);
/* next.c: the end of either part, commands to go on with. */
void demo_next(void);

#endif
