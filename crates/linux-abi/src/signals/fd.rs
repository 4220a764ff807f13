//! What is read from a signalfd.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{SigInfo, code};

/// `struct signalfd_siginfo`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of signalfd(2)")]
pub struct SignalFdInfo {
    pub signo: u32,
    pub errno: i32,
    pub code: i32,
    pub pid: u32,
    pub uid: u32,
    pub fd: i32,
    pub timer_id: u32,
    pub band: u32,
    pub overrun: u32,
    pub trap_number: u32,
    pub status: i32,
    pub value_int: i32,
    pub value_ptr: u64,
    pub user_time: u64,
    pub system_time: u64,
    pub address: u64,
    pub address_lsb: u16,
    pub padding: u16,
    pub syscall: i32,
    pub call_address: u64,
    pub architecture: u32,
    pub rest: [u32; 7],
}

impl SignalFdInfo {
    /// The same facts, laid out for readers. Which of them there are depends on who sent.
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a union")]
    pub fn from_info(info: &SigInfo) -> Self {
        let common = Self {
            signo: info.signo.cast_unsigned(),
            errno: info.errno,
            code: info.code,
            ..Self::default()
        };
        let sender = Self { pid: info.pid(), uid: info.uid(), ..common };
        let value = Self {
            value_int: (info.value() as u32).cast_signed(),
            value_ptr: info.value(),
            ..common
        };
        match (info.code, info.signo) {
            (code::SI_TIMER, _) => Self {
                timer_id: info.timer_id().cast_unsigned(),
                overrun: info.overrun().cast_unsigned(),
                ..value
            },
            (code::SI_QUEUE | code::SI_MESGQ | code::SI_ASYNCIO, _) => {
                Self { pid: info.pid(), uid: info.uid(), ..value }
            }
            (code::SI_USER | code::SI_TKILL, _) => sender,
            (1.., 17) => {
                let (user_time, system_time) = info.child_times();
                Self { status: info.status(), user_time, system_time, ..sender }
            }
            (1.., 4 | 5 | 7 | 8 | 11) if info.code < code::SI_KERNEL => {
                Self { address: info.address(), ..common }
            }
            (1.., 29) => Self { band: info.address() as u32, fd: info.fd(), ..common },
            _ => sender,
        }
    }
}
