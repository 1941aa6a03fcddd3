/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of machines as Slurm writes them: "n[1-3,07],login2" is n1, n2, n3, n07 and login2. */
#ifndef SL_BASE_HOSTS_H
#define SL_BASE_HOSTS_H

#include <stddef.h>

#define SL_HOSTS_MAX 4096
#define SL_HOST_NAME 256 /* with its 0 */

struct sl_hosts {
	size_t count;
	char (*name)[SL_HOST_NAME];
};

/*
 * 0; -EINVAL: malformed; -E2BIG: too many names, or one that is too long; -EEXIST: a name occurs
 * twice; -ENOMEM. After an error nothing has to be freed.
 */
int sl_hosts_parse(struct sl_hosts *h, const char *list);
void sl_hosts_free(struct sl_hosts *h);

#endif
