//! The staging table, made from the table of system calls.

use channel_abi::staging::{CALLS, Entry, Part, kind};
use kernel_syscalls::{Kind, SYSCALLS, Status};

/// What travels with each call.
pub fn entries() -> Box<[Entry; CALLS]> {
    let mut entries = Box::new([Entry::default(); CALLS]);
    for call in SYSCALLS {
        let Some(entry) = entries.get_mut(usize::from(call.number)) else { continue };
        if !matches!(call.status, Status::Full(_) | Status::Partial(..) | Status::Stub(..)) {
            continue;
        }
        for (index, argument) in call.arguments.iter().enumerate() {
            let (Some(part), Some(made)) = (entry.parts.get_mut(index), part_of(argument.kind))
            else {
                continue;
            };
            *part = made;
            entry.any |= 1 << index;
        }
    }
    entries
}

fn part_of(argument: Kind) -> Option<Part> {
    let fixed = |kind, length| Some(Part { kind, length_argument: 0, length });
    let by = |kind, length_argument| Some(Part { kind, length_argument, length: 0 });
    match argument {
        Kind::Path => fixed(kind::PATH, 0),
        Kind::In(length) => fixed(kind::IN, length),
        Kind::Out(length) => fixed(kind::OUT, length),
        Kind::InOut(length) => fixed(kind::IN_OUT, length),
        Kind::InBy(argument) => by(kind::IN_BY, argument),
        Kind::OutBy(argument) => by(kind::OUT_BY, argument),
        _ => None,
    }
}
