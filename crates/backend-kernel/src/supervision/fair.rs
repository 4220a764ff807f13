//! A list with a bound, in which nobody takes the room of others.
//!
//! A guest that wants to hide what it does fills the list with what it has made up. So once there is
//! no room, the kind that has most gives way to one that has less, and within a kind the process that
//! has most to one that has less. What was given up is counted by its kind.

use std::collections::BTreeMap;

use linux_abi::Pid;

/// How long a path is kept. No path that a call is given is longer.
pub const MAX_PATH_BYTES: usize = 4096;

/// Who did something, if that is known.
pub type Doer = Option<Pid>;

struct Entry<G, V> {
    value: V,
    kind: G,
    times: u64,
}

/// What happened, by key, and how often.
pub struct FairList<G, K, V> {
    max: usize,
    entries: BTreeMap<K, Entry<G, V>>,
    /// How many entries each kind has.
    n_of_kind: BTreeMap<G, usize>,
    /// The keys of each process, in the order in which they came.
    by_doer: BTreeMap<(G, Doer), Vec<K>>,
    left_out: BTreeMap<G, u64>,
}

impl<G: Ord + Copy, K: Ord + Clone, V> FairList<G, K, V> {
    /// A list of at most so many keys.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            entries: BTreeMap::new(),
            n_of_kind: BTreeMap::new(),
            by_doer: BTreeMap::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// Something of this kind happened.
    pub fn add(&mut self, kind: G, doer: Doer, key: K, value: V) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.times += 1;
            return;
        }
        if self.entries.len() >= self.max && !self.make_room(kind, doer) {
            *self.left_out.entry(kind).or_default() += 1;
            return;
        }
        *self.n_of_kind.entry(kind).or_default() += 1;
        self.by_doer.entry((kind, doer)).or_default().push(key.clone());
        self.entries.insert(key, Entry { value, kind, times: 1 });
    }

    /// Gives up what whoever has most has added last, if that is more than the newcomer has.
    fn make_room(&mut self, kind: G, doer: Doer) -> bool {
        let n_of = |kind: &G| self.n_of_kind.get(kind).copied().unwrap_or(0);
        let Some((&largest, &n_largest)) = self.n_of_kind.iter().max_by_key(|(_, n)| **n) else {
            return false;
        };
        let is_other_kind = n_largest > n_of(&kind) + 1;
        let from = if is_other_kind { largest } else { kind };
        let doers = self.by_doer.range((from, None)..).take_while(|((it, _), _)| *it == from);
        let most = doers.max_by_key(|(_, keys)| keys.len());
        let Some((&(_, loser), n_loser)) = most.map(|(who, keys)| (who, keys.len())) else {
            return false;
        };
        let n_own = self.by_doer.get(&(kind, doer)).map_or(0, Vec::len);
        (is_other_kind || n_loser > n_own + 1) && self.give_up(from, loser)
    }

    fn give_up(&mut self, kind: G, doer: Doer) -> bool {
        let Some(keys) = self.by_doer.get_mut(&(kind, doer)) else { return false };
        let Some(key) = keys.pop() else { return false };
        if keys.is_empty() {
            self.by_doer.remove(&(kind, doer));
        }
        if let Some(n) = self.n_of_kind.get_mut(&kind) {
            *n = n.saturating_sub(1);
        }
        let times = self.entries.remove(&key).map_or(0, |entry| entry.times);
        *self.left_out.entry(kind).or_default() += times;
        true
    }

    /// How often something was left out, by kind.
    pub fn left_out(&self) -> impl Iterator<Item = (G, u64)> + '_ {
        self.left_out.iter().map(|(kind, times)| (*kind, *times))
    }

    /// Everything by key, with its kind and how often.
    pub fn into_entries(self) -> impl Iterator<Item = (G, K, V, u64)> {
        self.entries.into_iter().map(|(key, entry)| (entry.kind, key, entry.value, entry.times))
    }
}

/// A path that is not too long to be kept.
pub fn kept(path: &[u8]) -> Vec<u8> {
    path.get(..MAX_PATH_BYTES).unwrap_or(path).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 100;

    fn keys(list: FairList<u8, String, ()>, kind: u8) -> Vec<String> {
        list.into_entries().filter(|it| it.0 == kind).map(|it| it.1).collect()
    }

    #[test]
    fn a_kind_that_has_most_gives_way_and_is_counted() {
        let mut list = FairList::new(MAX);
        for n in 0..6 * MAX {
            list.add(1, None, format!("made up {n}"), ());
        }
        list.add(2, None, "real".to_owned(), ());
        list.add(2, None, "real".to_owned(), ());
        assert_eq!(list.left_out().collect::<Vec<_>>(), [(1, 501)]);
        assert_eq!(list.entries.len(), MAX);
        assert_eq!(list.entries["real"].times, 2);
        assert_eq!(keys(list, 2), ["real"]);
    }

    #[test]
    fn a_process_that_has_most_gives_way() {
        let mut list = FairList::new(MAX);
        for n in 0..6 * MAX {
            list.add(1, Some(Pid(7)), format!("made up {n}"), ());
        }
        for n in 0..MAX {
            list.add(1, Some(Pid(8)), format!("real {n}"), ());
        }
        assert_eq!(list.entries.len(), MAX);
        let real = keys(list, 1).into_iter().filter(|key| key.starts_with("real")).count();
        assert!((MAX / 2 - 1..=MAX / 2).contains(&real), "{real}");
    }

    #[test]
    fn everything_is_either_there_or_counted() {
        let mut list = FairList::new(MAX);
        for n in 0..10_000_u32 {
            let kind = u8::try_from(n % 7).unwrap();
            list.add(kind, Some(Pid(n % 13)), format!("{}", n % 997), ());
        }
        let left_out: u64 = list.left_out().map(|(_, times)| times).sum();
        assert_eq!(list.n_of_kind.values().sum::<usize>(), MAX);
        assert_eq!(list.by_doer.values().map(Vec::len).sum::<usize>(), MAX);
        let there: u64 = list.into_entries().map(|it| it.3).sum();
        assert_eq!(left_out + there, 10_000);
    }
}
