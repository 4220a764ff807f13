/* User and group identities, supplementary groups, capabilities and securebits. */
#include "test.h"
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>

static void is_user(uid_t real, uid_t effective, uid_t saved)
{
	uid_t r, e, s;
	SUCCEEDS(getresuid(&r, &e, &s));
	EQUALS(r, real);
	EQUALS(e, effective);
	EQUALS(s, saved);
	EQUALS(getuid(), real);
	EQUALS(geteuid(), effective);
}

static void is_group(gid_t real, gid_t effective, gid_t saved)
{
	gid_t r, e, s;
	SUCCEEDS(getresgid(&r, &e, &s));
	EQUALS(r, real);
	EQUALS(e, effective);
	EQUALS(s, saved);
	EQUALS(getgid(), real);
	EQUALS(getegid(), effective);
}

struct capabilities {
	uint64_t effective, permitted, inheritable;
};

static struct capabilities capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	SUCCEEDS(syscall(SYS_capget, &header, data));
	return (struct capabilities){
		data[0].effective | (uint64_t)data[1].effective << 32,
		data[0].permitted | (uint64_t)data[1].permitted << 32,
		data[0].inheritable | (uint64_t)data[1].inheritable << 32,
	};
}

static long set_capabilities(struct capabilities wanted)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = {
		{ wanted.effective, wanted.permitted, wanted.inheritable },
		{ wanted.effective >> 32, wanted.permitted >> 32, wanted.inheritable >> 32 },
	};
	return syscall(SYS_capset, &header, data);
}

static const uint64_t SETUID = 1ull << CAP_SETUID, KILL = 1ull << CAP_KILL;

TEST(root_sets_all_by_setuid)
{
	need_root();
	SUCCEEDS(setuid(100));
	is_user(100, 100, 100);
	FAILS(setuid(0), EPERM);
	EQUALS(capabilities().permitted, 0);
	EQUALS(capabilities().effective, 0);
}

TEST(root_sets_effective_and_comes_back)
{
	need_root();
	SUCCEEDS(seteuid(100));
	is_user(0, 100, 0);
	EQUALS(capabilities().effective, 0);
	CHECK(capabilities().permitted != 0);
	FAILS(setuid(200), EPERM);
	SUCCEEDS(seteuid(0));
	is_user(0, 0, 0);
	CHECK(capabilities().effective != 0);
}

TEST(three_identities)
{
	need_root();
	SUCCEEDS(setresuid(1, 2, 3));
	is_user(1, 2, 3);
	SUCCEEDS(setresuid(-1, 3, -1));
	is_user(1, 3, 3);
	SUCCEEDS(setresuid(3, 1, 3));
	is_user(3, 1, 3);
	FAILS(setresuid(-1, 2, -1), EPERM);
	SUCCEEDS(setresuid(-1, -1, -1));
}

TEST(real_and_effective)
{
	need_root();
	SUCCEEDS(setreuid(10, 20));
	is_user(10, 20, 20);
	SUCCEEDS(setreuid(20, 10));
	is_user(20, 10, 10);
	FAILS(setreuid(-1, 30), EPERM);
	FAILS(setreuid(30, -1), EPERM);
}

TEST(unprivileged_setuid_chooses_real_or_saved)
{
	need_root();
	SUCCEEDS(setresuid(1, 2, 3));
	SUCCEEDS(setuid(3));
	is_user(1, 3, 3);
	SUCCEEDS(setuid(1));
	is_user(1, 1, 3);
	FAILS(setuid(2), EPERM);
}

TEST(groups_of_root)
{
	need_root();
	SUCCEEDS(setresgid(1, 2, 3));
	is_group(1, 2, 3);
	SUCCEEDS(setregid(7, 8));
	is_group(7, 8, 8);
	SUCCEEDS(setegid(9));
	is_group(7, 9, 8);
	SUCCEEDS(setgid(5));
	is_group(5, 5, 5);
}

