//! Questions to the processor, answered from memory.
//!
//! In a virtual machine `cpuid` takes microseconds, and the dynamic loader asks dozens of times in
//! every program. Where the kernel has replaced it in the loader's code by a breakpoint, the answer
//! comes from here. The zygote asks the processor once, and every process has what it heard.

use core::arch::x86_64::{__cpuid_count, CpuidResult};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::frame::HostContext;
use crate::usermem::get;

/// Where breakpoints are questions: the first address and the first one after it.
static CODE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// A question, as the kernel left it: a breakpoint, and the second byte of `cpuid`.
const QUESTION: [u8; 2] = [0xcc, 0xa2];

/// What loaders ask every processor, by leaf and number of parts.
const OF_ALL: &[(u32, u32)] = &[
    (0, 1),
    (1, 1),
    (7, 2),
    (0xd, 10),
    (0x8000_0000, 1),
    (0x8000_0001, 1),
    (0x8000_0007, 1),
    (0x8000_0008, 1),
];
/// What they ask AMD's of its caches, and others of theirs.
const OF_AMD: &[(u32, u32)] = &[(0x8000_0005, 1), (0x8000_0006, 1)];
const OF_OTHERS: &[(u32, u32)] = &[(2, 1), (4, 5), (0xb, 2), (0x14, 1), (0x19, 1)];
const N_ANSWERS: usize = n_answers(OF_ALL) + n_answers(OF_OTHERS);
const _: () = assert!(n_answers(OF_AMD) <= n_answers(OF_OTHERS));

const fn n_answers(asked: &[(u32, u32)]) -> usize {
    let (mut sum, mut index) = (0, 0);
    while index < asked.len() {
        sum += asked[index].1 as usize;
        index += 1;
    }
    sum
}

/// The answers, in the order of [`OF_ALL`] and what is asked of this maker's: `eax` and `ebx`, `ecx`
/// and `edx`.
static ANSWERS: [[AtomicU64; 2]; N_ANSWERS] =
    [const { [const { AtomicU64::new(0) }; 2] }; N_ANSWERS];
/// They are there.
static IS_KNOWN: AtomicBool = AtomicBool::new(false);
/// The processor is AMD's.
static IS_AMD: AtomicBool = AtomicBool::new(false);

/// What is asked here. Each question to the processor takes time, and the first program waits for
/// this list: it has nothing that nobody asks.
fn asked() -> impl Iterator<Item = (u32, u32)> {
    let of_maker = if IS_AMD.load(Relaxed) { OF_AMD } else { OF_OTHERS };
    OF_ALL.iter().chain(of_maker).copied()
}

/// In the zygote: asks the processor what loaders will ask.
pub fn learn() {
    /// `ebx` of the maker's name, `AuthenticAMD`.
    const AUTH: u32 = u32::from_le_bytes(*b"Auth");
    IS_AMD.store(__cpuid_count(0, 0).ebx == AUTH, Relaxed);
    let questions = asked().flat_map(|(leaf, n)| (0..n).map(move |part| (leaf, part)));
    for ((leaf, part), answer) in questions.zip(&ANSWERS) {
        let said = __cpuid_count(leaf, part);
        answer[0].store(u64::from(said.ebx) << 32 | u64::from(said.eax), Relaxed);
        answer[1].store(u64::from(said.edx) << 32 | u64::from(said.ecx), Relaxed);
    }
    IS_KNOWN.store(true, Relaxed);
}

/// A program has such breakpoints.
pub fn expect_breakpoints(code: [u64; 2]) {
    for (to, from) in CODE.iter().zip(code) {
        to.store(from, Relaxed);
    }
}

/// A breakpoint was hit. If it is a question, answers it, and the program goes on behind it.
pub fn answer(context: &mut HostContext) -> bool {
    let at = context.rip.wrapping_sub(1);
    let is_question = (CODE[0].load(Relaxed)..CODE[1].load(Relaxed)).contains(&at)
        && get(at, [0u8; 2]) == Ok(QUESTION);
    if !is_question {
        return false;
    }
    let (leaf, part) = (context.rax as u32, context.rcx as u32);
    let said = find(leaf, part).unwrap_or_else(|| __cpuid_count(leaf, part));
    context.rax = said.eax.into();
    context.rbx = said.ebx.into();
    context.rcx = said.ecx.into();
    context.rdx = said.edx.into();
    context.rip = at + QUESTION.len() as u64;
    true
}

fn find(leaf: u32, part: u32) -> Option<CpuidResult> {
    if !IS_KNOWN.load(Relaxed) {
        return None;
    }
    let mut first = 0;
    for (known, n) in asked() {
        if known != leaf {
            first += n as usize;
            continue;
        }
        // One without parts does not look at the number of the part.
        let part = if n == 1 && !matches!(leaf, 0x14 | 0x19) { 0 } else { part };
        if part >= n {
            return None;
        }
        let answer = ANSWERS.get(first + part as usize)?;
        let (low, high) = (answer[0].load(Relaxed), answer[1].load(Relaxed));
        return Some(CpuidResult {
            eax: low as u32,
            ebx: (low >> 32) as u32,
            ecx: high as u32,
            edx: (high >> 32) as u32,
        });
    }
    None
}
