//! What is sent to a terminal to have it as it was before a guest.
//!
//! From xterm's list of control sequences, which most terminals follow, and from the protocols of
//! kitty, VTE, ConPTY and the Linux console. Terminals pass over what they do not know.

use host_sys::rustix::termios::Winsize;

/// The sequences, in this order, each with what it is for.
pub const RESET: &[(&str, &str)] = &[
    ("\x18\x1b\\", "ends a sequence or a string that is not finished"),
    ("\x1b[4i\x1b[?4i", "the screen and not the printer"),
    ("\x1b\x03\x18\x1b<", "no Tektronix and no VT52, in which nothing below is understood"),
    ("\x1b[0$}\x1b[0$~", "the screen and not the status line, and nothing of the guest's there"),
    (
        "\x1b7\x1b[?1049l\x1b[?1047l\x1b[?47l",
        "the main screen; the first one also moves the cursor",
    ),
    ("\x1b[?64h\x1b[1 P", "the page that is seen"),
    ("\x1b[!p", "soft reset: margins, origin, insertion, keypad, character sets, attributes"),
    ("\x1b[0m\x1b[0\"q\x1bW", "attributes: concealment, colours; protection from erasing"),
    ("\x1b%G\x1b(B\x1b)B\x1b*B\x1b+B\x0f", "UTF-8 and the usual character sets"),
    ("\x1b7\x1b[?69l\x1b[?6l\x1b[r\x1b8", "margins at the edges; the cursor stays"),
    ("\x1b[4l\x1b[20l\x1b[12h\x1b[?7h\x1b[?45l", "replaces, no line modes, no own echo, wraps"),
    ("\x1b[8h\x1b[0 k\x1b[?34l\x1b[?2500l\x1b[?2501l", "text runs as it is written"),
    ("\x1b[?5l\x1b[?25h\x1b[0 q\x1b[?40l", "no reverse screen, a cursor, no other width"),
    ("\x1b[?2026l", "shows what is sent at once"),
    ("\x1b[2l\x1b[?1l\x1b>\x1b[?66l", "keys that work, plain cursor keys and keypad"),
    ("\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l", "the mouse is not told of"),
    ("\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l", "nor the focus"),
    ("\x1b[?2031l\x1b[?2048l", "nor colours and sizes"),
    (
        "\x1b[?2004l\x1b[>4m\x1b[>4n\x1b[<99u\x1b[=0u\x1b[?9001l",
        "keys and pasted text arrive as they are",
    ),
    ("\x1b_Ga=d,d=A,q=2\x1b\\", "no images above or below the text"),
    ("\x1b]8;;\x1b\\", "no link"),
    ("\x1b]104\x1b\\\x1b]105\x1b\\\x1b]R\x1b\\", "the colours of the palette"),
    ("\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\\x1b]117\x1b\\\x1b]119\x1b\\", "text and ground"),
    ("\x1b]113\x1b\\\x1b]114\x1b\\\x1b]22;\x1b\\", "the pointer"),
    (
        "\x1b]21;foreground=;background=;cursor=;cursor_text=;selection_foreground=;\
         selection_background=\x1b\\",
        "the same, as kitty names them",
    ),
    ("\x1b]50;#0\x1b\\", "the font that the terminal began with"),
    ("\x1b[1t", "a window that is seen"),
    (
        "\x1b[23;0t\x1b[23;0t\x1b[23;0t\x1b[23;0t\x1b[23;0t\x1b[23;0t\x1b[23;0t\x1b[23;0t\
         \x1b[23;0t\x1b[23;0t",
        "no titles of the guest's that come back later: xterm keeps ten",
    ),
    ("\x1b]0;\x1b\\", "no title of the guest's"),
    ("\r\n\x1b[0J\x1b#5", "a line of our own, and nothing of the guest's below it"),
];

/// A window that is smaller than this in one direction hides a question.
const LEAST: (u16, u16) = (10, 40);

/// Everything that is sent. A window that was large enough when the guest got it, and is too small to
/// show a list and a question now, gets its size back; any other change may be the user's.
pub fn words(before: Option<Winsize>, now: Option<Winsize>) -> String {
    let size = match (before, now) {
        (Some(before), Some(now)) if hides_more(before, now) => {
            format!("\x1b[8;{};{}t", before.ws_row, before.ws_col)
        }
        _ => String::new(),
    };
    // Before the line of our own: a terminal may keep the cursor where it was.
    let (last, all) = RESET.split_last().map_or(("", RESET), |((last, _), all)| (*last, all));
    let all: String = all.iter().map(|(sequence, _)| *sequence).collect();
    all + &size + last
}

fn hides_more(before: Winsize, now: Winsize) -> bool {
    let is_hidden = |before: u16, now: u16, least: u16| now < before && now < least;
    is_hidden(before.ws_row, now.ws_row, LEAST.0) || is_hidden(before.ws_col, now.ws_col, LEAST.1)
}