TEST(groups_of_an_ordinary_user)
{
	become_ordinary();
	gid_t own = getgid();
	SUCCEEDS(setgid(own));
	FAILS(setgid(own + 1), EPERM);
	FAILS(setresgid(-1, own + 1, -1), EPERM);
	FAILS(setregid(own + 1, -1), EPERM);
	gid_t one = own;
	FAILS(setgroups(1, &one), EPERM);
}

TEST(ordinary_user_stays_itself)
{
	become_ordinary();
	uid_t own = getuid();
	SUCCEEDS(setuid(own));
	SUCCEEDS(setresuid(own, own, own));
	FAILS(setuid(0), EPERM);
	FAILS(seteuid(0), EPERM);
	FAILS(setresuid(-1, -1, 0), EPERM);
	FAILS(setreuid(0, -1), EPERM);
}

TEST(minus_one_is_no_user)
{
	FAILS(setuid(-1), EINVAL);
	FAILS(setgid(-1), EINVAL);
}

TEST(supplementary_groups)
{
	need_root();
	gid_t groups[] = { 30, 10, 20 }, got[8];
	SUCCEEDS(setgroups(3, groups));
	EQUALS(getgroups(0, NULL), 3);
	FAILS(getgroups(2, got), EINVAL);
	FAILS(syscall(SYS_getgroups, -1, got), EINVAL);
	EQUALS(getgroups(8, got), 3);
	/* Linux keeps them sorted. */
	EQUALS(got[0], 10);
	EQUALS(got[1], 20);
	EQUALS(got[2], 30);
	SUCCEEDS(setgroups(0, NULL));
	EQUALS(getgroups(8, got), 0);
	FAILS(syscall(SYS_setgroups, 65537, groups), EINVAL);
	FAILS(syscall(SYS_setgroups, 3, BAD_POINTER), EFAULT);
}

TEST(file_system_identity)
{
	need_root();
	EQUALS(setfsuid(55), 0);
	EQUALS(setfsuid(-1), 55);
	EQUALS(setfsgid(66), 0);
	EQUALS(setfsgid(-1), 66);
	SUCCEEDS(seteuid(77));
	EQUALS(setfsuid(-1), 77);
	/* Refused in silence: neither of the four identities. */
	EQUALS(setfsuid(88), 77);
	EQUALS(setfsuid(-1), 77);
}

TEST(identity_decides_about_files)
{
	need_root();
	SUCCEEDS(setfsuid(55) + 1);
	FAILS(open("/proc/1/mem", O_RDONLY), EACCES);
}

TEST(capget_versions)
{
	struct __user_cap_header_struct header = { 0, 0 };
	struct __user_cap_data_struct data[2];
	SUCCEEDS(syscall(SYS_capget, &header, NULL));
	EQUALS(header.version, _LINUX_CAPABILITY_VERSION_3);
	header.version = 0x12345678;
	FAILS(syscall(SYS_capget, &header, data), EINVAL);
	EQUALS(header.version, _LINUX_CAPABILITY_VERSION_3);
	header.pid = -1;
	FAILS(syscall(SYS_capget, &header, data), EINVAL);
	header.pid = INT_MAX;
	FAILS(syscall(SYS_capget, &header, data), ESRCH);
	header.pid = getpid();
	SUCCEEDS(syscall(SYS_capget, &header, data));
	header.version = _LINUX_CAPABILITY_VERSION_1;
	SUCCEEDS(syscall(SYS_capget, &header, data));
	FAILS(syscall(SYS_capget, BAD_POINTER, data), EFAULT);
}

TEST(ordinary_user_has_no_capabilities)
{
	become_ordinary();
	EQUALS(capabilities().effective, 0);
	EQUALS(capabilities().permitted, 0);
	FAILS(set_capabilities((struct capabilities){ KILL, KILL, 0 }), EPERM);
	SUCCEEDS(set_capabilities((struct capabilities){ 0, 0, 0 }));
}

