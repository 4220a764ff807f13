/* cgroups(7), version 2: groups of processes. In namespaces of the case's own. */
#include "cgroups.h"
#include <signal.h>

static void enter_own_group(void)
{
	own_group();
	SUCCEEDS(chdir(group));
}

static pid_t sleeper(void)
{
	pid_t child = FORK();
	if (child == 0) {
		put_text("cgroup.procs", "0");
		for (;;)
			pause();
	}
	while (!strstr(text_of("cgroup.events"), "populated 1"))
		sleep_ms(1);
	return child;
}

TEST(a_folder_is_a_group)
{
	enter_own_group();
	SAME_TEXT(text_of("cgroup.procs"), "");
	SAME_TEXT(text_of("cgroup.type"), "domain\n");
	SUCCEEDS(mkdir("inner", 0755));
	CHECK(strstr(text_of("cgroup.stat"), "nr_descendants 1\n"));
	FAILS(rmdir("../"), ENOTEMPTY);
	FAILS(rmdir(group), EBUSY);
	SUCCEEDS(rmdir("inner"));
	FAILS(open("new", O_CREAT | O_WRONLY, 0600), EACCES);
	FAILS(unlink("cgroup.procs"), EPERM);
}

TEST(members_are_moved_and_killed)
{
	enter_own_group();
	pid_t child = sleeper();
	char pid[32];
	snprintf(pid, sizeof pid, "%d\n", child);
	SAME_TEXT(text_of("cgroup.procs"), pid);
	FAILS(rmdir(group), EBUSY);
	int kill_all = SUCCEEDS(open("cgroup.kill", O_WRONLY));
	FAILS(write(kill_all, "2", 1), ERANGE);
	EQUALS(write(kill_all, "1", 1), 1);
	DIES(child, SIGKILL);
	CHECK(strstr(text_of("cgroup.events"), "populated 0"));
}

TEST(frozen_members_do_not_run)
{
	enter_own_group();
	int ticks[2];
	SUCCEEDS(pipe2(ticks, O_NONBLOCK));
	pid_t child = FORK();
	if (child == 0) {
		put_text("cgroup.procs", "0");
		for (;;) {
			write(ticks[1], "t", 1);
			sleep_ms(1);
		}
	}
	while (!strstr(text_of("cgroup.events"), "populated 1"))
		sleep_ms(1);
	put_text("cgroup.freeze", "1");
	while (!strstr(text_of("cgroup.events"), "frozen 1"))
		sleep_ms(1);
	sleep_ms(50);
	char old[65536];
	while (read(ticks[0], old, sizeof old) > 0)
		;
	sleep_ms(50);
	FAILS(read(ticks[0], old, 1), EAGAIN);
	put_text("cgroup.freeze", "0");
	while (read(ticks[0], old, 1) != 1)
		sleep_ms(1);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(seen_from_a_namespace)
{
	enter_own_group();
	pid_t child = FORK();
	if (child == 0) {
		put_text("cgroup.procs", "0");
		SUCCEEDS(unshare(CLONE_NEWCGROUP));
		SAME_TEXT(text_of("/proc/self/cgroup") + strlen(text_of("/proc/self/cgroup")) - 2, "/\n");
		_exit(0);
	}
	EXITS(child, 0);
}
