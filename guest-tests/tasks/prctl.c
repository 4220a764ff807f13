/* prctl(2) and arch_prctl(2): the options that are about the caller itself. */
#include "files.h"
#include <asm/prctl.h>
#include <linux/prctl.h>
#include <sys/prctl.h>

TEST(name)
{
	char name[16];
	SUCCEEDS(prctl(PR_SET_NAME, "short"));
	SUCCEEDS(prctl(PR_GET_NAME, name));
	SAME_TEXT(name, "short");
	SUCCEEDS(prctl(PR_SET_NAME, "this is far too long"));
	SUCCEEDS(prctl(PR_GET_NAME, name));
	SAME_TEXT(name, "this is far too");
	SAME_TEXT(text_of("/proc/self/comm"), "this is far too\n");
	FAILS(prctl(PR_SET_NAME, BAD_POINTER), EFAULT);
	FAILS(prctl(PR_GET_NAME, BAD_POINTER), EFAULT);
}

TEST(name_is_inherited_by_fork)
{
	SUCCEEDS(prctl(PR_SET_NAME, "inherited"));
	pid_t child = FORK();
	if (child == 0) {
		char name[16];
		SUCCEEDS(prctl(PR_GET_NAME, name));
		SAME_TEXT(name, "inherited");
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(no_new_privileges)
{
	EQUALS(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	FAILS(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
	FAILS(prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0), EINVAL);
	FAILS(prctl(PR_GET_NO_NEW_PRIVS, 1, 0, 0, 0), EINVAL);
	SUCCEEDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	EQUALS(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	pid_t child = FORK();
	if (child == 0)
		_exit(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	EXITS(child, 1);
}

TEST(dumpable)
{
	EQUALS(prctl(PR_GET_DUMPABLE), 1);
	SUCCEEDS(prctl(PR_SET_DUMPABLE, 0));
	EQUALS(prctl(PR_GET_DUMPABLE), 0);
	FAILS(prctl(PR_SET_DUMPABLE, 2), EINVAL);
	FAILS(prctl(PR_SET_DUMPABLE, 3), EINVAL);
	SUCCEEDS(prctl(PR_SET_DUMPABLE, 1));
}

TEST(timer_slack)
{
	int before = SUCCEEDS(prctl(PR_GET_TIMERSLACK));
	SUCCEEDS(prctl(PR_SET_TIMERSLACK, 123456));
	EQUALS(prctl(PR_GET_TIMERSLACK), 123456);
	SUCCEEDS(prctl(PR_SET_TIMERSLACK, 0));
	EQUALS(prctl(PR_GET_TIMERSLACK), before);
}

TEST(transparent_huge_pages)
{
	EQUALS(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 0);
	SUCCEEDS(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	EQUALS(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 1);
	FAILS(prctl(PR_GET_THP_DISABLE, 1, 0, 0, 0), EINVAL);
}

TEST(unknown_option)
{
	FAILS(prctl(123456), EINVAL);
	FAILS(prctl(0), EINVAL);
}

TEST(seccomp_is_off)
{
	EQUALS(prctl(PR_GET_SECCOMP), 0);
}

TEST(thread_pointer)
{
	unsigned long base = 0;
	SUCCEEDS(syscall(SYS_arch_prctl, ARCH_GET_FS, &base));
	EQUALS(base, (unsigned long)__builtin_thread_pointer());
	FAILS(syscall(SYS_arch_prctl, ARCH_GET_FS, BAD_POINTER), EFAULT);
	FAILS(syscall(SYS_arch_prctl, ARCH_SET_FS, ~0ul), EPERM);
	FAILS(syscall(SYS_arch_prctl, 0x7777, &base), EINVAL);
}

TEST(second_segment_base)
{
	static unsigned long words[2] = { 0x1122334455667788, 0x99 };
	unsigned long base = 0, word = 0;
	SUCCEEDS(syscall(SYS_arch_prctl, ARCH_SET_GS, words));
	SUCCEEDS(syscall(SYS_arch_prctl, ARCH_GET_GS, &base));
	EQUALS(base, (unsigned long)words);
	__asm__ volatile("mov %%gs:0, %0" : "=r"(word));
	EQUALS(word, words[0]);
	__asm__ volatile("mov %%gs:8, %0" : "=r"(word));
	EQUALS(word, words[1]);
}
