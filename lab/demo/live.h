/* SPDX-License-Identifier: Apache-2.0 */
/* The live part of `sluice demo`. See live.c. */
#ifndef SL_LAB_DEMO_LIVE_H
#define SL_LAB_DEMO_LIVE_H

#include <stdbool.h>

/* Creates a directory below dir for the files, and removes it. Returns an exit status. */
int demo_live(const char *dir, bool json);
/* next.c: print commands to try next. */
void demo_next(void);

#endif
