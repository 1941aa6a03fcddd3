/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program under `sluice run` may call: sl_phase_begin() and sl_phase_end() of sluice.h, so
 * that it need not be linked with anything. A program that is linked with libsluice.so finds these
 * in its place, since they were loaded first; the libsluice inside a program that is linked with
 * libsluice.a asks for sl_preload_phase() (sched/phase.c).
 */
#include "client/preload/preload.h"

int sl_preload_phase(int begin);

int sl_preload_phase(int begin)
{
	return sl_client_phase(begin);
}

int sl_phase_begin(void)
{
	return sl_client_phase(true);
}

int sl_phase_end(void)
{
	return sl_client_phase(false);
}
