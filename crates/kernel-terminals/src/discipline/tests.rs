use kernel_core::io::VecSink;
use linux_abi::terminals::OutputModes;

use super::*;

struct Line(Discipline);

impl Line {
    fn new() -> Self {
        Self(Discipline::default())
    }

    fn with(change: impl FnOnce(&mut Termios)) -> Self {
        let mut termios = Termios::STANDARD;
        change(&mut termios);
        Self(Discipline::new(termios))
    }

    fn raw() -> Self {
        Self::with(|termios| {
            termios.iflag = 0;
            termios.oflag = 0;
            termios.lflag = 0;
        })
    }

    fn set(&mut self, change: impl FnOnce(&mut Termios)) {
        let mut termios = *self.0.termios();
        change(&mut termios);
        self.0.set_termios(termios);
    }

    fn type_in(&mut self, keys: &[u8]) -> Vec<Signal> {
        let mut signals = Vec::new();
        for &key in keys {
            assert!(self.0.has_room(), "no room for {key}");
            if let Some(Reaction::Signal(key)) = self.0.receive(key) {
                signals.push(key.signal);
            }
        }
        signals
    }

    fn read(&mut self, n: usize) -> Vec<u8> {
        let mut sink = VecSink::new(n);
        self.0.take(&mut sink).unwrap();
        sink.bytes
    }

    fn echo(&mut self) -> String {
        String::from_utf8(self.0.take_echo(1 << 20)).unwrap()
    }

    fn show(&mut self, text: &[u8]) -> String {
        let mut screen = Vec::new();
        for &byte in text {
            self.0.process(byte, &mut screen);
        }
        String::from_utf8(screen).unwrap()
    }
}

fn on(flags: &mut u32, bits: u32) {
    *flags |= bits;
}

fn off(flags: &mut u32, bits: u32) {
    *flags &= !bits;
}

#[test]
fn a_line_is_readable_when_it_ends() {
    let mut line = Line::new();
    line.type_in(b"ab");
    assert_eq!(line.0.readable(), 0);
    line.type_in(b"\n");
    assert_eq!(line.read(10), b"ab\n");
    assert_eq!(line.0.readable(), 0);
}

#[test]
fn a_read_gives_one_line_at_most() {
    let mut line = Line::new();
    line.type_in(b"a\nb\n");
    assert_eq!(line.read(10), b"a\n");
    assert_eq!(line.read(10), b"b\n");
}

#[test]
fn a_short_read_leaves_the_rest_of_the_line() {
    let mut line = Line::new();
    line.type_in(b"abc\n");
    assert_eq!(line.read(2), b"ab");
    assert_eq!(line.read(10), b"c\n");
}

#[test]
fn typing_is_echoed_with_newlines_for_the_screen() {
    let mut line = Line::new();
    line.type_in(b"ab\n");
    assert_eq!(line.echo(), "ab\r\n");
}

#[test]
fn carriage_return_is_a_newline_with_icrnl() {
    let mut line = Line::new();
    line.type_in(b"a\r");
    assert_eq!(line.read(10), b"a\n");
    assert_eq!(line.echo(), "a\r\n");
}

#[test]
fn igncr_drops_carriage_returns() {
    let mut line = Line::with(|t| on(&mut t.iflag, InputModes::IGNCR.bits()));
    line.type_in(b"a\rb\n");
    assert_eq!(line.read(10), b"ab\n");
}

#[test]
fn inlcr_turns_newlines_into_returns() {
    let mut line = Line::with(|t| {
        t.iflag = InputModes::INLCR.bits();
        t.lflag = 0;
    });
    line.type_in(b"a\nb");
    assert_eq!(line.read(10), b"a\rb");
}

#[test]
fn istrip_clears_the_eighth_bit() {
    let mut line = Line::raw();
    line.set(|t| t.iflag = InputModes::ISTRIP.bits());
    line.type_in(&[0xe1]);
    assert_eq!(line.read(10), b"a");
}

