/* wait4(2) and waitid(2): whom to wait for, what is told, and the options. */
#include "test.h"
#include <sys/resource.h>

static pid_t exiting_child(int code)
{
	pid_t child = FORK();
	if (child == 0)
		_exit(code);
	return child;
}

static pid_t paused_child(void)
{
	pid_t child = FORK();
	if (child == 0)
		for (;;)
			pause();
	return child;
}

TEST(without_children)
{
	siginfo_t info;
	FAILS(wait(NULL), ECHILD);
	FAILS(waitpid(-1, NULL, WNOHANG), ECHILD);
	FAILS(waitpid(getpid(), NULL, 0), ECHILD);
	FAILS(waitid(P_ALL, 0, &info, WEXITED), ECHILD);
	FAILS(waitid(P_PID, getpid(), &info, WEXITED), ECHILD);
}

TEST(bad_arguments)
{
	siginfo_t info;
	FAILS(waitpid(-1, NULL, 0x1000), EINVAL);
	FAILS(waitpid(INT_MIN, NULL, 0), ESRCH);
	FAILS(waitid(P_ALL, 0, &info, 0), EINVAL);
	FAILS(waitid(P_ALL, 0, &info, WNOHANG), EINVAL);
	FAILS(waitid(P_ALL, 0, &info, WEXITED | 0x1000), EINVAL);
	FAILS(waitid(9, 0, &info, WEXITED), EINVAL);
	FAILS(waitid(P_PID, 0, &info, WEXITED), EINVAL);
	FAILS(waitid(P_PIDFD, -1, &info, WEXITED), EINVAL);
	FAILS(waitid(P_PIDFD, 0, &info, WEXITED), EBADF);
}

TEST(exit_codes_keep_eight_bits)
{
	EXITS(exiting_child(0), 0);
	EXITS(exiting_child(255), 255);
	EXITS(exiting_child(256 + 17), 17);
	EXITS(exiting_child(-1), 255);
}

TEST(tells_the_signal)
{
	pid_t child = paused_child();
	SUCCEEDS(kill(child, SIGTERM));
	int status = test_wait(child);
	CHECK(WIFSIGNALED(status));
	EQUALS(WTERMSIG(status), SIGTERM);
	CHECK(!WCOREDUMP(status));
}

TEST(any_child)
{
	pid_t first = exiting_child(1), second = exiting_child(2);
	int status_first, status_second;
	pid_t got_first = SUCCEEDS(wait(&status_first)), got_second = SUCCEEDS(wait(&status_second));
	CHECK((got_first == first && got_second == second) || (got_first == second && got_second == first));
	EQUALS(WEXITSTATUS(status_first) + WEXITSTATUS(status_second), 3);
	FAILS(wait(NULL), ECHILD);
}

TEST(a_chosen_child)
{
	pid_t first = exiting_child(1), second = exiting_child(2);
	EXITS(second, 2);
	EXITS(first, 1);
	FAILS(waitpid(first, NULL, 0), ECHILD);
}

TEST(process_groups)
{
	pid_t leader = FORK();
	if (leader == 0) {
		setpgid(0, 0);
		_exit(1);
	}
	setpgid(leader, leader);
	pid_t other = exiting_child(2);
	int status;
	EQUALS(waitpid(-leader, &status, 0), leader);
	FAILS(waitpid(-leader, &status, 0), ECHILD);
	EQUALS(waitpid(0, &status, 0), other);
	leader = FORK();
	if (leader == 0) {
		setpgid(0, 0);
		_exit(3);
	}
	setpgid(leader, leader);
	siginfo_t info;
	SUCCEEDS(waitid(P_PGID, leader, &info, WEXITED));
	EQUALS(info.si_pid, leader);
}

