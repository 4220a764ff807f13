//! Answers that need not be asked for again.
//!
//! Programs ask the same of the same path over and over. The kernel says which answers stay true
//! until something changes, and counts the changes where every process can read it. Each thread
//! keeps a few of its last answers.

#![expect(unsafe_code, reason = "answers are kept beside the thread's stack")]

use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use channel_abi::Facts;
use channel_abi::layout::{FACTS_OFFSET, STAGING_ADDRESS};
use channel_abi::request::{action, reply};

use crate::channel::request_staged;
use crate::entry::Registers;
use crate::handed;
use crate::host::{errno, nr};
use crate::staging::{self, Staged};
use crate::thread::Tcb;
use crate::usermem::{self, address_of};

/// How many answers a thread keeps. A power of two.
const N_KEPT: usize = 64;
/// The longest path of a question, in words.
const PATH_WORDS: usize = 15;
/// The longest answer in bytes: a `struct statx`.
const MAX_ANSWER: usize = 256;

/// A question with its answer.
#[repr(C)]
struct Kept {
    /// The count of changes at which it was given; 0 means that nothing is kept here.
    names: Cell<u64>,
    /// The same for descriptors.
    descriptors: Cell<u64>,
    question: Cell<Question>,
    result: Cell<i64>,
    length: Cell<usize>,
    answer: Cell<[u8; MAX_ANSWER]>,
}

/// How much memory a thread's answers take.
pub const KEPT_SIZE: u64 = (size_of::<[Kept; N_KEPT]>() as u64).next_multiple_of(4096);

/// All that an answer depends on, but for the facts.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Question {
    number: u64,
    /// The directory that the path starts from, or the descriptor that is asked about.
    directory: u64,
    details: [u64; 2],
    /// The path, with zeroes behind it.
    path: [u64; PATH_WORDS],
}

/// Where a call has what it asks: indexes of its arguments.
pub struct Shape {
    directory: Option<usize>,
    path: Option<usize>,
    details: [Option<usize>; 2],
    answer: Option<usize>,
}

const NO_DETAILS: [Option<usize>; 2] = [None, None];

/// How a call asks; `None` for those that do more than ask about a file.
#[inline(always)]
pub fn shape(number: u64) -> Option<Shape> {
    let shape = |directory, path, details, answer| Some(Shape { directory, path, details, answer });
    match number {
        nr::STAT | nr::LSTAT => shape(None, Some(0), NO_DETAILS, Some(1)),
        nr::FSTAT => shape(Some(0), None, NO_DETAILS, Some(1)),
        nr::NEWFSTATAT => shape(Some(0), Some(1), [Some(3), None], Some(2)),
        nr::STATX => shape(Some(0), Some(1), [Some(2), Some(3)], Some(4)),
        nr::ACCESS => shape(None, Some(0), [Some(1), None], None),
        nr::FACCESSAT => shape(Some(0), Some(1), [Some(2), None], None),
        nr::FACCESSAT2 => shape(Some(0), Some(1), [Some(2), Some(3)], None),
        nr::READLINK => shape(None, Some(0), [Some(2), None], Some(1)),
        nr::READLINKAT => shape(Some(0), Some(1), [Some(3), None], Some(2)),
        _ => None,
    }
}

/// `AT_FDCWD`.
const HERE: u32 = -100i32 as u32;

impl Question {
    /// What the call asks; `None` if it is too long to be kept.
    #[inline(always)]
    fn of(
        thread: &Tcb,
        number: u64,
        shape: &Shape,
        args: &[u64; 6],
        staged: &Staged,
    ) -> Option<Self> {
        let argument = |index: Option<usize>| index.and_then(|at| args.get(at)).copied();
        let directory = argument(shape.directory).map_or(HERE, |fd| fd as u32);
        let details = shape.details.map(|index| argument(index).unwrap_or(0));
        let mut path = [0; PATH_WORDS];
        if let Some(index) = shape.path {
            let offset = staged.offset(index)?;
            // A path without its zero is shorter than what is looked at.
            let length = usize::from(staged.path_lengths()[0]);
            if length >= size_of_val(&path) {
                return None;
            }
            let words = length / 8 + 1;
            for (at, word) in path.iter_mut().enumerate().take(words) {
                let address = thread.data() + offset + at as u64 * 8;
                // SAFETY: inside this thread's data area, which is mapped, and aligned, because
                // pieces start at multiples of 16.
                *word = unsafe {
                    core::ptr::with_exposed_provenance::<u64>(address as usize).read_volatile()
                };
            }
            // What is behind the path is left over from others.
            let last = path.get_mut(length / 8)?;
            *last &= (1 << (length % 8 * 8)) - 1;
        }
        Some(Self { number, directory: directory.into(), details, path })
    }