#[test]
fn erase_takes_the_last_character_and_its_echo() {
    let mut line = Line::new();
    line.type_in(b"abc\x7f\n");
    assert_eq!(line.read(10), b"ab\n");
    assert_eq!(line.echo(), "abc\x08 \x08\r\n");
}

#[test]
fn erase_stops_at_the_start_of_the_line() {
    let mut line = Line::new();
    line.type_in(b"x\n\x7f\x7fb\n");
    assert_eq!(line.read(10), b"x\n");
    assert_eq!(line.read(10), b"b\n");
}

#[test]
fn erase_without_echoe_shows_the_key() {
    let mut line = Line::with(|t| off(&mut t.lflag, LocalModes::ECHOE.bits()));
    line.type_in(b"a\x7f");
    assert_eq!(line.echo(), "a^?");
}

#[test]
fn erase_of_a_control_character_takes_two_columns() {
    let mut line = Line::new();
    line.type_in(b"\x01\x7f");
    assert_eq!(line.echo(), "^A\x08 \x08\x08 \x08");
}

#[test]
fn erase_takes_a_whole_utf8_character_with_iutf8() {
    let mut line = Line::with(|t| on(&mut t.iflag, InputModes::IUTF8.bits()));
    line.type_in("aé\u{7f}\n".as_bytes());
    assert_eq!(line.read(10), b"a\n");
    assert_eq!(line.echo(), "aé\x08 \x08\r\n");
}

#[test]
fn erase_takes_one_byte_without_iutf8() {
    let mut line = Line::new();
    line.type_in("é\u{7f}\n".as_bytes());
    assert_eq!(line.read(10), [0xc3, b'\n']);
}

#[test]
fn erase_of_a_tab_goes_back_to_where_it_began() {
    let mut line = Line::new();
    line.type_in(b"ab\t\x7f");
    assert_eq!(line.echo(), "ab\t\x08\x08\x08\x08\x08\x08");
}

#[test]
fn erase_of_a_tab_counts_from_the_prompt() {
    let mut line = Line::new();
    assert_eq!(line.show(b"$ "), "$ ");
    line.type_in(b"a\t\x7f");
    assert_eq!(line.echo(), "a\t\x08\x08\x08\x08\x08");
}

#[test]
fn kill_wipes_the_line_with_echoke() {
    let mut line = Line::new();
    line.type_in(b"ab\x15c\n");
    assert_eq!(line.read(10), b"c\n");
    assert_eq!(line.echo(), "ab\x08 \x08\x08 \x08c\r\n");
}

#[test]
fn kill_without_echoke_shows_the_key_and_a_new_line() {
    let mut line = Line::with(|t| off(&mut t.lflag, LocalModes::ECHOKE.bits()));
    line.type_in(b"ab\x15");
    assert_eq!(line.echo(), "ab^U\r\n");
}

#[test]
fn kill_without_echok_shows_only_the_key() {
    let mut line = Line::with(|t| off(&mut t.lflag, LocalModes::ECHOK.bits()));
    line.type_in(b"ab\x15");
    assert_eq!(line.echo(), "ab^U");
}

#[test]
fn word_erase_takes_blanks_and_one_word() {
    let mut line = Line::new();
    line.type_in(b"one two_3  \x17\n");
    assert_eq!(line.read(20), b"one \n");
}

#[test]
fn echoprt_shows_what_is_erased_between_slashes() {
    let mut line = Line::with(|t| on(&mut t.lflag, LocalModes::ECHOPRT.bits()));
    line.type_in(b"abc\x7f\x7fx");
    assert_eq!(line.echo(), "abc\\cb/x");
}

#[test]
fn end_of_file_ends_a_line_without_a_byte() {
    let mut line = Line::new();
    line.type_in(b"ab\x04");
    assert_eq!(line.0.n_readable_bytes(), 2);
    assert_eq!(line.read(10), b"ab");
    assert_eq!(line.0.readable(), 0);
}

#[test]
fn end_of_file_on_an_empty_line_reads_as_nothing() {
    let mut line = Line::new();
    line.type_in(b"\x04");
    assert_eq!(line.0.readable(), 1);
    assert_eq!(line.0.n_readable_bytes(), 0);
    assert_eq!(line.read(10), b"");
    assert_eq!(line.0.readable(), 0);
}

