/* Process groups and sessions: setpgid, getpgid, getpgrp, setsid, getsid. */
#include "test.h"

static int ends[2];

static void say(char word)
{
	EQUALS(write(ends[1], &word, 1), 1);
}

static void hear(char word)
{
	char heard = 0;
	EQUALS(read(ends[0], &heard, 1), 1);
	EQUALS(heard, word);
}

static pid_t paused_child(void)
{
	pid_t child = FORK();
	if (child == 0)
		for (;;)
			pause();
	return child;
}

static void end(pid_t child)
{
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(children_inherit_both)
{
	pid_t group = getpgrp(), session = getsid(0);
	EQUALS(getpgid(0), group);
	EQUALS(getpgid(getpid()), group);
	pid_t child = FORK();
	if (child == 0) {
		EQUALS(getpgrp(), group);
		EQUALS(getsid(0), session);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(become_a_leader)
{
	SUCCEEDS(setpgid(0, 0));
	EQUALS(getpgrp(), getpid());
	SUCCEEDS(setpgid(getpid(), getpid()));
}

TEST(move_a_child)
{
	pid_t first = paused_child(), second = paused_child();
	SUCCEEDS(setpgid(first, 0));
	EQUALS(getpgid(first), first);
	SUCCEEDS(setpgid(second, first));
	EQUALS(getpgid(second), first);
	SUCCEEDS(setpgid(second, getpgrp()));
	EQUALS(getpgid(second), getpgrp());
	end(first);
	end(second);
}

TEST(signal_reaches_the_whole_group)
{
	pid_t first = paused_child(), second = paused_child(), outside = paused_child();
	SUCCEEDS(setpgid(first, first));
	SUCCEEDS(setpgid(second, first));
	SUCCEEDS(kill(-first, SIGTERM));
	DIES(first, SIGTERM);
	DIES(second, SIGTERM);
	EQUALS(waitpid(outside, NULL, WNOHANG), 0);
	end(outside);
	FAILS(kill(-first, 0), ESRCH);
}

TEST(refusals)
{
	FAILS(setpgid(0, -1), EINVAL);
	FAILS(setpgid(-1, 0), EINVAL);
	FAILS(setpgid(-1, getpgrp()), ESRCH);
	FAILS(setpgid(getppid(), 0), ESRCH);
	FAILS(setpgid(0, INT_MAX), EPERM);
	FAILS(getpgid(INT_MAX), ESRCH);
	FAILS(getpgid(-1), ESRCH);
	FAILS(getsid(INT_MAX), ESRCH);
}

TEST(group_of_another_session)
{
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(setsid());
		say('s');
		for (;;)
			pause();
	}
	hear('s');
	FAILS(setpgid(0, child), EPERM);
	FAILS(setpgid(child, 0), EPERM);
	EQUALS(getsid(child), child);
	end(child);
}

TEST(child_that_has_executed)
{
	SUCCEEDS(pipe2(ends, O_CLOEXEC));
	int held[2];
	SUCCEEDS(pipe(held));
	pid_t child = FORK();
	if (child == 0) {
		close(held[1]);
		dup2(held[0], 0);
		execl("/bin/sh", "sh", "-c", "read line", NULL);
	}
	close(ends[1]);
	char byte;
	EQUALS(read(ends[0], &byte, 1), 0);
	FAILS(setpgid(child, 0), EACCES);
	close(held[1]);
	EXITS(child, 1);
}

TEST(new_session)
{
	pid_t child = FORK();
	if (child == 0) {
		EQUALS(setsid(), getpid());
		EQUALS(getsid(0), getpid());
		EQUALS(getpgrp(), getpid());
		FAILS(setsid(), EPERM);
		FAILS(setpgid(0, 0), EPERM);
		FAILS(open("/dev/tty", O_RDWR), ENXIO);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(leader_of_a_group_cannot_start_a_session)
{
	SUCCEEDS(setpgid(0, 0));
	FAILS(setsid(), EPERM);
}

TEST(group_outlives_its_leader)
{
	pid_t leader = paused_child();
	SUCCEEDS(setpgid(leader, leader));
	pid_t member = paused_child();
	SUCCEEDS(setpgid(member, leader));
	end(leader);
	EQUALS(getpgid(member), leader);
	SUCCEEDS(kill(-leader, SIGTERM));
	DIES(member, SIGTERM);
}
