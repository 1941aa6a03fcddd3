/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a program under `sluice run` may call: sl_phase_begin(), sl_phase_end() and
 * sl_tag_set() of sluice.h, so that it need not be linked with anything. A program that is linked
 * with libsluice.so finds these in its place, since they were loaded first; the libsluice inside
 * a program that is linked with libsluice.a asks for sl_preload_phase() (sched/phase.c).
 */
#include "client/conn/part.h"
#include "client/preload/preload.h"

int sl_preload_phase(int begin);

int sl_preload_phase(int begin)
{
	return sl_client_phase(begin);
}

int sl_preload_tag(const char *tag);

int sl_preload_tag(const char *tag)
{
	return sl_client_tag(tag);
}

int sl_tag_set(const char *tag)
{
	return sl_client_tag(tag);
}

int sl_phase_begin(void)
{
	return sl_client_phase(true);
}

int sl_phase_end(void)
{
	return sl_client_phase(false);
}
