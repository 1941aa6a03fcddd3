/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a layer in the text format of Prometheus. */
#ifndef SL_HTTPD_METRICS_H
#define SL_HTTPD_METRICS_H

#include <stdio.h>

#include "wire/status.h"

/* layer: its name; s: of a layer, NULL: no node has answered; age_s: of that. */
void metrics_write(FILE *f, const char *layer, const struct status *s, double age_s);

#endif
