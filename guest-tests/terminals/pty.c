/* Pseudo terminals: opening, sizes, hang-up, packet mode, what is not a terminal. */
#include "terminals.h"
#include <pty.h>

TEST(open_a_pair)
{
	open_terminal();
	EQUALS(isatty(terminal), 1);
	EQUALS(isatty(master), 1);
	struct stat status;
	SUCCEEDS(fstat(terminal, &status));
	CHECK(S_ISCHR(status.st_mode));
	EQUALS(status.st_uid, getuid());
	char name[64];
	EQUALS(ttyname_r(terminal, name, sizeof name), 0);
	SAME_TEXT(name, terminal_name);
}

TEST(library_functions)
{
	int one, two;
	char name[64];
	SUCCEEDS(openpty(&one, &two, name, NULL, NULL));
	CHECK(exists(name));
	EQUALS(write(two, "x", 1), 1);
	char byte;
	EQUALS(read(one, &byte, 1), 1);
	int other = SUCCEEDS(posix_openpt(O_RDWR | O_NOCTTY));
	SUCCEEDS(grantpt(other));
	SUCCEEDS(unlockpt(other));
	EQUALS(strncmp(ptsname(other), "/dev/pts/", 9), 0);
}

TEST(locked_until_unlocked)
{
	int fresh = SUCCEEDS(open("/dev/ptmx", O_RDWR | O_NOCTTY)), number;
	SUCCEEDS(ioctl(fresh, TIOCGPTN, &number));
	char name[64];
	snprintf(name, sizeof name, "/dev/pts/%d", number);
	FAILS(open(name, O_RDWR | O_NOCTTY), EIO);
	SUCCEEDS(unlockpt(fresh));
	SUCCEEDS(open(name, O_RDWR | O_NOCTTY));
}

TEST(open_by_the_master)
{
	open_terminal();
	int peer = SUCCEEDS(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	raw(1, 0);
	type_keys("x");
	shows(peer, "x");
}

TEST(window_size)
{
	open_terminal();
	struct winsize size = { 1, 1, 1, 1 };
	SUCCEEDS(ioctl(terminal, TIOCGWINSZ, &size));
	EQUALS(size.ws_row, 0);
	size = (struct winsize){ 33, 99, 5, 6 };
	SUCCEEDS(ioctl(master, TIOCSWINSZ, &size));
	memset(&size, 0, sizeof size);
	SUCCEEDS(ioctl(terminal, TIOCGWINSZ, &size));
	EQUALS(size.ws_row, 33);
	EQUALS(size.ws_col, 99);
	EQUALS(size.ws_ypixel, 6);
}

TEST(size_from_the_beginning)
{
	int one, two;
	struct winsize size = { 24, 80, 0, 0 };
	SUCCEEDS(openpty(&one, &two, NULL, NULL, &size));
	memset(&size, 0, sizeof size);
	SUCCEEDS(ioctl(two, TIOCGWINSZ, &size));
	EQUALS(size.ws_col, 80);
}

TEST(not_terminals)
{
	int ends[2];
	struct termios now;
	struct winsize size;
	SUCCEEDS(pipe(ends));
	FAILS(tcgetattr(ends[0], &now), ENOTTY);
	FAILS(ioctl(ends[0], TIOCGWINSZ, &size), ENOTTY);
	FAILS(tcgetattr(SUCCEEDS(open("/dev/null", O_RDWR)), &now), ENOTTY);
	FAILS(tcgetattr(9999, &now), EBADF);
	EQUALS(isatty(ends[0]), 0);
}

TEST(name_goes_with_the_master)
{
	open_terminal();
	CHECK(exists(terminal_name));
	SUCCEEDS(close(terminal));
	CHECK(exists(terminal_name));
	SUCCEEDS(close(master));
	CHECK(!exists(terminal_name));
}

TEST(master_gone)
{
	open_terminal();
	char byte;
	SUCCEEDS(close(master));
	EQUALS(read(terminal, &byte, 1), 0);
	FAILS(write(terminal, "x", 1), EIO);
	struct pollfd one = { terminal, POLLIN | POLLOUT, 0 };
	EQUALS(poll(&one, 1, 0), 1);
	CHECK(one.revents & POLLHUP);
	struct termios now;
	FAILS(tcgetattr(terminal, &now), EIO);
}

TEST(terminal_gone)
{
	open_terminal();
	char byte;
	EQUALS(write(terminal, "last", 4), 4);
	SUCCEEDS(close(terminal));
	shows(master, "last");
	FAILS(read(master, &byte, 1), EIO);
	struct pollfd one = { master, POLLIN, 0 };
	EQUALS(poll(&one, 1, 0), 1);
	CHECK(one.revents & POLLHUP);
	/* It comes back when somebody opens the terminal again. */
	terminal = SUCCEEDS(open(terminal_name, O_RDWR | O_NOCTTY));
	EQUALS(write(terminal, "new", 3), 3);
	shows(master, "new");
}

TEST(nonblocking)
{
	open_terminal();
	char byte;
	SUCCEEDS(fcntl(master, F_SETFL, O_NONBLOCK));
	SUCCEEDS(fcntl(terminal, F_SETFL, O_NONBLOCK));
	FAILS(read(master, &byte, 1), EAGAIN);
	FAILS(read(terminal, &byte, 1), EAGAIN);
}

TEST(packet_mode)
{
	open_terminal();
	int on = 1, value = -1;
	SUCCEEDS(ioctl(master, TIOCGPKT, &value));
	EQUALS(value, 0);
	SUCCEEDS(ioctl(master, TIOCPKT, &on));
	SUCCEEDS(ioctl(master, TIOCGPKT, &value));
	EQUALS(value, 1);
	EQUALS(write(terminal, "data", 4), 4);
	char got[16] = "";
	EQUALS(read(master, got, sizeof got), 5);
	EQUALS(got[0], TIOCPKT_DATA);
	EQUALS(memcmp(got + 1, "data", 4), 0);
	SUCCEEDS(tcflush(terminal, TCOFLUSH));
	EQUALS(read(master, got, sizeof got), 1);
	EQUALS(got[0] & TIOCPKT_FLUSHWRITE, TIOCPKT_FLUSHWRITE);
}

TEST(no_controlling_terminal)
{
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(setsid());
		FAILS(open("/dev/tty", O_RDWR), ENXIO);
		open_terminal();
		FAILS(open("/dev/tty", O_RDWR), ENXIO);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(fork_with_a_terminal)
{
	pid_t child = SUCCEEDS(forkpty(&master, NULL, NULL, NULL));
	if (child == 0) {
		int tty = open("/dev/tty", O_RDWR);
		_exit(write(tty, "mine", 4) == 4 && isatty(0) && getsid(0) == getpid() ? 0 : 1);
	}
	shows(master, "mine");
	EXITS(child, 0);
}