    /// Whether the answer depends on what a descriptor stands for.
    fn needs_descriptor(&self) -> bool {
        let is_absolute = self.path[0] as u8 == b'/';
        self.directory != u64::from(HERE) && !is_absolute
    }

    /// The place for its answer.
    #[inline(always)]
    fn place<'a>(&self, thread: &'a Tcb) -> Option<&'a Kept> {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(SPREAD);
        let mut hash = mix(self.number, self.directory);
        hash = mix(hash, self.details[0]);
        for &word in &self.path {
            if word == 0 {
                break;
            }
            hash = mix(hash, word);
        }
        kept(thread).get((hash >> 32) as usize % N_KEPT)
    }
}

fn kept(thread: &Tcb) -> &[Kept; N_KEPT] {
    // SAFETY: this thread's own memory, mapped with its stack; any bytes are valid.
    let kept: &[Kept; N_KEPT] =
        unsafe { &*core::ptr::with_exposed_provenance(thread.kept_answers() as usize) };
    if !thread.has_kept.replace(true) {
        // They may be those of a thread that was here before.
        for each in kept {
            each.names.set(0);
        }
    }
    kept
}

/// What the kernel shows of what has changed.
pub fn facts() -> &'static Facts {
    let address = STAGING_ADDRESS as usize + FACTS_OFFSET;
    // SAFETY: the zygote maps it there, read-only, before any other code runs.
    unsafe { &*core::ptr::with_exposed_provenance(address) }
}

/// Runs one of the calls that only ask.
pub fn call(thread: &Tcb, registers: &Registers, number: u64, shape: &Shape) -> Result<i64, i64> {
    let r = registers;
    let args = [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9];
    let entry = staging::entry(number).ok_or(errno::ENOSYS)?;
    let staged = staging::stage(thread, entry, &args);
    let to = shape.answer.and_then(|at| args.get(at)).copied().unwrap_or(0);
    // A thread that plays a child has another's memory.
    let question = if thread.is_vfork_child() {
        None
    } else {
        Question::of(thread, number, shape, &args, &staged)
    };
    if let Some(result) = question.and_then(|question| known(thread, &question, to)) {
        return Ok(result);
    }
    let result = request_staged(thread, number as u32, args, &staged);
    staging::copy_out(thread, &staged, &args)?;
    if let Some(question) = question {
        keep(thread, question, result, shape, &staged);
    }
    Ok(result)
}

/// The answer to a question, put where it belongs, if it is known.
#[inline(always)]
fn known(thread: &Tcb, question: &Question, to: u64) -> Option<i64> {
    let kept = question.place(thread)?;
    let facts = facts();
    if handed::is_closing(thread, question.directory as u32) {
        return None; // closed, which the kernel is not told of yet
    }
    if kept.names.get() != facts.names.load(Acquire)
        || question.needs_descriptor() && kept.descriptors.get() != facts.descriptors.load(Acquire)
    {
        return None;
    }
    // SAFETY: only this thread uses the cell, and no reference outlives this line.
    if unsafe { &*kept.question.as_ptr() } != question {
        return None;
    }
    let length = kept.length.get().min(MAX_ANSWER);
    // What cannot be written is for the kernel to judge.
    usermem::copy(to, address_of(&kept.answer), length).ok()?;
    Some(kept.result.get())
}

fn keep(thread: &Tcb, question: Question, result: i64, shape: &Shape, staged: &Staged) {
    let slot = thread.slot();
    if slot.args[reply::ACTION].load(Relaxed) != action::KEEP {
        return;
    }
    let Some(kept) = question.place(thread) else { return };
    let (mut from, mut length) = (0, 0);
    if let Some(index) = shape.answer
        && result >= 0
    {
        let Some(offset) = staged.offset(index) else { return };
        from = thread.data() + offset;
        length = staging::filled(slot, index);
    }
    if length > MAX_ANSWER {
        return;
    }
    kept.names.set(0);
    if usermem::copy(address_of(&kept.answer), from, length).is_err() {
        return;
    }
    kept.length.set(length);
    kept.question.set(question);
    kept.result.set(result);
    kept.descriptors.set(slot.args[reply::DETAIL2].load(Relaxed));
    kept.names.set(slot.args[reply::DETAIL].load(Relaxed));
}
