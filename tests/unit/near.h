/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that may differ by a tolerance. After <cmocka.h>. */
#ifndef SL_TESTS_UNIT_NEAR_H
#define SL_TESTS_UNIT_NEAR_H

#include <math.h>

/* By `tolerance`, or by `part` of what is wanted. */
static inline void near_at(double is, double wanted, double tolerance, double part,
			   const char *file, int line)
{
	if (fabs(is - wanted) <= fmax(tolerance, part * fabs(wanted)))
		return;
	print_error("%.15g is not %.15g\n", is, wanted);
	_fail(file, line);
}
#define near_to(is, wanted, tolerance) near_at(is, wanted, tolerance, 0, __FILE__, __LINE__)
#define near_by(is, wanted, part)      near_at(is, wanted, 0, part, __FILE__, __LINE__)

#endif
