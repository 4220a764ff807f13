/* A control group of the case's own, in namespaces of its own. */
#ifndef GUEST_CGROUPS_H
#define GUEST_CGROUPS_H

#include "namespaces.h"
#include <sys/mount.h>

/* Its path. */
static char group[128];

static void remove_group(void)
{
	rmdir(group);
}

/* Makes it, beneath the one that the case is in. */
static void own_group(void)
{
	need_root();
	scratch();
	if (unshare(CLONE_NEWNS | CLONE_NEWCGROUP) < 0)
		SKIP("namespaces are not allowed here");
	SUCCEEDS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	if (mount("groups", scratch_path, "cgroup2", 0, NULL) < 0)
		SKIP("no control groups here");
	snprintf(group, sizeof group, "%s/belljar-%d", scratch_path, getpid());
	if (mkdir(group, 0755) < 0)
		SKIP("no control groups of one's own here");
	test_cleanup = remove_group;
}

#endif
