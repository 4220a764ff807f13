/* fcntl(2): F_SETLEASE, F_GETLEASE, and what breaks a lease. */
#include "files.h"

static volatile int n_caught, caught_descriptor;
static void note(int signal __attribute__((unused)), siginfo_t *info, void *context __attribute__((unused)))
{
	caught_descriptor = info->si_fd;
	n_caught++;
}

static void catch_signal(int number)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART };
	SUCCEEDS(sigaction(number, &action, NULL));
}

static int leased(const char *path, int flags, int type)
{
	make_file(path, "text");
	int file = SUCCEEDS(open(path, flags));
	SUCCEEDS(fcntl(file, F_SETLEASE, type));
	return file;
}

TEST(take_change_and_give_back)
{
	scratch();
	int file = leased("file", O_RDONLY, F_RDLCK);
	EQUALS(fcntl(file, F_GETLEASE), F_RDLCK);
	/* Nobody else has it open, so it can become exclusive. */
	SUCCEEDS(fcntl(file, F_SETLEASE, F_WRLCK));
	EQUALS(fcntl(file, F_GETLEASE), F_WRLCK);
	int copy = SUCCEEDS(dup(file));
	EQUALS(fcntl(copy, F_GETLEASE), F_WRLCK);
	SUCCEEDS(fcntl(copy, F_SETLEASE, F_UNLCK));
	EQUALS(fcntl(file, F_GETLEASE), F_UNLCK);
	FAILS(fcntl(file, F_SETLEASE, F_UNLCK), EAGAIN);
}

TEST(others_who_have_it_open)
{
	scratch();
	make_file("file", "");
	int reads = SUCCEEDS(open("file", O_RDONLY)), writes = SUCCEEDS(open("file", O_WRONLY));
	FAILS(fcntl(reads, F_SETLEASE, F_RDLCK), EAGAIN);
	FAILS(fcntl(writes, F_SETLEASE, F_RDLCK), EAGAIN);
	FAILS(fcntl(writes, F_SETLEASE, F_WRLCK), EAGAIN);
	SUCCEEDS(close(reads));
	SUCCEEDS(fcntl(writes, F_SETLEASE, F_WRLCK));
	SUCCEEDS(close(writes));
	int first = SUCCEEDS(open("file", O_RDONLY)), second = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(fcntl(first, F_SETLEASE, F_RDLCK));
	SUCCEEDS(fcntl(second, F_SETLEASE, F_RDLCK));
	FAILS(fcntl(first, F_SETLEASE, F_WRLCK), EAGAIN);
	EQUALS(fcntl(first, F_GETLEASE), F_RDLCK);
}

TEST(refusals)
{
	scratch();
	make_file("file", "");
	int file = SUCCEEDS(open("file", O_RDONLY)), ends[2];
	FAILS(fcntl(file, F_SETLEASE, 99), EINVAL);
	FAILS(fcntl(SUCCEEDS(open(".", O_RDONLY)), F_SETLEASE, F_RDLCK), EINVAL);
	SUCCEEDS(pipe(ends));
	FAILS(fcntl(ends[0], F_SETLEASE, F_RDLCK), EINVAL);
	EQUALS(fcntl(ends[0], F_GETLEASE), F_UNLCK);
	FAILS(fcntl(SUCCEEDS(open("file", O_PATH)), F_SETLEASE, F_RDLCK), EBADF);
	FAILS(fcntl(9999, F_GETLEASE), EBADF);
	if (geteuid() == 0) {
		SUCCEEDS(setresuid(1234, 1234, 1234));
		FAILS(fcntl(file, F_SETLEASE, F_RDLCK), EACCES);
	}
}

TEST(reading_leaves_a_read_lease_alone)
{
	scratch();
	catch_signal(SIGIO);
	int file = leased("file", O_RDONLY, F_RDLCK);
	SUCCEEDS(close(SUCCEEDS(open("file", O_RDONLY | O_NONBLOCK))));
	SUCCEEDS(close(SUCCEEDS(open("file", O_PATH))));
	struct stat status;
	SUCCEEDS(stat("file", &status));
	SUCCEEDS(rename("file", "other"));
	SUCCEEDS(unlink("other"));
	EQUALS(n_caught, 0);
	EQUALS(fcntl(file, F_GETLEASE), F_RDLCK);
}

