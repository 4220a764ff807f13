/* Stop and continue. */
#include "test.h"
#include <pthread.h>
#include <sys/mman.h>

static volatile int *counter;

static pid_t counting_child(void)
{
	counter = SUCCEEDS((volatile int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	pid_t child = FORK();
	if (child == 0) {
		setpgid(0, 0);
		for (;;)
			++*counter;
	}
	setpgid(child, child);
	while (*counter == 0)
		sleep_ms(1);
	return child;
}

static void wait_for_stop(pid_t child, int signal)
{
	int status;
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	EQUALS(WSTOPSIG(status), signal);
}

static void end(pid_t child)
{
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(stopped_child_does_not_run)
{
	const int signals[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
	pid_t child = counting_child();
	for (int i = 0; i < 4; i++) {
		SUCCEEDS(kill(child, signals[i]));
		wait_for_stop(child, signals[i]);
		int before = *counter;
		sleep_ms(5);
		EQUALS(*counter, before);
		SUCCEEDS(kill(child, SIGCONT));
		while (*counter == before)
			sleep_ms(1);
	}
	end(child);
}

static volatile int n_caught;
static void count(int signal __attribute__((unused)))
{
	n_caught++;
}

TEST(continue_discards_pending_stops)
{
	sigset_t set, pending;
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGCONT);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	raise(SIGTSTP);
	SUCCEEDS(sigpending(&pending));
	CHECK(sigismember(&pending, SIGTSTP));
	raise(SIGCONT);
	SUCCEEDS(sigpending(&pending));
	CHECK(!sigismember(&pending, SIGTSTP) && sigismember(&pending, SIGCONT));
	raise(SIGTSTP);
	SUCCEEDS(sigpending(&pending));
	CHECK(sigismember(&pending, SIGTSTP) && !sigismember(&pending, SIGCONT));
}

TEST(handler_of_continue_runs)
{
	pid_t child = FORK();
	if (child == 0) {
		signal(SIGCONT, count);
		raise(SIGSTOP);
		_exit(n_caught);
	}
	wait_for_stop(child, SIGSTOP);
	SUCCEEDS(kill(child, SIGCONT));
	EXITS(child, 1);
}

TEST(signals_wait_until_it_continues)
{
	pid_t child = FORK();
	if (child == 0) {
		signal(SIGUSR1, count);
		raise(SIGSTOP);
		_exit(n_caught);
	}
	wait_for_stop(child, SIGSTOP);
	SUCCEEDS(kill(child, SIGUSR1));
	EQUALS(waitpid(child, NULL, WNOHANG), 0);
	SUCCEEDS(kill(child, SIGCONT));
	EXITS(child, 1);
}

TEST(caught_stop_signals_do_not_stop)
{
	signal(SIGTSTP, count);
	raise(SIGTSTP);
	EQUALS(n_caught, 1);
	signal(SIGTTIN, SIG_IGN);
	raise(SIGTTIN);
}

/* A group without a parent in its session is not stopped from the keyboard, since nobody could continue it. */
TEST(orphaned_group_is_not_stopped)
{
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(setsid());
		raise(SIGTSTP);
		raise(SIGTTIN);
		_exit(8);
	}
	EXITS(child, 8);
}

static void *count_up(void *word)
{
	for (;;)
		++*(volatile int *)word;
	return NULL;
}

TEST(all_threads_stop)
{
	counter = SUCCEEDS((volatile int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	pid_t child = FORK();
	if (child == 0) {
		pthread_t thread;
		for (int i = 0; i < 3; i++)
			pthread_create(&thread, NULL, count_up, (void *)&counter[i]);
		for (;;)
			pause();
	}
	while (!counter[0] || !counter[1] || !counter[2])
		sleep_ms(1);
	SUCCEEDS(kill(child, SIGSTOP));
	wait_for_stop(child, SIGSTOP);
	int before[3] = { counter[0], counter[1], counter[2] };
	sleep_ms(5);
	for (int i = 0; i < 3; i++)
		EQUALS(counter[i], before[i]);
	SUCCEEDS(kill(child, SIGCONT));
	for (int i = 0; i < 3; i++)
		while (counter[i] == before[i])
			sleep_ms(1);
	end(child);
}

TEST(group_is_stopped_and_continued)
{
	pid_t first = counting_child();
	pid_t second = FORK();
	if (second == 0)
		for (;;)
			pause();
	SUCCEEDS(setpgid(second, first));
	SUCCEEDS(kill(-first, SIGTSTP));
	wait_for_stop(first, SIGTSTP);
	wait_for_stop(second, SIGTSTP);
	int status;
	SUCCEEDS(kill(-first, SIGCONT));
	EQUALS(waitpid(first, &status, WCONTINUED), first);
	EQUALS(waitpid(second, &status, WCONTINUED), second);
	end(first);
	end(second);
}
