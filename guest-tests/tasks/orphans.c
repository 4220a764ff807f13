/* What becomes of children whose parent ends: reparenting, subreapers, and the parent-death signal. */
#include "test.h"
#include <sys/prctl.h>

TEST(subreaper_flag)
{
	int value = -1;
	SUCCEEDS(prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0));
	EQUALS(value, 0);
	SUCCEEDS(prctl(PR_SET_CHILD_SUBREAPER, 5, 0, 0, 0));
	SUCCEEDS(prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0));
	EQUALS(value, 1);
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0));
		EQUALS(value, 0);
		_exit(0);
	}
	EXITS(child, 0);
	FAILS(prctl(PR_GET_CHILD_SUBREAPER, BAD_POINTER, 0, 0, 0), EFAULT);
}

TEST(orphan_goes_to_the_subreaper)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	pid_t child = FORK();
	if (child == 0) {
		pid_t parent = getpid();
		pid_t orphan = FORK();
		if (orphan == 0) {
			while (getppid() == parent)
				sleep_ms(1);
			_exit(getppid() == test_process ? 61 : 62);
		}
		EQUALS(write(ends[1], &orphan, sizeof orphan), sizeof orphan);
		_exit(0);
	}
	pid_t orphan;
	EQUALS(read(ends[0], &orphan, sizeof orphan), sizeof orphan);
	EXITS(child, 0);
	EXITS(orphan, 61);
	FAILS(wait(NULL), ECHILD);
}

TEST(orphan_goes_past_the_parent_to_an_ancestor)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		pid_t middle = FORK();
		if (middle == 0) {
			pid_t parent = getpid();
			pid_t orphan = FORK();
			if (orphan == 0) {
				while (getppid() == parent)
					sleep_ms(1);
				pid_t adopter = getppid();
				EQUALS(write(ends[1], &adopter, sizeof adopter), sizeof adopter);
			}
			_exit(0);
		}
		EXITS(middle, 0);
		pid_t adopter;
		EQUALS(read(ends[0], &adopter, sizeof adopter), sizeof adopter);
		CHECK(adopter != getpid());
		FAILS(wait(NULL), ECHILD);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(orphan_is_reaped_by_init)
{
	int ends[2];
	pid_t orphan;
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		orphan = FORK();
		if (orphan)
			EQUALS(write(ends[1], &orphan, sizeof orphan), sizeof orphan);
		_exit(0);
	}
	EQUALS(read(ends[0], &orphan, sizeof orphan), sizeof orphan);
	EXITS(child, 0);
	while (kill(orphan, 0) == 0)
		sleep_ms(1);
	EQUALS(errno, ESRCH);
}

TEST(zombies_of_a_dead_parent_are_reaped_by_the_subreaper)
{
	SUCCEEDS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	pid_t child = FORK();
	if (child == 0) {
		siginfo_t info;
		pid_t zombie = FORK();
		if (zombie == 0)
			_exit(63);
		SUCCEEDS(waitid(P_PID, zombie, &info, WEXITED | WNOWAIT));
		_exit(0);
	}
	EXITS(child, 0);
	int status;
	SUCCEEDS(wait(&status));
	EQUALS(WEXITSTATUS(status), 63);
}

TEST(parent_death_signal_value)
{
	int value = -1;
	SUCCEEDS(prctl(PR_GET_PDEATHSIG, &value));
	EQUALS(value, 0);
	SUCCEEDS(prctl(PR_SET_PDEATHSIG, SIGUSR1));
	SUCCEEDS(prctl(PR_GET_PDEATHSIG, &value));
	EQUALS(value, SIGUSR1);
	FAILS(prctl(PR_SET_PDEATHSIG, 65), EINVAL);
	FAILS(prctl(PR_SET_PDEATHSIG, -1), EINVAL);
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(prctl(PR_GET_PDEATHSIG, &value));
		EQUALS(value, 0);
		_exit(0);
	}
	EXITS(child, 0);
}

static volatile sig_atomic_t caught;
static void note(int signal)
{
	caught = signal;
}

TEST(parent_death_signal_arrives)
{
	SUCCEEDS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		pid_t orphan = FORK();
		if (orphan == 0) {
			signal(SIGUSR2, note);
			SUCCEEDS(prctl(PR_SET_PDEATHSIG, SIGUSR2));
			EQUALS(write(ends[1], "r", 1), 1);
			while (!caught)
				sleep_ms(1);
			_exit(caught == SIGUSR2 ? 64 : 65);
		}
		char byte;
		EQUALS(read(ends[0], &byte, 1), 1);
		_exit(0);
	}
	EXITS(child, 0);
	int status;
	SUCCEEDS(wait(&status));
	EQUALS(WEXITSTATUS(status), 64);
}

TEST(hangup_of_a_stopped_orphaned_group)
{
	SUCCEEDS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(setsid());
		pid_t stopped = FORK();
		if (stopped == 0) {
			setpgid(0, 0);
			for (;;)
				pause();
		}
		setpgid(stopped, stopped);
		SUCCEEDS(kill(stopped, SIGSTOP));
		siginfo_t info;
		SUCCEEDS(waitid(P_PID, stopped, &info, WSTOPPED));
		_exit(0);
	}
	EXITS(child, 0);
	int status;
	SUCCEEDS(wait(&status));
	CHECK(WIFSIGNALED(status));
	EQUALS(WTERMSIG(status), SIGHUP);
}
