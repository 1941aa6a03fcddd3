/* SPDX-License-Identifier: Apache-2.0 */
/* sluiced: one program with two roles, an I/O node or the controller of several. */
#include <stdio.h>
#include <string.h>

#include "sluice.h"
#include "sluiced/controller/controller.h"
#include "sluiced/ionode/ionode.h"

static int wrong_role(const char *problem, const char *role)
{
	fprintf(stderr, "sluiced: %s '%s'. See 'sluiced --help'.\n", problem, role);
	return 2;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return wrong_role("missing role", "ionode");
	if (!strcmp(argv[1], "--help")) /* prints the help of the usual role */
		return ionode_main(argc, argv);
	if (!strcmp(argv[1], "--version"))
		return puts("sluiced " SL_VERSION) < 0;
	if (!strcmp(argv[1], "controller"))
		return controller_main(argc - 1, argv + 1);
	if (!strcmp(argv[1], "ionode"))
		return ionode_main(argc - 1, argv + 1);
	return wrong_role("unknown role", argv[1]);
}
