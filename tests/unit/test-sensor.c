/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors read what kernels and exporters print: files of the documented formats, and broken ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sluiced/ionode/sensor.h"

static const char mountstats[] =
	"device proc mounted on /proc with fstype proc\n"
	"device s1:/other mounted on /mnt/data2 with fstype nfs4 statvers=1.1\n"
	"\tbytes:\t1 2 3 4 5 6 7 8\n"
	"device s1:/export mounted on /mnt/data with fstype nfs4 statvers=1.1\n"
	"\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp\n"
	"\tage:\t4711\n"
	"\tevents:\t52 226 0 0 24 10 1000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	"\tbytes:\t123 456 789 1011 10485760 20971520 2560 5120\n"
	"\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
	"\txprt:\ttcp 0 0 1 0 11 1053 1053 0 1052 0 2 0 0\n"
	"\tper-op statistics\n"
	"\t        NULL: 1 1 0 44 24 0 0 0 0\n"
	"\t        READ: 10 10 0 1720 10487000 12 340 500 0\n"
	"\t       WRITE: 20 20 0 20975000 2720 150 800 1500 0\n"
	"\t      COMMIT: 2 2 0 300 208 0 10 10 0\n"
	"device s2:/x mounted on /mnt/x with fstype nfs statvers=1.1\n"
	"\tbytes:\t9 9 9 9 9 9 9 9\n";

static void test_nfs(void **state)
{
	struct sensor_reading r = { 0 };

	assert_int_equal(sensor_parse_nfs(mountstats, "/mnt/data", &r), 0);
	assert_true(r.has_bytes && r.has_busy && !r.has_queue);
	assert_int_equal(r.bytes[0], 10485760);
	assert_int_equal(r.bytes[1], 20971520);
	assert_true(r.busy_s > 1.999 && r.busy_s < 2.001);
	memset(&r, 0, sizeof(r));
	assert_int_equal(sensor_parse_nfs(mountstats, "/mnt/x", &r), 0);
	assert_int_equal(r.bytes[1], 9);
	assert_false(r.has_busy);
	assert_int_equal(sensor_parse_nfs(mountstats, "/mnt", &r), -EINVAL);
	assert_int_equal(sensor_parse_nfs("", "/mnt", &r), -EINVAL);
	assert_int_equal(
		sensor_parse_nfs("device a mounted on /m with fstype nfs\n\tbytes: x\n", "/m", &r),
		-EINVAL);
}

static void test_lustre(void **state)
{
	static const char stats[] = "snapshot_time:         1763260000.123456789 (secs.nsecs)\n"
				    "read RPCs in flight:  3\n"
				    "write RPCs in flight: 8\n"
				    "pending write pages:  2048\n"
				    "pending read pages:   0\n"
				    "\n"
				    "\t\t\tread\t\t\twrite\n"
				    "pages per rpc         rpcs   % cum % |       rpcs   % cum %\n"
				    "1:\t\t         0   0   0   |          0   0   0\n";
	struct sensor_reading r = { 0 };

	assert_int_equal(sensor_parse_lustre(stats, &r), 0);
	assert_int_equal(sensor_parse_lustre(stats, &r), 0); /* another OST: summed up */
	assert_true(r.has_queue && r.queue > 21.9 && r.queue < 22.1);
	assert_int_equal(sensor_parse_lustre("read RPCs in flight: 3\n", &r), -EINVAL);
	assert_int_equal(sensor_parse_lustre("", &r), -EINVAL);
}

static void test_mounts(void **state)
{
	static const char mounts[] = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				     "30 22 98:0 / /data rw,noatime shared:1 - ext4 /dev/sdb rw\n"
				     "31 30 98:0 /a /data/bound rw - ext4 /dev/sdb rw\n"
				     "32 30 0:40 / /data/trigger rw - autofs auto rw\n"
				     "33 30 0:41 / /data2/other rw - nfs server:/x rw\n"
				     "34 30 0:42 / /data/x/big\\040disk rw - xfs /dev/sdc rw\n";
	char below[PATH_MAX];

	assert_true(sensor_parse_mounts(mounts, "/data", below));
	assert_string_equal(below, "/data/x/big disk");
	assert_true(sensor_parse_mounts(mounts, "/data/x", below));
	assert_false(sensor_parse_mounts(mounts, "/data/x/big disk", below));
	assert_false(sensor_parse_mounts(mounts, "/data/bound", below));
	assert_false(sensor_parse_mounts(mounts, "/home", below));
	assert_true(sensor_parse_mounts(mounts, "/data2", below));
	assert_false(sensor_parse_mounts("", "/data", below));
	assert_false(sensor_parse_mounts("nonsense - x\n\n36 - \n", "/", below));
}

static void test_block(void **state)
{
	struct sensor_reading r = { 0 };

	assert_int_equal(
		sensor_parse_block(
			"     446       0    21298       26   40961   26  2097152 1 0 1 2\n", &r),
		0);
	assert_int_equal(r.bytes[0], 21298 * 512);
	assert_int_equal(r.bytes[1], UINT64_C(2097152) * 512);
	assert_int_equal(sensor_parse_block("1 2 3\n", &r), -EINVAL);
}

static void test_number(void **state)
{
	double x = 0;

	assert_int_equal(sensor_parse_number(" 12.5e3\n", &x), 0);
	assert_true(x > 12499 && x < 12501);
	assert_int_equal(sensor_parse_number("7", &x), 0);
	assert_int_equal(sensor_parse_number("", &x), -EINVAL);
	assert_int_equal(sensor_parse_number("7x", &x), -EINVAL);
	assert_int_equal(sensor_parse_number("nan", &x), -EINVAL);
	assert_int_equal(sensor_parse_number("inf", &x), -EINVAL);
	assert_int_equal(sensor_parse_number("-1", &x), -EINVAL);
}

static void test_prometheus(void **state)
{
	static const char text[] = "# HELP ost_queue Requests waiting.\n"
				   "# TYPE ost_queue gauge\n"
				   "ost_queue_total 99\n"
				   "ost_queue{ost=\"0\",note=\"a b\"} 4 1763260000000\n"
				   "ost_queue{ost=\"1\"} 7\n"
				   "bandwidth_bytes 1.5e+09\n";
	double x = 0;

	assert_int_equal(sensor_parse_prometheus(text, "ost_queue", &x), 0);
	assert_true(x > 3.9 && x < 4.1);
	assert_int_equal(sensor_parse_prometheus(text, "ost_queue{ost=\"1\"}", &x), 0);
	assert_true(x > 6.9 && x < 7.1);
	assert_int_equal(sensor_parse_prometheus(text, "bandwidth_bytes", &x), 0);
	assert_true(x > 1.4e9 && x < 1.6e9);
	assert_int_equal(sensor_parse_prometheus(text, "bandwidth", &x), -EINVAL);
	assert_int_equal(sensor_parse_prometheus("", "bandwidth", &x), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts), cmocka_unit_test(test_nfs),
		cmocka_unit_test(test_lustre), cmocka_unit_test(test_block),
		cmocka_unit_test(test_number), cmocka_unit_test(test_prometheus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
