/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a layer in the text format of Prometheus. */
#ifndef SL_HTTPD_METRICS_H
#define SL_HTTPD_METRICS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

/* tree: what GET /api/v1/status gives; up: a node answered; age_s: of that. */
void metrics_write(FILE *f, const cJSON *tree, bool up, double age_s);

#endif
