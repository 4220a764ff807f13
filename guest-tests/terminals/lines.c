/* The line discipline: canonical and raw input, echo, output processing, VMIN and VTIME. */
#include "terminals.h"

TEST(default_attributes)
{
	open_terminal();
	struct termios now = attributes();
	CHECK((now.c_lflag & (ICANON | ECHO | ISIG | IEXTEN | ECHOE | ECHOK)) == (ICANON | ECHO | ISIG | IEXTEN | ECHOE | ECHOK));
	CHECK((now.c_iflag & (ICRNL | IXON)) == (ICRNL | IXON));
	CHECK((now.c_oflag & (OPOST | ONLCR)) == (OPOST | ONLCR));
	EQUALS(now.c_cflag & CSIZE, CS8);
	EQUALS(now.c_cc[VINTR], 3);
	EQUALS(now.c_cc[VERASE], 127);
	EQUALS(now.c_cc[VKILL], 21);
	EQUALS(now.c_cc[VEOF], 4);
	EQUALS(now.c_cc[VSUSP], 26);
	EQUALS(now.c_cc[VMIN], 1);
	EQUALS(cfgetospeed(&now), B38400);
}

TEST(attributes_are_kept)
{
	open_terminal();
	struct termios now = attributes();
	now.c_lflag &= ~ECHO;
	now.c_cc[VINTR] = 'i';
	SUCCEEDS(tcsetattr(terminal, TCSADRAIN, &now));
	EQUALS(attributes().c_lflag & ECHO, 0);
	EQUALS(attributes().c_cc[VINTR], 'i');
	/* Both ends see the same. */
	SUCCEEDS(tcgetattr(master, &now));
	EQUALS(now.c_cc[VINTR], 'i');
}

TEST(whole_lines)
{
	open_terminal();
	local_modes(0, ECHO);
	type_keys("incomplete");
	CHECK(!is_readable(terminal));
	int n = -1;
	SUCCEEDS(ioctl(terminal, FIONREAD, &n));
	EQUALS(n, 0);
	type_keys(" line\nsecond\n");
	CHECK(is_readable(terminal));
	char got[64] = "";
	EQUALS(read(terminal, got, 4), 4);
	EQUALS(read(terminal, got, sizeof got), 12);
	EQUALS(memcmp(got, "mplete line\n", 12), 0);
	EQUALS(read(terminal, got, sizeof got), 7);
}

TEST(editing)
{
	open_terminal();
	local_modes(0, ECHO);
	type_keys("wrong\177\177\177\177\177right\n");
	shows(terminal, "right\n");
	type_keys("kill this line\025kept\n");
	shows(terminal, "kept\n");
	type_keys("two words\027gone\n");
	shows(terminal, "two gone\n");
	type_keys("quoted\026\177\n");
	shows(terminal, "quoted\177\n");
}

TEST(end_of_input)
{
	open_terminal();
	local_modes(0, ECHO);
	char got[16];
	type_keys("\004");
	EQUALS(read(terminal, got, sizeof got), 0);
	type_keys("part\004");
	EQUALS(read(terminal, got, sizeof got), 4);
	type_keys("line\n");
	EQUALS(read(terminal, got, sizeof got), 5);
}

TEST(carriage_returns)
{
	open_terminal();
	local_modes(0, ECHO);
	type_keys("a\r");
	shows(terminal, "a\n");
	struct termios now = attributes();
	now.c_iflag = (now.c_iflag & ~ICRNL) | INLCR;
	set_attributes(now);
	type_keys("b\r\004");
	shows(terminal, "b\r");
	now.c_iflag = IGNCR;
	set_attributes(now);
	type_keys("c\rd\n");
	shows(terminal, "cd\n");
}

TEST(upper_and_eight_bit_input)
{
	open_terminal();
	local_modes(0, ECHO);
	struct termios now = attributes();
	now.c_iflag |= ISTRIP;
	set_attributes(now);
	type_keys("\341\n");
	shows(terminal, "a\n");
	now.c_iflag = ICRNL | IUCLC;
	now.c_lflag |= IEXTEN;
	set_attributes(now);
	type_keys("ABC\n");
	shows(terminal, "abc\n");
}

TEST(echo)
{
	open_terminal();
	type_keys("hi\n");
	shows(master, "hi\r\n");
	type_keys("x\177");
	shows(master, "x\b \b");
	type_keys("ab\025");
	shows(master, "ab\b \b\b \b");
	type_keys("\001");
	shows(master, "^A");
	local_modes(ECHONL, ECHO);
	type_keys("silent\n");
	shows(master, "\r\n");
}

