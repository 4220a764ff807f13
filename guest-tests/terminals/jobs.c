/* Controlling terminals, foreground groups and the signals of the keyboard. */
#include "terminals.h"

static volatile sig_atomic_t caught;
static void note(int signal)
{
	caught = signal;
}

static void catch(int signal)
{
	struct sigaction action = { .sa_handler = note };
	SUCCEEDS(sigaction(signal, &action, NULL));
}

static void until_caught(int signal)
{
	while (caught != signal)
		sleep_ms(1);
	caught = 0;
}

/* Runs `body` in a child that leads a session with this terminal. */
static void in_a_session(void (*body)(void))
{
	open_terminal();
	pid_t child = FORK();
	if (child == 0) {
		take_terminal();
		body();
		_exit(0);
	}
	EXITS(child, 0);
}

static void check_control(void)
{
	pid_t session = -1;
	EQUALS(tcgetpgrp(terminal), getpgrp());
	SUCCEEDS(ioctl(terminal, TIOCGSID, &session));
	EQUALS(session, getpid());
	int tty = SUCCEEDS(open("/dev/tty", O_RDWR));
	EQUALS(tcgetpgrp(tty), getpgrp());
	EQUALS(write(tty, "through", 7), 7);
	shows(master, "through");
	EQUALS(tcgetpgrp(master), getpgrp());
	/* It is there already, which is no error. */
	SUCCEEDS(ioctl(terminal, TIOCSCTTY, 0));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(setsid());
		/* Another session has it. */
		FAILS(tcgetpgrp(terminal), ENOTTY);
		FAILS(ioctl(terminal, TIOCSCTTY, 0), EPERM);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(controlling_terminal)
{
	in_a_session(check_control);
}

static void check_opening(void)
{
	/* The leader of a session gets the first terminal that it opens. */
	SUCCEEDS(ioctl(terminal, TIOCNOTTY));
	FAILS(open("/dev/tty", O_RDWR), ENXIO);
	SUCCEEDS(open(terminal_name, O_RDWR));
	SUCCEEDS(open("/dev/tty", O_RDWR));
	EQUALS(tcgetpgrp(terminal), getpgrp());
}

TEST(taken_by_opening_and_given_up)
{
	signal(SIGHUP, SIG_IGN);
	in_a_session(check_opening);
}

TEST(only_a_leader_may_take_it)
{
	open_terminal();
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(setsid());
		pid_t grandchild = FORK();
		if (grandchild == 0) {
			FAILS(ioctl(terminal, TIOCSCTTY, 0), EPERM);
			_exit(0);
		}
		EXITS(grandchild, 0);
		_exit(0);
	}
	EXITS(child, 0);
}

static void check_keys(void)
{
	const struct { const char *key; int signal; } keys[] = { { "\003", SIGINT }, { "\034", SIGQUIT }, { "\032", SIGTSTP } };
	for (int i = 0; i < 3; i++) {
		catch(keys[i].signal);
		type_keys(keys[i].key);
		until_caught(keys[i].signal);
	}
	shows(master, "^C^\\^Z");
	/* Such a key throws away what was typed before it. */
	local_modes(0, ECHO);
	type_keys("lost\003kept\n");
	until_caught(SIGINT);
	shows(terminal, "kept\n");
	local_modes(NOFLSH, 0);
	type_keys("stays\003\n");
	until_caught(SIGINT);
	shows(terminal, "stays\n");
	local_modes(0, ISIG);
	type_keys("\003\n");
	shows(terminal, "\003\n");
	EQUALS(caught, 0);
}

TEST(keys_send_signals)
{
	in_a_session(check_keys);
}

static void check_interrupt_ends_a_read(void)
{
	char byte;
	catch(SIGINT);
	pid_t child = FORK();
	if (child == 0) {
		signal(SIGINT, SIG_IGN);
		sleep_ms(5);
		type_keys("\003");
		_exit(0);
	}
	FAILS(read(terminal, &byte, 1), EINTR);
	EQUALS(caught, SIGINT);
	EXITS(child, 0);
}

TEST(interrupt_ends_a_read)
{
	in_a_session(check_interrupt_ends_a_read);
}

static pid_t background_child(void (*body)(void))
{
	pid_t child = FORK();
	if (child == 0) {
		setpgid(0, 0);
		body();
		_exit(0);
	}
	setpgid(child, child);
	return child;
}

static void read_one(void)
{
	char byte;
	_exit(read(terminal, &byte, 1) == 1 && byte == 'f' ? 7 : 8);
}