#[test]
fn end_of_file_behind_an_exact_read_goes_with_it() {
    let mut line = Line::new();
    line.type_in(b"abcd\x04");
    assert_eq!(line.read(4), b"abcd");
    assert_eq!(line.0.readable(), 0);
}

#[test]
fn end_of_file_is_not_echoed() {
    let mut line = Line::new();
    line.type_in(b"a\x04");
    assert_eq!(line.echo(), "a");
}

#[test]
fn eol_and_eol2_end_lines_too() {
    let mut line = Line::with(|t| {
        t.cc[cc::VEOL] = b';';
        t.cc[cc::VEOL2] = b'!';
    });
    line.type_in(b"a;b!");
    assert_eq!(line.read(10), b"a;");
    assert_eq!(line.read(10), b"b!");
    assert_eq!(line.echo(), "a;b!");
}

#[test]
fn eol2_needs_iexten() {
    let mut line = Line::with(|t| {
        t.cc[cc::VEOL2] = b'!';
        off(&mut t.lflag, LocalModes::IEXTEN.bits());
    });
    line.type_in(b"b!");
    assert_eq!(line.0.readable(), 0);
}

#[test]
fn literal_next_takes_the_meaning_from_a_key() {
    let mut line = Line::new();
    assert!(line.type_in(b"\x16\x03\x16\x7f\n").is_empty());
    assert_eq!(line.read(10), b"\x03\x7f\n");
    assert_eq!(line.echo(), "^\x08^C^\x08^?\r\n");
}

#[test]
fn reprint_shows_the_line_again() {
    let mut line = Line::new();
    line.type_in(b"ab\x12");
    assert_eq!(line.echo(), "ab^R\r\nab");
}

#[test]
fn reprint_needs_echo() {
    let mut line = Line::with(|t| off(&mut t.lflag, LocalModes::ECHO.bits()));
    line.type_in(b"a\x12\n");
    assert_eq!(line.read(10), b"a\x12\n");
}

#[test]
fn echonl_echoes_newlines_alone() {
    let mut line = Line::with(|t| {
        off(&mut t.lflag, LocalModes::ECHO.bits());
        on(&mut t.lflag, LocalModes::ECHONL.bits());
    });
    line.type_in(b"pw\n");
    assert_eq!(line.echo(), "\r\n");
}

#[test]
fn echoctl_off_echoes_control_characters_as_they_are() {
    let mut line = Line::with(|t| off(&mut t.lflag, LocalModes::ECHOCTL.bits()));
    line.type_in(b"\x01");
    assert_eq!(line.echo(), "\x01");
}

#[test]
fn a_raw_newline_is_echoed_as_a_control_character() {
    let mut line = Line::with(|t| off(&mut t.lflag, LocalModes::ICANON.bits()));
    line.type_in(b"\n");
    assert_eq!(line.echo(), "^J");
}

#[test]
fn a_raw_return_that_becomes_a_newline_is_echoed_as_one() {
    let mut line = Line::with(|t| off(&mut t.lflag, LocalModes::ICANON.bits()));
    line.type_in(b"\r");
    assert_eq!(line.echo(), "\r\n");
    assert_eq!(line.read(10), b"\n");
}

#[test]
fn keys_make_signals() {
    let mut line = Line::new();
    assert_eq!(line.type_in(b"\x03\x1c\x1a"), [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTSTP]);
    assert_eq!(line.echo(), "^Z");
}

#[test]
fn a_signal_key_throws_input_away() {
    let mut line = Line::new();
    line.type_in(b"a\nb\x03");
    assert_eq!(line.0.readable(), 0);
    line.type_in(b"c\n");
    assert_eq!(line.read(10), b"c\n");
}

#[test]
fn noflsh_keeps_input() {
    let mut line = Line::with(|t| on(&mut t.lflag, LocalModes::NOFLSH.bits()));
    let key = SignalKey { signal: Signal::SIGINT, flush: false };
    assert_eq!(line.0.receive(3), Some(Reaction::Signal(key)));
    line.type_in(b"a\x03b\n");
    assert_eq!(line.read(10), b"ab\n");
}

