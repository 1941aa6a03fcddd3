/* SPDX-License-Identifier: Apache-2.0 */
/* `sluiced controller`: see main.c. */
#ifndef SL_SLUICED_CONTROLLER_CONTROLLER_H
#define SL_SLUICED_CONTROLLER_CONTROLLER_H

int controller_main(int argc, char **argv);

#endif
