/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of machines as Slurm writes them: see hosts.h. */
#include "base/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(struct sl_hosts *h, const char *name)
{
	char(*more)[SL_HOST_NAME];

	if (!*name || *name == '-') /* "-x" would be an option of the launcher */
		return -EINVAL;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.:", *c))
			return -EINVAL;
	for (size_t i = 0; i < h->count; i++)
		if (!strcmp(h->name[i], name))
			return -EEXIST;
	if (h->count == SL_HOSTS_MAX)
		return -E2BIG;
	more = reallocarray(h->name, h->count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	h->name = more;
	strcpy(h->name[h->count++], name);
	return 0;
}

static int expand(struct sl_hosts *h, const char *prefix, const char *rest);

/* "3" or "07-12", up to `end`: each with the prefix before it and the rest behind it. */
static int expand_range(struct sl_hosts *h, const char *prefix, const char *range, const char *end,
			const char *rest)
{
	size_t digits = strspn(range, "0123456789");
	const char *last = range[digits] == '-' ? range + digits + 1 : range;
	size_t more = strspn(last, "0123456789");
	char name[SL_HOST_NAME];
	unsigned long from, to;

	if (!digits || digits > 9 || !more || more > 9 || last + more != end)
		return -EINVAL;
	from = strtoul(range, NULL, 10);
	to = strtoul(last, NULL, 10);
	if (from > to)
		return -EINVAL;
	for (unsigned long i = from; i <= to; i++) {
		int rc;

		if (snprintf(name, sizeof(name), "%s%0*lu", prefix, (int)digits, i) >=
		    (int)sizeof(name))
			return -E2BIG;
		if ((rc = expand(h, name, rest)))
			return rc;
	}
	return 0;
}

/* One element of the list: its first bracket, then what is behind that. */
static int expand(struct sl_hosts *h, const char *prefix, const char *rest)
{
	const char *open = strchr(rest, '['), *close = open ? strchr(open, ']') : NULL, *end;
	char name[SL_HOST_NAME];
	int rc;

	if (open && !close)
		return -EINVAL;
	if (snprintf(name, sizeof(name), "%s%.*s", prefix,
		     (int)(open ? (size_t)(open - rest) : strlen(rest)), rest) >= (int)sizeof(name))
		return -E2BIG;
	if (!open)
		return add(h, name);
	for (const char *range = open + 1;; range = end + 1) {
		end = range + strcspn(range, ",]");
		if ((rc = expand_range(h, name, range, end, close + 1)) || end == close)
			return rc;
	}
}

int sl_hosts_parse(struct sl_hosts *h, const char *list)
{
	char *copy = strdup(list), *element = copy;
	bool inside = false, more = true;
	int rc = copy ? 0 : -ENOMEM;

	*h = (struct sl_hosts){ 0 };
	for (char *c = copy; !rc && more; c++) {
		inside = *c == '[' || (inside && *c && *c != ']');
		if (*c && (*c != ',' || inside))
			continue;
		more = *c != 0;
		*c = 0;
		rc = expand(h, "", element);
		element = c + 1;
	}
	free(copy);
	if (rc)
		sl_hosts_free(h);
	return rc;
}

void sl_hosts_free(struct sl_hosts *h)
{
	free(h->name);
	*h = (struct sl_hosts){ 0 };
}
