/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in a job's segment (wire/turn.h).
 *
 *	segment FILE credit            its credit in bytes
 *	segment FILE processes         entries of its table of processes that are in use
 *	segment FILE slots             slots that are not free
 *	segment FILE unscheduled       bytes that went past a silent node
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wire/turn.h"

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	struct sl_turn_job *job = MAP_FAILED;
	long long answer = 0;

	if (fd >= 0)
		job = mmap(NULL, sizeof(*job), PROT_READ, MAP_SHARED, fd, 0);
	if (job == MAP_FAILED || job->magic != SL_TURN_MAGIC)
		return 1;
	if (!strcmp(argv[2], "credit"))
		answer = atomic_load(&job->credit);
	if (!strcmp(argv[2], "unscheduled"))
		answer = (long long)atomic_load(&job->unscheduled);
	for (int i = 0; i < SL_TURN_PROCS && !strcmp(argv[2], "processes"); i++)
		answer += atomic_load(&job->proc[i].pid) != 0;
	for (int i = 0; i < SL_TURN_SLOTS && !strcmp(argv[2], "slots"); i++)
		answer += atomic_load(&job->slot[i].state) != SL_TURN_FREE;
	printf("%lld\n", answer);
	return 0;
}
