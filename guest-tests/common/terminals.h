/* A pseudo terminal for each case. */
#ifndef GUEST_TERMINALS_H
#define GUEST_TERMINALS_H

#include "files.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

static int master, terminal;
static char terminal_name[64];

/* Opens a pair; the terminal does not become the controlling one. */
static inline void open_terminal(void)
{
	int unlock = 0, number = -1;
	master = SUCCEEDS(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
	SUCCEEDS(ioctl(master, TIOCSPTLCK, &unlock));
	SUCCEEDS(ioctl(master, TIOCGPTN, &number));
	snprintf(terminal_name, sizeof terminal_name, "/dev/pts/%d", number);
	terminal = SUCCEEDS(open(terminal_name, O_RDWR | O_NOCTTY));
}

static inline struct termios attributes(void)
{
	struct termios now;
	SUCCEEDS(tcgetattr(terminal, &now));
	return now;
}

static inline void set_attributes(struct termios wanted)
{
	SUCCEEDS(tcsetattr(terminal, TCSANOW, &wanted));
}

/* Switches flags of the local modes on and off. */
static inline void local_modes(tcflag_t on, tcflag_t off)
{
	struct termios now = attributes();
	now.c_lflag = (now.c_lflag | on) & ~off;
	set_attributes(now);
}

static inline void raw(int min, int time)
{
	struct termios now = attributes();
	cfmakeraw(&now);
	now.c_cc[VMIN] = min;
	now.c_cc[VTIME] = time;
	set_attributes(now);
}

/* Linux hands bytes from one end to the other in the background; a poll waits for that. */
static inline bool is_readable(int side)
{
	struct pollfd one = { side, POLLIN, 0 };
	int n;
	while ((n = poll(&one, 1, 0)) < 0 && errno == EINTR)
		;
	return SUCCEEDS(n) == 1 && one.revents & POLLIN;
}

static inline void type_keys(const char *keys)
{
	EQUALS(write(master, keys, strlen(keys)), (ssize_t)strlen(keys));
	is_readable(terminal);
}

/* The next bytes that can be read from one side must be this text. */
static inline void shows(int side, const char *text)
{
	char got[512] = "";
	size_t length = 0;
	while (length < strlen(text)) {
		ssize_t n = SUCCEEDS(read(side, got + length, strlen(text) - length));
		CHECK(n > 0);
		length += n;
	}
	SAME_TEXT(got, text);
}

/* In a child: makes the terminal the controlling one of a new session. */
static inline void take_terminal(void)
{
	SUCCEEDS(setsid());
	SUCCEEDS(ioctl(terminal, TIOCSCTTY, 0));
}

#endif
