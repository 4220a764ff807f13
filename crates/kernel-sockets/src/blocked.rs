//! What guests wanted of the network in vain, where nothing may leave: for the user to see.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;

use kernel_core::supervisor::Transport;

/// The most that is kept; a guest may try as often as it likes.
const MAX_BLOCKED: usize = 64;
/// Room for what has to be told of, whatever else was tried before it.
const MAX_WATCHED: usize = 64;

/// The longest name of a host.
const MAX_NAME: usize = 253;

/// Where a question's name starts in a message for a name server.
const QUESTION: usize = 12;

/// Something that a guest wanted in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// To send something there.
    Flow(Transport, SocketAddr),
    /// To know the addresses of this name.
    Name(String),
}

/// Whether something has to be told of.
type IsWatched = fn(&Blocked) -> bool;

/// What guests wanted in vain, each once.
#[derive(Default)]
pub struct BlockedList {
    list: RefCell<Vec<Blocked>>,
    is_watched: Cell<Option<IsWatched>>,
}

impl BlockedList {
    pub(crate) fn note(&self, blocked: Blocked) {
        let mut list = self.list.borrow_mut();
        let has_room = list.len() < MAX_BLOCKED
            || (list.len() < MAX_BLOCKED + MAX_WATCHED
                && self.is_watched.get().is_some_and(|is_watched| is_watched(&blocked)));
        if has_room && !list.contains(&blocked) {
            list.push(blocked);
        }
    }

    /// Says what has to be told of: there is room for it even if the list is full.
    pub fn watch_for(&self, is_watched: IsWatched) {
        self.is_watched.set(Some(is_watched));
    }

    /// Notes the name in a message for a name server, if it is one.
    pub(crate) fn note_question(&self, message: &[u8]) {
        if let Some(name) = name_in(message) {
            self.note(Blocked::Name(name));
        }
    }

    /// All of them, in order.
    pub fn list(&self) -> Vec<Blocked> {
        self.list.borrow().clone()
    }
}

/// The name that a message asks for, if it looks like the name of a host.
fn name_in(message: &[u8]) -> Option<String> {
    let mut name = String::new();
    let mut rest = message.get(QUESTION..)?;
    loop {
        let (&length, after) = rest.split_first()?;
        if length == 0 {
            return (!name.is_empty()).then_some(name);
        }
        let (label, after) = after.split_at_checked(length.into())?;
        if !label.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)) {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.extend(label.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
        if name.len() > MAX_NAME {
            return None;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_watched_for_is_not_hidden_behind_others() {
        let blocked = BlockedList::default();
        blocked.watch_for(|it| *it == Blocked::Name("metadata".to_owned()));
        for n in 0..2 * MAX_BLOCKED {
            blocked.note(Blocked::Name(n.to_string()));
        }
        blocked.note(Blocked::Name("metadata".to_owned()));
        let list = blocked.list();
        assert_eq!(list.len(), MAX_BLOCKED + 1);
        assert_eq!(list.last(), Some(&Blocked::Name("metadata".to_owned())));
    }

    #[test]
    fn finds_the_name_of_a_question() {
        let header = [0; 12];
        let message = |name: &[u8]| [&header[..], name, &[0, 1, 0, 1]].concat();
        assert_eq!(name_in(&message(b"\x01A\x03org\0")).as_deref(), Some("a.org"));
        assert_eq!(name_in(&message(b"\x01\n\0")), None);
        assert_eq!(name_in(&message(b"\xc0\x0c")), None);
        assert_eq!(name_in(&message(b"\0")), None);
        assert_eq!(name_in(b"short"), None);
    }
}
