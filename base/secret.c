/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The secret of a layer is a file with one line of 16 to 63 bytes that only its user can read. Any
 * user who can read it may use the node over TCP, so both sides refuse a file that others can read
 * or write. It is also used inside other programs, so it makes system calls directly: open() and
 * read() may be functions that forward.
 */
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/oldlibc.h"

int sl_secret_read(const char *path, char secret[SL_SECRET_BYTES])
{
	char text[SL_SECRET_BYTES + 1] = { 0 };
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	struct stat st;
	size_t length;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (sl_fstat(fd, &st))
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		rc = -EPERM;
	n = rc ? 0 : syscall(SYS_read, fd, text, sizeof(text));
	if (n < 0)
		rc = -errno;
	syscall(SYS_close, fd);
	if (rc)
		return rc;
	length = (size_t)n;
	if (length > SL_SECRET_BYTES)
		return -EINVAL;
	if (length && text[length - 1] == '\n')
		text[--length] = 0;
	if (length < SL_SECRET_LEAST || length >= SL_SECRET_BYTES || strlen(text) != length)
		return -EINVAL;
	memcpy(secret, text, SL_SECRET_BYTES);
	return 0;
}

bool sl_secret_equal(const char a[SL_SECRET_BYTES], const char b[SL_SECRET_BYTES])
{
	volatile unsigned char differ = 0;

	for (int i = 0; i < SL_SECRET_BYTES; i++)
		differ = (unsigned char)(differ | (unsigned char)(a[i] ^ b[i]));
	return differ == 0;
}