TEST(no_hang)
{
	pid_t child = paused_child();
	siginfo_t info;
	memset(&info, 0xff, sizeof info);
	EQUALS(waitpid(child, NULL, WNOHANG), 0);
	EQUALS(waitid(P_PID, child, &info, WEXITED | WNOHANG), 0);
	EQUALS(info.si_pid, 0);
	EQUALS(info.si_signo, 0);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(information_on_exit)
{
	pid_t child = exiting_child(77 + 256);
	siginfo_t info;
	memset(&info, 0xff, sizeof info);
	SUCCEEDS(waitid(P_PID, child, &info, WEXITED));
	EQUALS(info.si_signo, SIGCHLD);
	EQUALS(info.si_code, CLD_EXITED);
	EQUALS(info.si_errno, 0);
	EQUALS(info.si_pid, child);
	EQUALS(info.si_uid, getuid());
	EQUALS(info.si_status, 77);
}

TEST(information_on_death)
{
	pid_t child = paused_child();
	siginfo_t info;
	SUCCEEDS(kill(child, SIGUSR1));
	SUCCEEDS(waitid(P_ALL, 0, &info, WEXITED));
	EQUALS(info.si_code, CLD_KILLED);
	EQUALS(info.si_status, SIGUSR1);
}

TEST(look_without_reaping)
{
	pid_t child = exiting_child(4);
	siginfo_t info;
	for (int i = 0; i < 3; i++) {
		SUCCEEDS(waitid(P_PID, child, &info, WEXITED | WNOWAIT));
		EQUALS(info.si_status, 4);
	}
	SUCCEEDS(kill(child, 0));
	EXITS(child, 4);
	FAILS(kill(child, 0), ESRCH);
}

TEST(stop_and_continue)
{
	pid_t child = paused_child();
	int status;
	SUCCEEDS(kill(child, SIGSTOP));
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	EQUALS(WSTOPSIG(status), SIGSTOP);
	EQUALS(waitpid(child, &status, WUNTRACED | WNOHANG), 0);
	SUCCEEDS(kill(child, SIGCONT));
	EQUALS(waitpid(child, &status, WCONTINUED), child);
	CHECK(WIFCONTINUED(status));
	EQUALS(waitpid(child, &status, WCONTINUED | WNOHANG), 0);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(stop_and_continue_by_waitid)
{
	pid_t child = paused_child();
	siginfo_t info;
	SUCCEEDS(kill(child, SIGTSTP));
	SUCCEEDS(waitid(P_PID, child, &info, WSTOPPED | WNOWAIT));
	SUCCEEDS(waitid(P_PID, child, &info, WSTOPPED));
	EQUALS(info.si_code, CLD_STOPPED);
	EQUALS(info.si_status, SIGTSTP);
	EQUALS(info.si_pid, child);
	SUCCEEDS(kill(child, SIGCONT));
	SUCCEEDS(waitid(P_PID, child, &info, WCONTINUED));
	EQUALS(info.si_code, CLD_CONTINUED);
	EQUALS(info.si_status, SIGCONT);
	SUCCEEDS(kill(child, SIGKILL));
	SUCCEEDS(waitid(P_PID, child, &info, WEXITED));
	EQUALS(info.si_status, SIGKILL);
}

TEST(kill_ends_a_stopped_child)
{
	pid_t child = paused_child();
	SUCCEEDS(kill(child, SIGSTOP));
	int status;
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	SUCCEEDS(kill(child, SIGTERM));
	EQUALS(waitpid(child, &status, WNOHANG), 0);
	SUCCEEDS(kill(child, SIGKILL));
	int end = test_wait(child);
	EQUALS(WTERMSIG(end), SIGKILL);
}

TEST(usage_of_the_child)
{
	struct rusage usage;
	pid_t child = FORK();
	if (child == 0) {
		for (int64_t end = now_ns(CLOCK_PROCESS_CPUTIME_ID) + 20000000; now_ns(CLOCK_PROCESS_CPUTIME_ID) < end;)
			;
		_exit(0);
	}
	EQUALS(wait4(child, NULL, 0, &usage), child);
	int64_t used_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000ll + usage.ru_utime.tv_usec +
			  usage.ru_stime.tv_usec;
	CHECK(used_us >= 15000 && used_us < 5000000);
	CHECK(usage.ru_maxrss > 0);
}

TEST(usage_by_the_raw_waitid)
{
	struct rusage usage;
	memset(&usage, 0xff, sizeof usage);
	pid_t child = exiting_child(0);
	SUCCEEDS(syscall(SYS_waitid, P_PID, child, NULL, WEXITED, &usage));
	CHECK(usage.ru_maxrss > 0);
}

TEST(bad_status_pointer_still_reaps)
{
	pid_t child = exiting_child(0);
	FAILS(waitpid(child, BAD_POINTER, 0), EFAULT);
	FAILS(waitpid(child, NULL, 0), ECHILD);
}

static void nothing(int signal __attribute__((unused)))
{
}

TEST(interrupted)
{
	struct sigaction action = { .sa_handler = nothing };
	sigaction(SIGUSR1, &action, NULL);
	pid_t child = FORK();
	if (child == 0)
		for (;;) {
			kill(getppid(), SIGUSR1);
			sleep_ms(2);
		}
	FAILS(waitpid(child, NULL, 0), EINTR);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(ignored_children_leave_no_zombies)
{
	signal(SIGCHLD, SIG_IGN);
	pid_t child = exiting_child(0);
	FAILS(waitpid(child, NULL, 0), ECHILD);
	FAILS(kill(child, 0), ESRCH);
}

TEST(grandchildren_are_not_ours)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		pid_t grandchild = paused_child();
		EQUALS(write(ends[1], &grandchild, sizeof grandchild), sizeof grandchild);
		DIES(grandchild, SIGKILL);
		_exit(0);
	}
	pid_t grandchild;
	EQUALS(read(ends[0], &grandchild, sizeof grandchild), sizeof grandchild);
	FAILS(waitpid(grandchild, NULL, WNOHANG), ECHILD);
	SUCCEEDS(kill(grandchild, SIGKILL));
	EXITS(child, 0);
}
