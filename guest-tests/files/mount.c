/* mount(2) and umount2(2): only refusals, which need no privilege and change nothing. */
#include "files.h"
#include <sys/mount.h>
#include <sys/swap.h>

TEST(ordinary_user_may_not)
{
	scratch();
	become_ordinary();
	SUCCEEDS(mkdir("here", 0755));
	FAILS(mount("none", "here", "tmpfs", 0, NULL), EPERM);
	FAILS(umount2("here", 0), EPERM);
	FAILS(syscall(SYS_pivot_root, ".", "."), EPERM);
	FAILS(sethostname("x", 1), EPERM);
	FAILS(swapon("file", 0), EPERM);
	FAILS(acct("file"), EPERM);
}

TEST(handles_are_refused_cleanly)
{
	scratch();
	become_ordinary();
	struct { struct file_handle header; char rest[128]; } handle = { .header = { .handle_bytes = 8, .handle_type = 1 } };
	FAILS(syscall(SYS_open_by_handle_at, AT_FDCWD, &handle, O_RDONLY), EPERM);
}
