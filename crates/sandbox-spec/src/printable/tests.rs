//! Nothing that a stranger writes acts on who reads it.

use super::*;

/// What was seen to deceive: the first and the last of each range.
const DECEIVING: &[(char, char, &str)] = &[
    ('\0', '\u{1f}', "C0 controls"),
    ('\u{7f}', '\u{9f}', "DEL and C1 controls"),
    ('\u{a0}', '\u{a0}', "no-break space"),
    ('\u{ad}', '\u{ad}', "soft hyphen"),
    ('\u{600}', '\u{605}', "Arabic number signs"),
    ('\u{61c}', '\u{61c}', "Arabic letter mark"),
    ('\u{115f}', '\u{1160}', "Hangul fillers"),
    ('\u{1680}', '\u{1680}', "Ogham space"),
    ('\u{180e}', '\u{180e}', "Mongolian vowel separator"),
    ('\u{2000}', '\u{200f}', "spaces, zero-width ones, direction marks"),
    ('\u{2028}', '\u{202f}', "separators, embeddings, overrides"),
    ('\u{205f}', '\u{206f}', "mathematical space, joiners, isolates"),
    ('\u{2800}', '\u{2800}', "blank Braille pattern"),
    ('\u{3000}', '\u{3000}', "ideographic space"),
    ('\u{3164}', '\u{3164}', "Hangul filler"),
    ('\u{e000}', '\u{f8ff}', "private use"),
    ('\u{feff}', '\u{feff}', "byte order mark"),
    ('\u{ffa0}', '\u{ffa0}', "half-width Hangul filler"),
    ('\u{fff9}', '\u{fffb}', "interlinear annotation"),
    ('\u{1d173}', '\u{1d17a}', "musical formats"),
    ('\u{e0000}', '\u{e007f}', "tags"),
    ('\u{34f}', '\u{34f}', "combining grapheme joiner"),
    ('\u{17b4}', '\u{17b5}', "Khmer inherent vowels"),
    ('\u{180b}', '\u{180f}', "Mongolian variation selectors"),
    ('\u{2065}', '\u{2065}', "unassigned, and ignored"),
    ('\u{2d7f}', '\u{2d7f}', "Tifinagh joiner"),
    ('\u{fe00}', '\u{fe0f}', "variation selectors"),
    ('\u{fff0}', '\u{fff8}', "unassigned, and ignored"),
    ('\u{1107f}', '\u{1107f}', "Brahmi number joiner"),
    ('\u{13430}', '\u{1343f}', "Egyptian formats"),
    ('\u{13441}', '\u{13442}', "Egyptian blanks"),
    ('\u{16fe4}', '\u{16fe4}', "Khitan filler"),
    ('\u{1bca0}', '\u{1bca3}', "shorthand formats"),
    ('\u{1d159}', '\u{1d159}', "musical null note head"),
    ('\u{e0080}', '\u{e0fff}', "variation selectors, and what is kept for more of them"),
    ('\u{f0000}', '\u{10ffff}', "private use and no characters"),
];

#[test]
fn what_deceives_is_escaped_wherever_it_stands() {
    for (first, last, what) in DECEIVING {
        for c in *first..=*last {
            for text in [format!("{c}"), format!("a{c}b"), format!("{c}{c}")] {
                let shown = printable(&text);
                assert!(!shown.contains(c), "{what}: {:x}", u32::from(c));
                assert!(shown.contains('\\'), "{what}: {:x}", u32::from(c));
                assert!(!printable_json(&text).contains(c) || c == '\n', "{what}");
            }
        }
    }
}

#[test]
fn every_character_is_either_shown_or_escaped_and_twice_is_once() {
    for c in '\0'..=char::MAX {
        let text = format!("x{c}y");
        let shown = printable(&text);
        assert!(shown.starts_with('x') && shown.ends_with('y'), "{:x}", u32::from(c));
        assert!(!shown.chars().any(|c| c.is_control() || (c.is_whitespace() && c != ' ')));
        assert_eq!(printable(&shown), shown);
        assert_eq!(printable_lines(&shown), shown);
    }
}

#[test]
fn what_people_write_is_shown_as_it_is() {
    for text in
        ["a b-c_d.txt", "Grüße", "日本語", "हिन्दी", "e\u{301}te\u{301}", "עברית", "🦀", "→ ×"]
    {
        assert_eq!(printable(text), text);
    }
}

#[test]
fn marks_stay_on_their_letter_and_are_few() {
    assert_eq!(printable("\u{301}a"), "\\u{301}a");
    assert_eq!(printable("a \u{301}"), "a \\u{301}");
    let many = format!("a{}", "\u{301}".repeat(50));
    let shown = printable(&many);
    assert_eq!(shown.chars().filter(|c| *c == '\u{301}').count(), MAX_MARKS);
}

#[test]
fn bytes_that_are_no_text_are_shown_one_by_one() {
    assert_eq!(printable_bytes(b"a\xffb\xe2\x80"), "a\\xffb\\xe2\\x80");
    assert_eq!(printable_bytes(b"\x1b[8m"), "\\u{1b}[8m");
    assert_eq!(printable_bytes("\u{202e}gpj.exe".as_bytes()), "\\u{202e}gpj.exe");
}

#[test]
fn lines_of_ours_stay_and_those_of_others_do_not() {
    assert_eq!(printable_lines("a\nb\u{1b}c\n"), "a\nb\\u{1b}c\n");
    assert_eq!(printable("a\nb"), "a\\nb");
}

#[test]
fn json_stays_json() {
    let odd = "a\u{202e}b\u{e0001}\u{a0}\u{301}\u{7f}é";
    let shown = printable_json(&serde_json::to_string(odd).unwrap());
    assert!(shown.chars().all(|c| c.is_ascii_graphic() || c == 'é'), "{shown}");
    assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), odd);
}

#[test]
fn long_names_lose_their_middle() {
    let long = format!(".git/hooks/{}/pre-commit", "\u{a0}".repeat(3000));
    let shown = printable_within(&long, 60);
    assert!(shown.starts_with(".git/hooks/") && shown.ends_with("/pre-commit"), "{shown}");
    assert!(shown.contains("more ...]") && shown.chars().count() < 100, "{shown}");
    assert_eq!(printable_within("short", 60), "short");
    for n in 0..80 {
        let shown = printable_within(&long, n);
        assert!(shown.chars().count() <= n + 40, "{shown}");
    }
}

/// Any bytes at all, from a generator with a fixed start, so that a failure can be repeated.
#[test]
fn any_bytes_become_one_line_that_acts_on_nothing() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    for _ in 0..20_000 {
        let bytes = [next(), next(), next()].concat();
        for shown in
            [printable_bytes(&bytes), printable_within(&String::from_utf8_lossy(&bytes), 9)]
        {
            assert!(shown.chars().all(|c| c == ' ' || is_visible(c)));
            assert!(!shown.chars().next().is_some_and(is_mark));
            assert_eq!(shown.lines().count(), 1);
        }
    }
}