static void check_background_read(void)
{
	signal(SIGTTOU, SIG_IGN);
	pid_t child = background_child(read_one);
	int status;
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	EQUALS(WSTOPSIG(status), SIGTTIN);
	SUCCEEDS(tcsetpgrp(terminal, child));
	EQUALS(tcgetpgrp(terminal), child);
	SUCCEEDS(kill(child, SIGCONT));
	type_keys("f\n");
	EXITS(child, 7);
	SUCCEEDS(tcsetpgrp(terminal, getpgrp()));
}

TEST(background_read_stops)
{
	in_a_session(check_background_read);
}

static void read_ignoring(void)
{
	char byte;
	signal(SIGTTIN, SIG_IGN);
	FAILS(read(terminal, &byte, 1), EIO);
}

static void write_one(void)
{
	_exit(write(terminal, "x", 1) == 1 ? 7 : 8);
}

static void check_background_write(void)
{
	EXITS(background_child(read_ignoring), 0);
	EXITS(background_child(write_one), 7);
	shows(master, "x");
	local_modes(TOSTOP, 0);
	pid_t child = background_child(write_one);
	int status;
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	EQUALS(WSTOPSIG(status), SIGTTOU);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(background_write)
{
	in_a_session(check_background_write);
}

static void set_from_background(void)
{
	struct termios now = attributes();
	tcsetattr(terminal, TCSANOW, &now);
	_exit(8);
}

static void check_background_change(void)
{
	pid_t child = background_child(set_from_background);
	int status;
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	EQUALS(WSTOPSIG(status), SIGTTOU);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(background_change_of_attributes_stops)
{
	in_a_session(check_background_change);
}

static void pause_here(void)
{
	for (;;)
		pause();
}

static void check_foreground(void)
{
	pid_t child = background_child(pause_here);
	catch(SIGINT);
	signal(SIGTTOU, SIG_IGN);
	SUCCEEDS(tcsetpgrp(terminal, child));
	type_keys("\003");
	DIES(child, SIGINT);
	EQUALS(caught, 0);
	FAILS(tcsetpgrp(terminal, INT_MAX), ESRCH);
	FAILS(tcsetpgrp(terminal, -1), EINVAL);
	/* A group of another session. */
	FAILS(tcsetpgrp(terminal, getpgid(test_process)), EPERM);
	SUCCEEDS(tcsetpgrp(terminal, getpgrp()));
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(tcsetpgrp(ends[0], getpgrp()), ENOTTY);
}

TEST(only_the_foreground_is_interrupted)
{
	in_a_session(check_foreground);
}

static void check_suspend_key(void)
{
	signal(SIGTTOU, SIG_IGN);
	pid_t child = background_child(pause_here);
	SUCCEEDS(tcsetpgrp(terminal, child));
	int status;
	type_keys("\032");
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	EQUALS(WSTOPSIG(status), SIGTSTP);
	SUCCEEDS(tcsetpgrp(terminal, getpgrp()));
	SUCCEEDS(kill(-child, SIGCONT));
	EQUALS(waitpid(child, &status, WCONTINUED), child);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(suspend_key_stops_the_job)
{
	in_a_session(check_suspend_key);
}

static void check_window(void)
{
	struct winsize size = { 10, 20, 0, 0 };
	catch(SIGWINCH);
	SUCCEEDS(ioctl(master, TIOCSWINSZ, &size));
	until_caught(SIGWINCH);
	/* The same size again is no news. */
	SUCCEEDS(ioctl(master, TIOCSWINSZ, &size));
	sleep_ms(5);
	EQUALS(caught, 0);
	size.ws_col = 21;
	SUCCEEDS(ioctl(terminal, TIOCSWINSZ, &size));
	until_caught(SIGWINCH);
}

TEST(change_of_the_window_size)
{
	in_a_session(check_window);
}

TEST(hang_up_reaches_the_leader)
{
	open_terminal();
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(close(master));
		take_terminal();
		catch(SIGHUP);
		EQUALS(write(ends[1], "r", 1), 1);
		until_caught(SIGHUP);
		char byte;
		EQUALS(read(terminal, &byte, 1), 0);
		FAILS(write(terminal, "x", 1), EIO);
		FAILS(open("/dev/tty", O_RDWR), ENXIO);
		_exit(0);
	}
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	SUCCEEDS(close(terminal));
	SUCCEEDS(close(master));
	EXITS(child, 0);
}

TEST(end_of_the_leader_hangs_up_the_foreground)
{
	open_terminal();
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		take_terminal();
		pid_t grandchild = FORK();
		if (grandchild == 0) {
			catch(SIGHUP);
			EQUALS(write(ends[1], "r", 1), 1);
			until_caught(SIGHUP);
			EQUALS(write(ends[1], "h", 1), 1);
			_exit(0);
		}
		char byte;
		EQUALS(read(ends[0], &byte, 1), 1);
		_exit(0);
	}
	EXITS(child, 0);
	char byte = 0;
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(byte, 'h');
}
