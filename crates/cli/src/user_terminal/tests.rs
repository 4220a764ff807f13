//! Whatever a guest has sent to a terminal, our words can be read on it. A terminal emulator stands
//! for the terminal.

use vt100::{Color, MouseProtocolMode, Parser};

use super::*;

const ROWS: u16 = 24;
const WORDS: &str = "created  .git/hooks/pre-commit";
const QUESTION: &str = "Write this? [y/N] ";

/// What a guest could send last.
const HOSTILE: &[&str] = &[
    "",
    "no line end",
    "\x1b[8m",
    "\x1b[30;40m",
    "\x1b[38;5;0;48;5;0m",
    "\x1b[7m\x1b[2m",
    "\x1b[1;1r",
    "\x1b[20;24r\x1b[24;80H",
    "\x1b[2;2r\x1b[?6h\x1b[1;1H",
    "\x1b[?1049h\x1b[2J",
    "\x1b[?47h",
    "\x1b[?25l",
    "\x1b[?1000h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b=",
    "\x1b]0;a title without an end",
    "\x1b]8;;http://example.org",
    "\x1bPa device string without an end",
    "\x1b_an application string",
    "\x1b^a private message",
    "\x1b[38;5;",
    "\x1b[",
    "\x1b",
    "\x1b(0",
    "\x0e",
    "\x1b[4h",
    "\x1b[?7l\x1b[1;75H",
    "\x1b[1;1H\x1b7\x1b[24;1H",
    "\x1b[24;80H",
    "\x1b[12;40H",
    "\x1b[5;1Ha fake list\r\nWrite this? [y/N] \x1b[1;1H",
];

fn reset() -> String {
    reset::words(None, None)
}

/// Where a terminal shows a text, and that it shows it plainly.
fn row_of(parser: &Parser, text: &str) -> Option<u16> {
    let screen = parser.screen();
    let (_, columns) = screen.size();
    let rows = screen.rows(0, columns).collect::<Vec<_>>();
    let row = rows.iter().rposition(|row| row.trim_end() == text.trim_end())?;
    let row = u16::try_from(row).ok()?;
    let is_plain = (0..u16::try_from(text.len()).ok()?).all(|column| {
        screen.cell(row, column).is_some_and(|cell| {
            (cell.fgcolor(), cell.bgcolor()) == (Color::Default, Color::Default)
                && !cell.inverse()
                && !cell.dim()
        })
    });
    is_plain.then_some(row)
}

#[track_caller]
fn assert_heard(before: &[u8]) {
    let mut parser = Parser::new(ROWS, 80, 0);
    parser.process(before);
    parser.process(reset().as_bytes());
    parser.process(format!("{WORDS}\r\n{QUESTION}").as_bytes());
    let what = String::from_utf8_lossy(before).escape_debug().to_string();
    let contents = parser.screen().contents();
    let list = row_of(&parser, WORDS);
    let question = row_of(&parser, QUESTION);
    assert!(list.is_some() && question == list.map(|row| row + 1), "{what}:\n{contents}");
    let screen = parser.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{what}");
    assert!(!screen.bracketed_paste() && !screen.application_cursor(), "{what}");
    assert_eq!(screen.mouse_protocol_mode(), MouseProtocolMode::None, "{what}");
    assert!(contents.trim_end().ends_with(QUESTION.trim_end()), "{what}:\n{contents}");
}

#[test]
fn our_words_are_seen_whatever_a_guest_sent() {
    for one in HOSTILE {
        for other in HOSTILE {
            assert_heard(format!("output\r\n{one}{other}").as_bytes());
        }
    }
}

#[test]
fn our_words_are_seen_after_any_bytes() {
    // A generator with a fixed start, so that a failure can be repeated.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % n
    };
    const ALPHABET: &[u8] =
        b"\x1b\x1b\x1b[[[]]?;;0123456789hlmrHJKABCDPX^_\\(0\x07\x18\r\n\x0e\x9b\xc2 ax";
    for _ in 0..3_000 {
        let n = 1 + next(60);
        let bytes: Vec<u8> = (0..n).map(|_| ALPHABET[next(ALPHABET.len())]).collect();
        assert_heard(&bytes);
    }
}

#[test]
fn what_was_printed_before_stays() {
    let mut parser = Parser::new(ROWS, 80, 0);
    parser.process(b"one\r\ntwo\r\n");
    parser.process(reset().as_bytes());
    parser.process(WORDS.as_bytes());
    assert_eq!(parser.screen().contents(), format!("one\ntwo\n\n{WORDS}"));
}

/// The emulator knows no concealed text and no colours of the palette; that they end is in the list.
#[test]
fn concealment_and_colours_end() {
    let all = reset();
    for sequence in [
        "\x1b[0m",
        "\x1b]104\x1b\\",
        "\x1b]110\x1b\\",
        "\x1b]111\x1b\\",
        "\x1b[?2026l",
        // Images of kitty; the font; titles that were put aside; the window itself.
        "\x1b_Ga=d,d=A,q=2\x1b\\",
        "\x1b]50;#0\x1b\\",
        "\x1b[23;0t",
        "\x1b[1t",
        // Printer, status line, VT52, Tektronix, the page that is seen: our words would not be.
        "\x1b[4i",
        "\x1b[0$}",
        "\x1b<",
        "\x1b\x03",
        "\x1b[1 P",
        // Keys: locked, or as records of ConPTY.
        "\x1b[2l",
        "\x1b[?9001l",
    ] {
        assert!(all.contains(sequence), "{sequence:?}");
    }
    assert!(all.starts_with("\x18\x1b\\"));
}

#[test]
fn a_window_that_hides_the_question_gets_its_size_back() {
    let size = |ws_row, ws_col| Some(Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 });
    let has = |before, now| reset::words(before, now).contains("\x1b[8;24;80t");
    assert!(has(size(24, 80), size(1, 80)) && has(size(24, 80), size(24, 2)));
    assert!(!has(size(24, 80), size(24, 80)) && !has(size(24, 80), size(50, 200)));
    assert!(!has(size(24, 80), size(12, 60)), "that may have been the user");
    assert!(!has(None, size(1, 1)) && !has(size(24, 80), None));
    assert!(!has(size(5, 20), size(5, 20)), "it was so before");
}

/// What is sent leaves nothing unfinished, and is shown by nobody as text.
#[test]
fn the_reset_shows_nothing() {
    let mut parser = Parser::new(ROWS, 80, 0);
    parser.process(reset().as_bytes());
    assert_eq!(parser.screen().contents().trim(), "");
}