#[test]
fn signal_keys_are_bytes_without_isig() {
    let mut line = Line::with(|t| off(&mut t.lflag, LocalModes::ISIG.bits()));
    assert!(line.type_in(b"\x03\n").is_empty());
    assert_eq!(line.read(10), b"\x03\n");
}

#[test]
fn a_disabled_key_has_no_meaning() {
    let mut line = Line::with(|t| t.cc[cc::VINTR] = 0);
    assert!(line.type_in(b"\0\n").is_empty());
    assert_eq!(line.read(10), b"\0\n");
}

#[test]
fn stop_and_start_hold_output() {
    let mut line = Line::new();
    line.type_in(b"\x13");
    assert!(line.0.is_stopped());
    line.type_in(b"a");
    assert!(line.0.is_stopped());
    line.type_in(b"\x11\n");
    assert!(!line.0.is_stopped());
    assert_eq!(line.read(10), b"a\n");
}

#[test]
fn ixany_starts_by_any_key() {
    let mut line = Line::with(|t| on(&mut t.iflag, InputModes::IXANY.bits()));
    line.type_in(b"\x13a");
    assert!(!line.0.is_stopped());
}

#[test]
fn a_signal_key_starts_output() {
    let mut line = Line::new();
    line.type_in(b"\x13\x03");
    assert!(!line.0.is_stopped());
}

#[test]
fn no_key_starts_what_was_stopped_by_request() {
    let mut line = Line::new();
    line.0.stop_by_request();
    line.type_in(b"\x11");
    assert!(line.0.is_stopped());
    line.0.start_by_request();
    assert!(!line.0.is_stopped());
}

#[test]
fn taking_ixon_away_starts_output() {
    let mut line = Line::new();
    line.type_in(b"\x13");
    line.set(|t| off(&mut t.iflag, InputModes::IXON.bits()));
    assert!(!line.0.is_stopped());
}

#[test]
fn without_ixon_the_stop_key_is_a_byte() {
    let mut line = Line::with(|t| off(&mut t.iflag, InputModes::IXON.bits()));
    line.type_in(b"\x13\n");
    assert_eq!(line.read(10), b"\x13\n");
}

#[test]
fn raw_bytes_are_readable_at_once() {
    let mut line = Line::raw();
    line.type_in(b"a\x03\r");
    assert_eq!(line.read(2), b"a\x03");
    assert_eq!(line.read(2), b"\r");
}

#[test]
fn vmin_says_when_poll_is_ready() {
    let mut line = Line::raw();
    line.set(|t| t.cc[cc::VMIN] = 3);
    line.type_in(b"ab");
    assert!(!line.0.is_ready_to_read());
    line.set(|t| t.cc[cc::VTIME] = 1);
    assert!(line.0.is_ready_to_read());
}

#[test]
fn a_line_that_is_too_long_keeps_its_start_and_its_end() {
    let mut line = Line::new();
    line.type_in(&[b'x'; 5000]);
    line.type_in(b"yz\n");
    let read = line.read(10_000);
    assert_eq!(read.len(), INPUT_LIMIT);
    assert_eq!(read.last(), Some(&b'\n'));
    assert_eq!(read[INPUT_LIMIT - 2], b'x');
}

#[test]
fn raw_input_stops_at_the_limit() {
    let mut line = Line::raw();
    line.type_in(&[b'x'; INPUT_LIMIT - 1]);
    assert!(!line.0.has_room());
    line.read(1);
    assert!(line.0.has_room());
}

#[test]
fn a_full_queue_of_lines_has_no_room() {
    let mut line = Line::new();
    for _ in 0..(INPUT_LIMIT - 1) / 2 {
        line.type_in(b"a\n");
    }
    line.type_in(b"a");
    assert!(!line.0.has_room());
}

#[test]
fn leaving_lines_makes_the_current_one_readable() {
    let mut line = Line::new();
    line.type_in(b"ab");
    line.set(|t| off(&mut t.lflag, LocalModes::ICANON.bits()));
    assert_eq!(line.read(10), b"ab");
}