TEST(dropped_capability_is_gone)
{
	need_root();
	struct capabilities all = capabilities();
	CHECK(all.permitted & SETUID);
	SUCCEEDS(set_capabilities((struct capabilities){ all.effective & ~SETUID, all.permitted, 0 }));
	FAILS(setuid(5), EPERM);
	SUCCEEDS(set_capabilities((struct capabilities){ all.effective, all.permitted, 0 }));
	SUCCEEDS(set_capabilities((struct capabilities){ all.effective & ~SETUID, all.permitted & ~SETUID, 0 }));
	FAILS(set_capabilities(all), EPERM);
	FAILS(setuid(5), EPERM);
}

TEST(effective_must_be_permitted)
{
	need_root();
	FAILS(set_capabilities((struct capabilities){ KILL, 0, 0 }), EPERM);
}

TEST(another_process_cannot_be_changed)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, getppid() };
	struct __user_cap_data_struct data[2] = { 0 };
	FAILS(syscall(SYS_capset, &header, data), EPERM);
}

TEST(keep_capabilities_across_setuid)
{
	need_root();
	EQUALS(prctl(PR_GET_KEEPCAPS), 0);
	SUCCEEDS(prctl(PR_SET_KEEPCAPS, 1));
	EQUALS(prctl(PR_GET_KEEPCAPS), 1);
	FAILS(prctl(PR_SET_KEEPCAPS, 2), EINVAL);
	uint64_t permitted = capabilities().permitted;
	SUCCEEDS(setresuid(9, 9, 9));
	EQUALS(capabilities().permitted, permitted);
	EQUALS(capabilities().effective, 0);
}

TEST(bounding_set)
{
	EQUALS(prctl(PR_CAPBSET_READ, CAP_KILL), 1);
	FAILS(prctl(PR_CAPBSET_READ, 64), EINVAL);
	if (geteuid() == 0) {
		SUCCEEDS(prctl(PR_CAPBSET_DROP, CAP_KILL));
		EQUALS(prctl(PR_CAPBSET_READ, CAP_KILL), 0);
		FAILS(prctl(PR_CAPBSET_DROP, 64), EINVAL);
	}
	become_ordinary();
	FAILS(prctl(PR_CAPBSET_DROP, CAP_CHOWN), EPERM);
}

TEST(ambient_set)
{
	need_root();
	struct capabilities all = capabilities();
	FAILS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0), EPERM);
	SUCCEEDS(set_capabilities((struct capabilities){ all.effective, all.permitted, KILL }));
	SUCCEEDS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0));
	EQUALS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0), 1);
	SUCCEEDS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_KILL, 0, 0));
	EQUALS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0), 0);
	SUCCEEDS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	FAILS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, CAP_KILL, 0, 0), EINVAL);
	FAILS(prctl(PR_CAP_AMBIENT, 9, CAP_KILL, 0, 0), EINVAL);
}

HELPER(has_kill)
{
	return capabilities().effective == KILL && capabilities().permitted == KILL ? 0 : 1;
}

TEST(ambient_capabilities_survive_execve)
{
	need_root();
	pid_t child = FORK();
	if (child == 0) {
		struct capabilities all = capabilities();
		SUCCEEDS(prctl(PR_SET_KEEPCAPS, 1));
		SUCCEEDS(setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER));
		SUCCEEDS(set_capabilities((struct capabilities){ all.effective, all.permitted, KILL }));
		SUCCEEDS(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0));
		execl(test_program, "name", "@has_kill", NULL);
	}
	EXITS(child, 0);
}

TEST(securebits)
{
	EQUALS(prctl(PR_GET_SECUREBITS), 0);
	need_root();
	SUCCEEDS(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP | SECBIT_NOROOT_LOCKED));
	EQUALS(prctl(PR_GET_SECUREBITS), SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP | SECBIT_NOROOT_LOCKED);
	FAILS(prctl(PR_SET_SECUREBITS, 0), EPERM);
	uint64_t effective = capabilities().effective;
	SUCCEEDS(setresuid(9, 9, 9));
	EQUALS(capabilities().effective, effective);
}

TEST(securebits_need_a_capability)
{
	become_ordinary();
	FAILS(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT), EPERM);
}
