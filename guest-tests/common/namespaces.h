/* Namespaces of one's own, by way of a user namespace, which takes no privilege where it is allowed. */
#ifndef GUEST_NAMESPACES_H
#define GUEST_NAMESPACES_H

#include "files.h"
#include <sched.h>
#include <sys/mount.h>

static inline void put_text(const char *path, const char *text)
{
	int file = SUCCEEDS(open(path, O_WRONLY | O_CLOEXEC));
	EQUALS(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
}

/* Enters a new user namespace as its user and group 0, together with other new namespaces. */
static inline void enter_namespaces(int others)
{
	uid_t user = getuid();
	gid_t group = getgid();
	if (unshare(CLONE_NEWUSER | others) < 0)
		SKIP("user namespaces are not allowed here");
	char line[64];
	snprintf(line, sizeof line, "0 %u 1", user);
	put_text("/proc/self/uid_map", line);
	put_text("/proc/self/setgroups", "deny");
	snprintf(line, sizeof line, "0 %u 1", group);
	put_text("/proc/self/gid_map", line);
}

/* A fresh file system as the working directory, in a mount namespace of one's own that nobody else hears of. */
static inline void enter_own_file_system(void)
{
	scratch();
	enter_namespaces(CLONE_NEWNS);
	SUCCEEDS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	SUCCEEDS(mount("own", scratch_path, "tmpfs", 0, "size=1m"));
	SUCCEEDS(chdir(scratch_path));
}

#endif