#[test]
fn going_to_lines_ends_one() {
    let mut line = Line::raw();
    line.type_in(b"ab");
    line.set(|t| on(&mut t.lflag, LocalModes::ICANON.bits()));
    assert_eq!(line.0.readable(), 2);
    line.type_in(b"c\n");
    assert_eq!(line.read(10), b"ab");
    assert_eq!(line.read(10), b"c\n");
}

#[test]
fn output_without_opost_is_untouched() {
    let mut line = Line::with(|t| off(&mut t.oflag, OutputModes::OPOST.bits()));
    assert_eq!(line.show(b"a\n\tb\r"), "a\n\tb\r");
}

#[test]
fn onlcr_adds_a_return() {
    assert_eq!(Line::new().show(b"a\nb"), "a\r\nb");
}

#[test]
fn ocrnl_turns_returns_into_newlines() {
    let mut line = Line::with(|t| t.oflag = (OutputModes::OPOST | OutputModes::OCRNL).bits());
    assert_eq!(line.show(b"a\rb"), "a\nb");
}

#[test]
fn onocr_drops_returns_in_the_first_column() {
    let mut line = Line::with(|t| t.oflag = (OutputModes::OPOST | OutputModes::ONOCR).bits());
    assert_eq!(line.show(b"\ra\r\r"), "a\r");
}

#[test]
fn onlret_makes_a_newline_go_to_the_first_column() {
    let modes = OutputModes::OPOST | OutputModes::ONOCR | OutputModes::ONLRET;
    let mut line = Line::with(|t| t.oflag = modes.bits());
    assert_eq!(line.show(b"a\n\rb"), "a\nb");
}

#[test]
fn tabs_become_spaces_up_to_the_next_stop() {
    let modes = OutputModes::OPOST | OutputModes::TABDLY;
    let mut line = Line::with(|t| t.oflag = modes.bits());
    assert_eq!(line.show(b"ab\tc\x08\tx"), "ab      c\x08        x");
}

#[test]
fn echo_has_a_limit() {
    let mut line = Line::new();
    for _ in 0..20 {
        line.type_in(&[1; 400]);
        line.type_in(b"\n");
        line.read(1000);
    }
    assert!(line.echo().len() <= 2 * ECHO_LIMIT);
}

#[test]
fn held_echo_is_shown_with_the_settings_of_its_time() {
    let mut line = Line::new();
    line.type_in(b"\x13a\n");
    line.set(|t| {
        off(&mut t.iflag, InputModes::IXON.bits());
        off(&mut t.oflag, OutputModes::ONLCR.bits());
    });
    assert_eq!(line.echo(), "a\n");
}

#[test]
fn the_start_key_asks_for_the_echo_that_waits() {
    let mut line = Line::new();
    assert_eq!(line.0.receive(0o21), Some(Reaction::Start));
}

#[test]
fn case_is_that_of_latin_1() {
    let mut line = Line::with(|t| {
        on(&mut t.iflag, InputModes::IUCLC.bits());
        on(&mut t.oflag, OutputModes::OLCUC.bits());
    });
    line.type_in(&[b'A', 0xc3, b'\n']);
    assert_eq!(line.read(10), [b'a', 0xe3, b'\n']);
    let mut screen = Vec::new();
    line.0.process(0xe3, &mut screen);
    assert_eq!(screen, [0xc3]);
}

#[test]
fn the_byte_255_is_echoed_unprocessed() {
    let mut line = Line::with(|t| on(&mut t.oflag, OutputModes::OLCUC.bits()));
    line.type_in(&[0xff]);
    assert_eq!(line.0.take_echo(100), [0xff]);
}

#[test]
fn a_zero_at_the_end_of_raw_input_ends_the_file() {
    let mut line = Line::raw();
    line.type_in(b"a\0");
    line.set(|t| on(&mut t.lflag, LocalModes::ICANON.bits()));
    assert_eq!(line.read(10), b"a");
    assert_eq!(line.0.readable(), 0);
}
