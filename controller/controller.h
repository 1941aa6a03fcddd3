/* SPDX-License-Identifier: Apache-2.0 */
/* `sluiced controller`: see main.c. */
#ifndef SL_CONTROLLER_H
#define SL_CONTROLLER_H

int controller_main(int argc, char **argv);

#endif
