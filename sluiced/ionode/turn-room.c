/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A room: the page with the bell and the directory of segments of one user. See site.h for where
 * they are in a layer for all users. In a personal layer there is one, beside the socket.
 *
 * A directory of a user belongs to the node's account, so its user can neither add nor remove
 * files. An access control list lets the user enter it. No capability is needed for that, and
 * tmpfs, ext4, XFS and overlayfs have such lists.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/log.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/turn.h"

#define ROOMS	   1024 /* users with jobs since the node has started */
#define KEPT_MAGIC UINT64_C(0x3354504b4c53)

/* ---- access ---- */

/* Let the user enter a directory: see acl(5), and linux/posix_acl_xattr.h for the format. */
static int let_enter(const char *path, uid_t uid)
{
	const struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} entry[5];
	} acl = { 2,
		  { { 0x01, 7, UINT32_MAX },	 /* the owner */
		    { 0x02, 1, uid },		 /* this user: x */
		    { 0x04, 0, UINT32_MAX },	 /* the group */
		    { 0x10, 1, UINT32_MAX },	 /* at most x for all but the owner */
		    { 0x20, 0, UINT32_MAX } } }; /* others */

	return setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0) ? -errno : 0;
}

static int make_dir(const char *path, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) && errno != EEXIST)
		return -errno;
	if (lstat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	return 0;
}

/* ---- pages ---- */

static void page_init(struct node *n, struct sl_turn_node *page)
{
	struct stat st;

	page->bytes = sizeof(*page);
	page->magic = SL_TURN_MAGIC;
	atomic_store(&page->sleeping, 0);
	atomic_store(&page->epoch, n->epoch);
	atomic_store(&page->alive_ns, node_now());
	atomic_store(&page->pid_space, stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino);
}

