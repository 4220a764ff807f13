//! What is known about registers and stack before an instruction, whichever way led there.

use linux_abi::tasks::bpf::code;

use super::{FRAME, N_REGISTERS, STACK};

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing was put there, or different ways put different kinds of things: it cannot be used.
    Nothing,
    /// A number between these two.
    Number(u64, u64),
    /// Points to what is judged, or so many bytes behind.
    Context(i64),
    /// Points so many bytes behind the end of the stack, so mostly a negative number.
    Stack(i64),
}

impl Known {
    pub(super) const ANY_NUMBER: Self = Self::Number(0, u64::MAX);

    pub(super) const fn exactly(value: u64) -> Self {
        Self::Number(value, value)
    }

    /// The value, if just one is possible.
    pub(super) fn value(self) -> Option<u64> {
        match self {
            Self::Number(lowest, highest) if lowest == highest => Some(lowest),
            _ => None,
        }
    }

    /// What holds of both.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number(a, b), Self::Number(c, d)) => Self::Number(a.min(c), b.max(d)),
            (one, other) if one == other => one,
            _ => Self::Nothing,
        }
    }
}

/// The stack is followed in words of this size.
const WORD: i64 = 8;
const N_WORDS: usize = STACK / 8;

/// What is known of everything.
#[derive(Clone)]
pub(super) struct State {
    registers: [Known; N_REGISTERS],
    /// What whole words of the stack hold.
    words: [Known; N_WORDS],
}

impl State {
    /// What holds at the start.
    pub(super) fn at_start() -> Self {
        let mut registers = [Known::Nothing; N_REGISTERS];
        if let Some(first) = registers.get_mut(1) {
            *first = Known::Context(0);
        }
        if let Some(frame) = registers.get_mut(FRAME) {
            *frame = Known::Stack(0);
        }
        // The stack is empty at the start, and may be read.
        Self { registers, words: [Known::exactly(0); N_WORDS] }
    }

    /// What is known of a register.
    pub(super) fn get(&self, register: u8) -> Known {
        self.registers.get(usize::from(register)).copied().unwrap_or(Known::Nothing)
    }

    pub(super) fn set(&mut self, register: u8, known: Known) {
        if let Some(slot) = self.registers.get_mut(usize::from(register)) {
            *slot = known;
        }
    }

    /// Which words of the stack a range touches; `None` if it is not all within the stack.
    fn touched(from: i64, n: usize) -> Option<std::ops::RangeInclusive<usize>> {
        let start = from.checked_add(i64::try_from(STACK).ok()?)?;
        let last = start.checked_add(i64::try_from(n).ok()?)?.checked_sub(1)?;
        let first_word = usize::try_from(start.div_euclid(WORD)).ok()?;
        let last_word = usize::try_from(last.div_euclid(WORD)).ok()?;
        (last_word < N_WORDS).then_some(first_word..=last_word)
    }

    /// Reads from the stack; `None` outside it.
    pub(super) fn load(&self, from: i64, n: usize) -> Option<Known> {
        let touched = Self::touched(from, n)?;
        let is_word = n == 8 && from % WORD == 0;
        if is_word { self.words.get(*touched.start()).copied() } else { Some(number_of_width(n)) }
    }

    /// Writes to the stack; `None` outside it.
    pub(super) fn store(&mut self, to: i64, n: usize, known: Known) -> Option<()> {
        let touched = Self::touched(to, n)?;
        let is_word = n == 8 && to % WORD == 0;
        for word in self.words.get_mut(touched)? {
            *word = if is_word { known } else { Known::ANY_NUMBER };
        }
        Some(())
    }

    /// Adds another way to come here.
    pub(super) fn join(&mut self, other: &Self) {
        let all = self.registers.iter_mut().chain(&mut self.words);
        for (known, other) in all.zip(other.registers.iter().chain(&other.words)) {
            *known = known.join(*other);
        }
    }

    /// What is known where a jump leads that compares a register with a number, and where it does
    /// not. `None` if it cannot lead there.
    pub(super) fn split(
        &self,
        operation: u8,
        register: u8,
        with: u64,
    ) -> (Option<Self>, Option<Self>) {
        let Known::Number(lowest, highest) = self.get(register) else {
            return (Some(self.clone()), Some(self.clone()));
        };
        let equal = (lowest <= with && with <= highest).then_some((with, with));
        let unequal = match (lowest == with, highest == with) {
            (true, true) => None,
            (true, false) => Some((lowest + 1, highest)),
            (false, true) => Some((lowest, highest - 1)),
            (false, false) => Some((lowest, highest)),
        };
        let range = |from: Option<u64>, to: Option<u64>| {
            let from = from?.max(lowest);
            let to = to?.min(highest);
            (from <= to).then_some((from, to))
        };
        let above = range(with.checked_add(1), Some(u64::MAX));
        let not_above = range(Some(0), Some(with));
        let below = range(Some(0), with.checked_sub(1));
        let not_below = range(Some(with), Some(u64::MAX));
        let both = Some((lowest, highest));
        let (taken, passed) = match operation {
            code::JEQ => (equal, unequal),
            code::JNE => (unequal, equal),
            code::JGT => (above, not_above),
            code::JLE => (not_above, above),
            code::JLT => (below, not_below),
            code::JGE => (not_below, below),
            _ => (both, both),
        };
        let with_range = |range: Option<(u64, u64)>| {
            let (lowest, highest) = range?;
            let mut state = self.clone();
            state.set(register, Known::Number(lowest, highest));
            Some(state)
        };
        (with_range(taken), with_range(passed))
    }
}

/// Any number of so many bytes.
pub(super) fn number_of_width(n: usize) -> Known {
    let bits = u32::try_from(n).unwrap_or(8).saturating_mul(8).clamp(8, 64);
    Known::Number(0, u64::MAX >> (64 - bits))
}
