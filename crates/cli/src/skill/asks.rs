//! What a skill asks for, in words: what weighs most first and last, everything counted, and no word
//! of the skill's long enough to push another one away.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sandbox_spec::{HostRule, printable_within};
use skills::policy::Ask;

/// How many lines of each kind are shown before the rest is counted. Mounts, and what weighs something
/// among its kind, are all shown.
const MAX_LINES_OF_A_KIND: usize = 12;
/// How much of one wish is shown.
const MAX_WISH_CHARS: usize = 200;
/// A list that is longer than this may have left the screen when its end is read.
const SCREEN_LINES: usize = 10;
/// How many of the weightiest wishes are named again after such a list.
const MAX_REPEATED: usize = 5;

/// The kinds of wishes, the weightiest first: what leads to the user's files, what leads out, what
/// tells of the host, what costs, what only the skill sees.
const KINDS: [&str; 6] =
    ["mount: read and write", "mount: read", "network", "env: see the host's", "limit", "env: set"];

/// The list, with everything counted before it.
pub fn in_words(asks: &[&Ask]) -> String {
    lines(asks, MAX_LINES_OF_A_KIND)
}

/// The list with nothing left out.
pub fn all_in_words(asks: &[&Ask]) -> String {
    lines(asks, usize::MAX)
}

/// Whether the list leaves something out.
pub fn are_folded(asks: &[&Ask]) -> bool {
    in_words(asks) != all_in_words(asks)
}

fn lines(asks: &[&Ask], max_of_a_kind: usize) -> String {
    let mut by_kind: BTreeMap<usize, Vec<(u8, String)>> = BTreeMap::new();
    for ask in asks {
        let what = printable_within(&ask.what, MAX_WISH_CHARS);
        let words = format!("{}: {what}", ask.about);
        let (kind, words) = match metadata_wish(ask) {
            Some(why) => (0, format!("{words}  <- beware: {why}")),
            None => (kind(&words), words),
        };
        by_kind.entry(kind).or_default().push((ask.weight, words));
    }
    // The weightiest of each kind first: the others do not push it away.
    for wishes in by_kind.values_mut() {
        wishes.sort_by_key(|(weight, _)| Reverse(*weight));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for ask in asks {
        *counts.entry(ask.about).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(about, n)| format!("{n} {about}")).collect();
    let mut text = format!(" ({}):\n", counts.join(", "));
    for (kind, wishes) in &by_kind {
        let is_mount = KINDS.get(*kind).is_some_and(|kind| kind.starts_with("mount"));
        let n_heavy = wishes.iter().take_while(|(weight, _)| *weight > 0).count();
        let max = if is_mount { usize::MAX } else { max_of_a_kind.max(n_heavy) };
        for (_, words) in wishes.iter().take(max) {
            text.push_str(&format!("  {words}\n"));
        }
        if let Some(n @ 1..) = wishes.len().checked_sub(max) {
            let name = KINDS.get(*kind).copied().unwrap_or("other");
            text.push_str(&format!("  and {n} more of: {name}\n"));
        }
    }
    if text.lines().count() > SCREEN_LINES {
        text.push_str("what weighs most, again:\n");
        let heaviest = by_kind.values().filter_map(|wishes| wishes.first());
        let most = by_kind.values().flat_map(|wishes| wishes.iter().skip(1));
        for (_, words) in heaviest.chain(most).take(MAX_REPEATED) {
            text.push_str(&format!("  {words}\n"));
        }
    }
    text
}

/// What a cloud keeps where a wish for a host leads, if it keeps the keys of machines there.
fn metadata_wish(ask: &Ask) -> Option<&'static str> {
    let host = ask.what.strip_prefix("contact ")?;
    let is_network = ask.about == "network";
    host.parse::<HostRule>().ok().filter(|_| is_network)?.metadata_service()
}

/// Where a wish stands among the kinds. One that nobody has thought of weighs most.
fn kind(words: &str) -> usize {
    KINDS.iter().position(|kind| words.starts_with(kind)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(about: &'static str, what: &str) -> Ask {
        Ask { about, what: what.to_owned(), is_granted: false, weight: 0 }
    }

    #[test]
    fn a_mount_is_not_pushed_away_by_variables() {
        let long = format!("set A{}=1", "\u{a0}".repeat(3000));
        let mut asks = vec![ask("env", &long)];
        asks.extend((0..150).map(|n| ask("env", &format!("set V{n}=x"))));
        asks.push(ask("mount", "read and write / as /host"));
        let text = in_words(&asks.iter().collect::<Vec<_>>());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], " (151 env, 1 mount):");
        assert_eq!(lines[1], "  mount: read and write / as /host");
        assert!(text.contains("and 139 more of: env: set\n"), "{text}");
        assert!(lines[lines.len() - 5..].contains(&lines[1]), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() < 300), "{text}");
        assert!(lines.len() < 24, "{text}");
        asks.push(ask("network", "contact 169.254.169.254:80"));
        let text = in_words(&asks.iter().collect::<Vec<_>>());
        assert!(text.contains("contact 169.254.169.254:80  <- beware: there"), "{text}");
        assert!(are_folded(&asks.iter().collect::<Vec<_>>()));
    }

    #[test]
    fn the_weightiest_of_a_kind_is_not_behind_others() {
        let mut asks: Vec<Ask> =
            (0..100).map(|n| ask("mount", &format!("read and write /data/{n} as /d{n}"))).collect();
        asks.push(Ask { weight: 9, ..ask("mount", "read and write / as /host") });
        asks.extend((0..40).map(|n| ask("env", &format!("see the host's V{n}"))));
        for n in 0..20 {
            asks.push(Ask { weight: 1, ..ask("env", &format!("see the host's TOKEN{n}")) });
        }
        let text = in_words(&asks.iter().collect::<Vec<_>>());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "  mount: read and write / as /host");
        for n in 0..20 {
            assert!(text.contains(&format!("env: see the host's TOKEN{n}\n")), "{n}: {text}");
        }
        assert!(text.contains("and 40 more of: env: see the host's\n"), "{text}");
        let end = &lines[lines.len() - 5..];
        assert!(
            end.contains(&lines[1]) && end.contains(&"  env: see the host's TOKEN0"),
            "{end:?}"
        );
    }
}