/* The page of the node before this one at this socket, if programs still have it. */
static int map_page(struct node *n, struct turn_room *room, void *at)
{
	int fd = open(room->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), rc;
	struct sl_turn_node *page = MAP_FAILED;

	if (fd < 0)
		return -errno;
	rc = ftruncate(fd, sizeof(*page)) ? -errno : 0;
	/* With its blocks: a full file system must be found here, not when a page is touched. */
	if (!rc)
		rc = -posix_fallocate(fd, 0, sizeof(*page));
	/* In a directory that only its user may enter. */
	if (!rc && n->site && fchmod(fd, 0666))
		rc = -errno;
	if (!rc) {
		page = mmap(at, sizeof(*page), PROT_READ | PROT_WRITE,
			    MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
		rc = page == MAP_FAILED ? -errno : 0;
	}
	close(fd);
	if (rc)
		return rc;
	page_init(n, page);
	room->page = page;
	return 0;
}

void turn_rooms_check(struct node *n)
{
	struct stat st;

	for (struct turn_room *room = n->turns->rooms; room; room = room->next) {
		if (!room->path || stat(room->path, &st) ||
		    st.st_size == (off_t)sizeof(*room->page))
			continue;
		log_warn("user=%u has changed the size of %s", (unsigned)room->uid, room->path);
		map_page(n, room, room->page);
	}
}

/* ---- rooms ---- */

/* DIR/node.sock: DIR/u/UID/node.sock.SUFFIX */
static char *beside(const struct node *n, uid_t uid, const char *suffix)
{
	const char *socket = n->config->daemon.socket, *slash = strrchr(socket, '/');
	char *path = NULL;
	int rc;

	if (!n->site)
		rc = asprintf(&path, "%s%s", socket, suffix);
	else
		rc = asprintf(&path, "%.*s/u/%u/%s%s", slash ? (int)(slash - socket) : 1,
			      slash ? socket : ".", (unsigned)uid, slash ? slash + 1 : socket,
			      suffix);
	return rc < 0 ? NULL : path;
}

/* DIR/u, DIR/u/UID, DIR/kept */
static int make_dirs(const struct node *n, uid_t uid)
{
	const char *socket = n->config->daemon.socket, *slash = strrchr(socket, '/');
	char path[PATH_MAX];
	int rc, length = slash ? (int)(slash - socket) : 0;

	if (!n->site)
		return 0;
	snprintf(path, sizeof(path), "%.*s/kept", length, socket);
	if ((rc = make_dir(path, 0700)))
		return rc;
	snprintf(path, sizeof(path), "%.*s/u", length, socket);
	if ((rc = make_dir(path, 0711)) || (chmod(path, 0711) && (rc = -errno)))
		return rc;
	if (uid == geteuid())
		return 0;
	snprintf(path, sizeof(path), "%.*s/u/%u", length, socket, (unsigned)uid);
	if ((rc = make_dir(path, 0700)))
		return rc;
	rc = let_enter(path, uid);
	if (rc)
		log_error("user=%u cannot be let into %s (no access control lists?): %s",
			  (unsigned)uid, path, strerror(-rc));
	return rc;
}

static void append_room(struct node *n, struct turn_room *room)
{
	struct turn_room *_Atomic *at = &n->turns->rooms;

	while (*at)
		at = &(*at)->next;
	atomic_store(at, room);
}

/*
 * In a layer for all users the node has a bell of its own, so that it can be woken for new rooms.
 */
static int own_room(struct node *n)
{
	struct turn_room *room = calloc(1, sizeof(*room));

	if (!room)
		return -ENOMEM;
	room->page = mmap(NULL, sizeof(*room->page), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (room->page == MAP_FAILED) {
		free(room);
		return -ENOMEM;
	}
	room->uid = geteuid();
	page_init(n, room->page);
	append_room(n, room);
	return 0;
}

static void wake(const struct turn_room *own)
{
	atomic_fetch_add(&own->page->rings, 1);
	syscall(SYS_futex, &own->page->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static struct turn_room *room_make(struct node *n, uid_t uid, int *error)
{
	struct turn_room *room = calloc(1, sizeof(*room));

	if (!room) {
		*error = -ENOMEM;
		return NULL;
	}
	room->uid = uid;
	room->path = beside(n, uid, ".turn");
	room->dir = beside(n, uid, ".jobs");
	*error = room->path && room->dir ? make_dirs(n, uid) : -ENOMEM;
	if (!*error)
		*error = make_dir(room->dir, 0700);
	if (!*error && n->site && chmod(room->dir, 0711)) /* inside the user's directory */
		*error = -errno;
	if (!*error)
		*error = map_page(n, room, NULL);
	if (*error) {
		free(room->path);
		free(room->dir);
		free(room);
		return NULL;
	}
	append_room(n, room);
	if (n->site)
		wake(n->turns->rooms);
	return room;
}

struct turn_room *turn_room(struct node *n, uid_t uid, int *error)
{
	struct turn_room *room = n->turns->rooms;
	uint32_t count = 0;

	*error = 0;
	if (!n->site)
		return room;
	for (; room; room = room->next, count++)
		if (room->uid == uid && room->dir)
			return room;
	*error = -EUSERS;
	return count > ROOMS ? NULL : room_make(n, uid, error);
}

/* ---- what a node before this one has left ---- */

static void find_segments(struct node *n, struct turn_room *room,
			  void (*adopt)(struct node *, struct turn_room *, const char *))
{
	DIR *dir = opendir(room->dir);
	char path[PATH_MAX];

	/* cppcheck-suppress readdirCalled ; the stream is this thread's alone */
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (e->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", room->dir, e->d_name);
			adopt(n, room, path);
		}
	if (dir)
		closedir(dir);
}

int turn_rooms_find(struct node *n, void (*adopt)(struct node *, struct turn_room *, const char *))
{
	const char *socket = n->config->daemon.socket, *slash = strrchr(socket, '/');
	struct turn_room *room;
	char path[PATH_MAX];
	int rc;
	DIR *dir;

	if (!n->site) {
		room = room_make(n, geteuid(), &rc);
		if (room)
			find_segments(n, room, adopt);
		return rc;
	}
	if ((rc = own_room(n)) || (rc = make_dirs(n, geteuid())))
		return rc;
	snprintf(path, sizeof(path), "%.*s/u", slash ? (int)(slash - socket) : 0, socket);
	dir = opendir(path);
	/* cppcheck-suppress readdirCalled ; the stream is this thread's alone */
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char *end, *jobs;
		unsigned long uid = strtoul(e->d_name, &end, 10);
		bool some;

		if (e->d_name[0] < '0' || e->d_name[0] > '9' || *end || uid >= UINT32_MAX)
			continue;
		jobs = beside(n, (uid_t)uid, ".jobs");
		some = jobs && access(jobs, F_OK) == 0;
		free(jobs);
		room = some ? turn_room(n, (uid_t)uid, &rc) : NULL;
		if (room)
			find_segments(n, room, adopt);
	}
	if (dir)
		closedir(dir);
	return 0;
}

/* ---- what the node remembers of jobs ---- */

static void kept_path(const struct node *n, uid_t uid, uint64_t local, char path[PATH_MAX])
{
	const char *socket = n->config->daemon.socket, *slash = strrchr(socket, '/');

	snprintf(path, PATH_MAX, "%.*s/kept/%u-%016" PRIx64, slash ? (int)(slash - socket) : 0,
		 socket, (unsigned)uid, local);
}

void turn_kept_write(const struct node *n, const struct turn_kept *kept)
{
	char path[PATH_MAX], fresh[PATH_MAX + 8];
	struct turn_kept copy = *kept;
	int fd;
	bool whole;

	copy.magic = KEPT_MAGIC;
	kept_path(n, kept->uid, kept->local, path);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	whole = write(fd, &copy, sizeof(copy)) == (ssize_t)sizeof(copy);
	close(fd);
	if (!whole || rename(fresh, path))
		unlink(fresh);
}

bool turn_kept_read(const struct node *n, uid_t uid, uint64_t local, struct turn_kept *kept)
{
	char path[PATH_MAX];
	ssize_t got;
	int fd;

	kept_path(n, uid, local, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	got = read(fd, kept, sizeof(*kept));
	close(fd);
	return got == (ssize_t)sizeof(*kept) && kept->magic == KEPT_MAGIC && kept->uid == uid &&
	       kept->local == local && memchr(kept->name, 0, sizeof(kept->name)) &&
	       memchr(kept->title, 0, sizeof(kept->title)) &&
	       memchr(kept->owner.account, 0, SL_OWNER_MAX) &&
	       memchr(kept->owner.qos, 0, SL_OWNER_MAX) &&
	       memchr(kept->owner.partition, 0, SL_OWNER_MAX);
}

void turn_kept_remove(const struct node *n, uid_t uid, uint64_t local)
{
	char path[PATH_MAX];

	kept_path(n, uid, local, path);
	unlink(path);
}