TEST(writing_breaks_a_read_lease)
{
	scratch();
	catch_signal(SIGRTMIN);
	int file = leased("file", O_RDONLY, F_RDLCK);
	EQUALS(fcntl(file, F_GETOWN), getpid());
	SUCCEEDS(fcntl(file, F_SETSIG, SIGRTMIN));
	FAILS(open("file", O_WRONLY | O_NONBLOCK), EWOULDBLOCK);
	EQUALS(n_caught, 1);
	EQUALS(caught_descriptor, file);
	/* It is told once, and known to be going. */
	FAILS(open("file", O_RDWR | O_NONBLOCK), EWOULDBLOCK);
	EQUALS(n_caught, 1);
	EQUALS(fcntl(file, F_GETLEASE), F_UNLCK);
	int other = SUCCEEDS(open("file", O_RDONLY | O_NONBLOCK));
	FAILS(fcntl(other, F_SETLEASE, F_RDLCK), EAGAIN);
	SUCCEEDS(fcntl(file, F_SETLEASE, F_UNLCK));
	EQUALS(fcntl(file, F_GETOWN), 0);
	SUCCEEDS(open("file", O_WRONLY | O_NONBLOCK));
}

TEST(reading_weakens_a_write_lease)
{
	scratch();
	catch_signal(SIGIO);
	int file = leased("file", O_RDWR, F_WRLCK);
	FAILS(open("file", O_RDONLY | O_NONBLOCK), EWOULDBLOCK);
	EQUALS(n_caught, 1);
	EQUALS(fcntl(file, F_GETLEASE), F_RDLCK);
	/* A reader's lease is not for those who can write. */
	FAILS(fcntl(file, F_SETLEASE, F_RDLCK), EAGAIN);
	FAILS(open("file", O_RDWR | O_NONBLOCK), EWOULDBLOCK);
	EQUALS(n_caught, 2);
	EQUALS(fcntl(file, F_GETLEASE), F_UNLCK);
	SUCCEEDS(close(file));
	SUCCEEDS(open("file", O_RDWR | O_NONBLOCK));
}

TEST(an_open_waits_until_the_lease_is_gone)
{
	scratch();
	catch_signal(SIGIO);
	int file = leased("file", O_RDONLY, F_RDLCK);
	pid_t child = FORK();
	if (child == 0) {
		close(file);
		int written = SUCCEEDS(open("file", O_WRONLY | O_TRUNC));
		EQUALS(write(written, "new", 3), 3);
		_exit(0);
	}
	while (n_caught == 0)
		sleep_ms(1);
	/* Nothing has happened to the file yet, not even O_TRUNC. */
	SAME_TEXT(text_of("file"), "text");
	SUCCEEDS(fcntl(file, F_SETLEASE, F_UNLCK));
	EXITS(child, 0);
	SAME_TEXT(text_of("file"), "new");
}

TEST(truncating_by_name_waits_too)
{
	scratch();
	catch_signal(SIGIO);
	int file = leased("file", O_RDONLY, F_RDLCK);
	pid_t child = FORK();
	if (child == 0) {
		close(file);
		SUCCEEDS(truncate("file", 1));
		_exit(0);
	}
	while (n_caught == 0)
		sleep_ms(1);
	SAME_TEXT(text_of("file"), "text");
	SUCCEEDS(close(file));
	EXITS(child, 0);
	SAME_TEXT(text_of("file"), "t");
}

static void interrupt(int number __attribute__((unused))) {}

TEST(waiting_can_be_interrupted)
{
	scratch();
	catch_signal(SIGIO);
	leased("file", O_RDONLY, F_RDLCK);
	struct sigaction action = { .sa_handler = interrupt };
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	int ready[2];
	SUCCEEDS(pipe(ready));
	pid_t child = FORK();
	if (child == 0) {
		write(ready[1], "x", 1);
		FAILS(open("file", O_WRONLY), EINTR);
		_exit(0);
	}
	char byte;
	EQUALS(read(ready[0], &byte, 1), 1);
	int status;
	while (waitpid(child, &status, WNOHANG) == 0) {
		kill(child, SIGUSR1);
		sleep_ms(5);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
