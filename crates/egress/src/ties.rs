//! Which names an address was given for.
//!
//! The guest connects to addresses, the rules speak of names. Whoever asks the porter for a name
//! gets addresses, and the porter remembers for which name it gave them.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long an answer may be used. Programs keep addresses for longer than they are told to, and
/// connections are made again.
pub const LIFETIME: Duration = Duration::from_secs(3600);

/// The most ties at one time; the oldest go first.
const MAX_TIES: usize = 4096;

struct Tie {
    name: String,
    until: Instant,
}

/// The ties of a sandbox.
#[derive(Default)]
pub struct Ties {
    by_address: HashMap<IpAddr, Vec<Tie>>,
    /// Every tie, oldest first; a tie that was renewed is here more than once.
    order: VecDeque<(IpAddr, String)>,
}

impl Ties {
    /// The guest was told that `name` has this address.
    pub fn add(&mut self, name: &str, address: IpAddr, now: Instant) {
        let ties = self.by_address.entry(address).or_default();
        if let Some(tie) = ties.iter_mut().find(|tie| tie.name == name) {
            tie.until = now + LIFETIME;
            return;
        }
        ties.push(Tie { name: name.to_owned(), until: now + LIFETIME });
        self.order.push_back((address, name.to_owned()));
        if self.order.len() > MAX_TIES {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((address, name)) = self.order.pop_front() else { return };
        if let Some(ties) = self.by_address.get_mut(&address) {
            ties.retain(|tie| tie.name != name);
            if ties.is_empty() {
                self.by_address.remove(&address);
            }
        }
    }

    /// The names that this address was given for, and still may be used for; the newest first.
    pub fn names(&self, address: IpAddr, now: Instant) -> impl Iterator<Item = &str> {
        let ties = self.by_address.get(&address).into_iter().flatten().rev();
        ties.filter(move |tie| tie.until > now).map(|tie| tie.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tie_ends() {
        let mut ties = Ties::default();
        let address = "1.2.3.4".parse().unwrap();
        let now = Instant::now();
        ties.add("a.org", address, now);
        assert_eq!(ties.names(address, now).collect::<Vec<_>>(), ["a.org"]);
        assert_eq!(ties.names(address, now + LIFETIME).count(), 0);
        ties.add("a.org", address, now + LIFETIME);
        assert_eq!(ties.names(address, now + LIFETIME).count(), 1);
    }

    #[test]
    fn there_are_not_too_many() {
        let mut ties = Ties::default();
        let now = Instant::now();
        for n in 0..5000u32 {
            ties.add("a.org", IpAddr::V4(n.into()), now);
        }
        assert_eq!(ties.by_address.len(), MAX_TIES);
        assert_eq!(ties.names(IpAddr::V4(0.into()), now).count(), 0);
        assert_eq!(ties.names(IpAddr::V4(4999.into()), now).count(), 1);
    }
}
