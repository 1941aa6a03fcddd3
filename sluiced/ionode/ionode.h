/* SPDX-License-Identifier: Apache-2.0 */
/* `sluiced ionode`: see main.c. */
#ifndef SL_SLUICED_IONODE_IONODE_H
#define SL_SLUICED_IONODE_IONODE_H

int ionode_main(int argc, char **argv);

#endif
