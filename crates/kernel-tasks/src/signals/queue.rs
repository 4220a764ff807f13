//! Signals that have arrived and were not taken yet.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Weak;

use kernel_core::ledger::{Charge, Kind};
use linux_abi::signals::{SigInfo, SigSet, Signal, code};
use linux_abi::{Errno, Pid, SysResult};

/// Something that has at most one signal queued at a time and wants to know when it is taken: a
/// POSIX timer, which counts what it missed meanwhile.
pub trait SignalSource {
    /// The signal is being taken; `info` may be completed.
    fn taken(&self, info: &mut SigInfo);
}

/// One queued signal.
pub struct Pending {
    /// What it says.
    pub info: SigInfo,
    /// The user whose limit it counts against.
    charged: Option<u32>,
    source: Option<Weak<dyn SignalSource>>,
    _charge: Charge,
}

/// How many signals are queued for each user, against `RLIMIT_SIGPENDING`.
#[derive(Default)]
pub struct QueueLimits {
    queued: RefCell<BTreeMap<u32, u64>>,
}

impl QueueLimits {
    /// How many signals are queued for a user.
    pub fn queued(&self, uid: u32) -> u64 {
        self.queued.borrow().get(&uid).copied().unwrap_or(0)
    }

    fn charge(&self, uid: u32) {
        *self.queued.borrow_mut().entry(uid).or_default() += 1;
    }

    fn uncharge(&self, uid: u32) {
        let mut queued = self.queued.borrow_mut();
        if let Some(n) = queued.get_mut(&uid) {
            *n = n.saturating_sub(1);
            if *n == 0 {
                queued.remove(&uid);
            }
        }
    }
}

/// Who pays for a queued signal, and up to where.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    pub(crate) limits: &'a QueueLimits,
    pub(crate) uid: u32,
    pub(crate) maximum: u64,
}

/// The queue of a thread, or the one that the threads of a process share.
///
/// A standard signal is queued once at most; real-time signals queue in order of arrival. Lower
/// numbers are taken first, except that faults come before all.
#[derive(Default)]
pub struct SignalQueue {
    set: Cell<SigSet>,
    queued: RefCell<BTreeMap<Signal, VecDeque<Pending>>>,
}

impl SignalQueue {
    /// Which signals are queued.
    pub fn set(&self) -> SigSet {
        self.set.get()
    }

    /// Queues a signal. `EAGAIN` if the user's limit is reached and the signal is one that may
    /// not get lost; others then lose their information but not themselves.
    pub(crate) fn push(
        &self,
        signal: Signal,
        info: SigInfo,
        source: Option<Weak<dyn SignalSource>>,
        account: Account<'_>,
    ) -> SysResult<()> {
        // Each source has at most one signal queued, so its signals need no such limit.
        if source.is_none() && !signal.is_real_time() && self.set.get().contains(signal) {
            return Ok(());
        }
        // A standard signal from the kernel or `kill` is never refused: there is one at most.
        let exempt = source.is_some() || !signal.is_real_time() && info.code >= 0;
        let mut charged = None;
        let mut memory = Charge::none(Kind::Signals);
        if !exempt {
            let is_full = memory.resize(2 * size_of::<Pending>() as u64).is_err();
            if is_full || account.limits.queued(account.uid) >= account.maximum {
                if signal.is_real_time() && info.code != code::SI_USER {
                    return Err(Errno::EAGAIN);
                }
                self.set.set(self.set.get().with(signal));
                return Ok(());
            }
            account.limits.charge(account.uid);
            charged = Some(account.uid);
        }
        let pending = Pending { info, charged, source, _charge: memory };
        self.queued.borrow_mut().entry(signal).or_default().push_back(pending);
        self.set.set(self.set.get().with(signal));
        Ok(())
    }

    /// Takes the next of the `wanted` signals.
    pub fn take(&self, wanted: SigSet, limits: &QueueLimits) -> Option<(Signal, SigInfo)> {
        let ready = self.set.get().and(wanted);
        let signal = ready.and(SigSet::SYNCHRONOUS).lowest().or_else(|| ready.lowest())?;
        let (first, more) = {
            let mut queued = self.queued.borrow_mut();
            let line = queued.get_mut(&signal);
            let first = line.and_then(VecDeque::pop_front);
            let more = queued.get(&signal).is_some_and(|line| !line.is_empty());
            if !more {
                queued.remove(&signal);
            }
            (first, more)
        };
        if !more {
            self.set.set(self.set.get().without(SigSet::of(signal)));
        }
        let Some(mut pending) = first else {
            // Its information was lost to the limit.
            return Some((signal, SigInfo::from_process(signal, code::SI_USER, Pid(0), 0)));
        };
        if let Some(uid) = pending.charged {
            limits.uncharge(uid);
        }
        if let Some(source) = pending.source.and_then(|source| source.upgrade()) {
            source.taken(&mut pending.info);
        }
        Some((signal, pending.info))
    }

    /// What the queued signals say, in order.
    pub(crate) fn infos(&self) -> Vec<SigInfo> {
        self.queued.borrow().values().flatten().map(|pending| pending.info).collect()
    }

    /// Throws away what is queued of these signals.
    pub fn discard(&self, signals: SigSet, limits: &QueueLimits) {
        let mut lost = self.set.get().and(signals);
        self.set.set(self.set.get().without(signals));
        while let Some(signal) = lost.lowest() {
            lost = lost.without(SigSet::of(signal));
            let line = self.queued.borrow_mut().remove(&signal);
            for pending in line.into_iter().flatten() {
                if let Some(uid) = pending.charged {
                    limits.uncharge(uid);
                }
            }
        }
    }
}
