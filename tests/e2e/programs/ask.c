/* SPDX-License-Identifier: Apache-2.0 */
/* `ask SOCKET WORD…`: one control line to a node, its answer on standard output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/conn/client.h"

int main(int argc, char **argv)
{
	char line[4096] = "", *answer;
	int rc;

	if (argc < 3)
		return 2;
	for (int i = 2; i < argc; i++) {
		strncat(line, argv[i], sizeof(line) - strlen(line) - 1);
		if (i + 1 < argc)
			strncat(line, " ", sizeof(line) - strlen(line) - 1);
	}
	rc = sl_client_control(argv[1], line, &answer);
	if (answer)
		puts(answer);
	else
		fprintf(stderr, "ask: %s\n", strerror(-rc));
	free(answer);
	return rc != 0;
}