TEST(output_processing)
{
	open_terminal();
	EQUALS(write(terminal, "a\nb", 3), 3);
	shows(master, "a\r\nb");
	struct termios now = attributes();
	now.c_oflag &= ~OPOST;
	set_attributes(now);
	EQUALS(write(terminal, "c\nd", 3), 3);
	shows(master, "c\nd");
	now.c_oflag = OPOST | OCRNL;
	set_attributes(now);
	EQUALS(write(terminal, "e\r", 2), 2);
	shows(master, "e\n");
	now.c_oflag = OPOST | XTABS;
	set_attributes(now);
	EQUALS(write(terminal, "\n", 1), 1);
	shows(master, "\n");
}

TEST(raw_input)
{
	open_terminal();
	raw(1, 0);
	type_keys("a");
	CHECK(is_readable(terminal));
	shows(terminal, "a");
	type_keys("\003\004\177\r\n");
	shows(terminal, "\003\004\177\r\n");
	CHECK(!is_readable(master));
}

TEST(change_between_modes)
{
	open_terminal();
	local_modes(0, ECHO);
	type_keys("without end");
	CHECK(!is_readable(terminal));
	raw(1, 0);
	CHECK(is_readable(terminal));
	shows(terminal, "without end");
}

TEST(least_number_of_bytes)
{
	open_terminal();
	raw(3, 0);
	type_keys("ab");
	CHECK(!is_readable(terminal));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		type_keys("cd");
		_exit(0);
	}
	char got[8];
	ssize_t n = SUCCEEDS(read(terminal, got, sizeof got));
	CHECK(n == 3 || n == 4);
	EXITS(child, 0);
}

TEST(time_without_least_number)
{
	open_terminal();
	raw(0, 1);
	char byte;
	int64_t start = now_ns(CLOCK_MONOTONIC);
	EQUALS(read(terminal, &byte, 1), 0);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 95000000);
	type_keys("x");
	EQUALS(read(terminal, &byte, 1), 1);
	raw(0, 0);
	start = now_ns(CLOCK_MONOTONIC);
	EQUALS(read(terminal, &byte, 1), 0);
}

TEST(time_between_bytes)
{
	open_terminal();
	raw(10, 1);
	type_keys("abc");
	char got[16];
	/* The clock starts with the first byte, which is here already. */
	EQUALS(read(terminal, got, sizeof got), 3);
}

TEST(flushing)
{
	open_terminal();
	raw(1, 0);
	type_keys("thrown away");
	SUCCEEDS(tcflush(terminal, TCIFLUSH));
	CHECK(!is_readable(terminal));
	type_keys("also");
	struct termios now = attributes();
	SUCCEEDS(tcsetattr(terminal, TCSAFLUSH, &now));
	CHECK(!is_readable(terminal));
	FAILS(tcflush(terminal, 99), EINVAL);
	SUCCEEDS(tcdrain(terminal));
	SUCCEEDS(tcsendbreak(terminal, 0));
}

TEST(stop_and_start)
{
	open_terminal();
	type_keys("\023");
	SUCCEEDS(fcntl(terminal, F_SETFL, O_NONBLOCK));
	FAILS(write(terminal, "x", 1), EAGAIN);
	type_keys("\021");
	EQUALS(write(terminal, "y", 1), 1);
	shows(master, "y");
	SUCCEEDS(tcflow(terminal, TCOOFF));
	FAILS(write(terminal, "x", 1), EAGAIN);
	SUCCEEDS(tcflow(terminal, TCOON));
	EQUALS(write(terminal, "z", 1), 1);
}

TEST(queues)
{
	open_terminal();
	raw(1, 0);
	int n = -1;
	type_keys("12345");
	SUCCEEDS(ioctl(terminal, FIONREAD, &n));
	EQUALS(n, 5);
	EQUALS(write(terminal, "123", 3), 3);
	CHECK(is_readable(master));
	SUCCEEDS(ioctl(master, FIONREAD, &n));
	EQUALS(n, 3);
	SUCCEEDS(ioctl(terminal, TIOCOUTQ, &n));
	EQUALS(n, 0);
}

TEST(longest_line)
{
	open_terminal();
	local_modes(0, ECHO);
	char keys[5001];
	memset(keys, 'x', 5000);
	keys[5000] = 0;
	type_keys(keys);
	type_keys("\n");
	char got[8192];
	/* What does not fit in 4096 with the line end is lost. */
	EQUALS(read(terminal, got, sizeof got), 4096);
	EQUALS(got[4095], '\n');
}

TEST(a_lot_of_output)
{
	open_terminal();
	raw(1, 0);
	pid_t child = FORK();
	if (child == 0) {
		static char data[100000];
		memset(data, 'o', sizeof data);
		for (size_t done = 0; done < sizeof data;)
			done += SUCCEEDS(write(terminal, data + done, sizeof data - done));
		_exit(0);
	}
	SUCCEEDS(close(terminal));
	size_t total = 0;
	char got[4096];
	for (ssize_t n; (n = read(master, got, sizeof got)) > 0;)
		total += n;
	EQUALS(total, 100000);
	EXITS(child, 0);
}
