/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sl_phase_begin(), sl_phase_end() and sl_tag_set() in the library that programs are linked with.
 * They call the library that `sluice run` preloads, which is connected to a node. Without the
 * preloaded library they do nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "sluice.h"

static int tell(int begin)
{
	void *found = dlsym(RTLD_DEFAULT, "sl_preload_phase");
	int (*phase)(int);

	if (!found)
		return -ENOTCONN;
	memcpy(&phase, &found, sizeof(phase));
	return phase(begin);
}

int sl_tag_set(const char *tag)
{
	void *found = dlsym(RTLD_DEFAULT, "sl_preload_tag");
	int (*set)(const char *);

	if (!found)
		return -ENOTCONN;
	memcpy(&set, &found, sizeof(set));
	return set(tag);
}

int sl_phase_begin(void)
{
	return tell(1);
}

int sl_phase_end(void)
{
	return tell(0);
}
