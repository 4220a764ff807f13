//! Filters on the calls of a thread (`seccomp`).
//!
//! A filter is a small program that the guest gives; it sees the number and the arguments of a call
//! and says what becomes of it. Filters add up, and are never taken away. A thread that has one
//! announces every call, so that also those calls are judged that its shim would answer by itself.

use std::rc::Rc;

use linux_abi::signals::{SigInfo, Signal};
use linux_abi::tasks::ExitStatus;
use linux_abi::tasks::ptrace::{AUDIT_ARCH_X86_64, TraceOptions, event};
use linux_abi::tasks::seccomp::{FilterInstruction, action, mode};
use linux_abi::{Errno, Pid, SysResult};

use crate::machine::UserRegisters;
use crate::ptrace::{CallVerdict, end_process};
use crate::{Thread, signals};

mod program;
#[cfg(test)]
mod tests;

use program::Program;

/// What all filters of a thread may take together, in instructions, with this much for each.
const MAX_INSTRUCTIONS: usize = 1 << 15;
const PER_FILTER: usize = 4;

/// One filter, and those that were there before it.
pub struct Filter {
    program: Program,
    previous: Option<Rc<Filter>>,
    /// Instructions of this one and all before it.
    total: usize,
    /// How many filters there are.
    count: u32,
}

/// What a thread's calls have to pass.
#[derive(Clone, Default)]
pub enum CallFilter {
    /// Nothing.
    #[default]
    None,
    /// `read`, `write`, `exit` and `rt_sigreturn` are all there is.
    Strict,
    /// Filters.
    Filters(Rc<Filter>),
}

impl Filter {
    fn is_or_was(self: &Rc<Self>, other: &Rc<Self>) -> bool {
        let mut next = Some(self);
        while let Some(filter) = next {
            if Rc::ptr_eq(filter, other) {
                return true;
            }
            next = filter.previous.as_ref();
        }
        false
    }

    /// The strictest answer of all filters.
    fn judge(&self, words: &[u32; 16]) -> u32 {
        let mut answer = action::ALLOW;
        let mut next = Some(self);
        while let Some(filter) = next {
            let given = filter.program.run(words);
            let rank = |value: u32| (value & action::MASK).cast_signed();
            if rank(given) < rank(answer) {
                answer = given;
            }
            next = filter.previous.as_deref();
        }
        answer
    }
}

/// Number, architecture, instruction pointer and arguments, as filters see them.
fn words(registers: &UserRegisters) -> [u32; 16] {
    let halves = |value: u64| {
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let low = value as u32;
        [low, u32::try_from(value >> 32).unwrap_or(0)]
    };
    let mut words = [0; 16];
    let [number, _] = halves(registers.original_rax());
    let values = [registers.rip()].into_iter().chain(registers.arguments());
    let all = [number, AUDIT_ARCH_X86_64].into_iter().chain(values.flat_map(halves));
    for (to, from) in words.iter_mut().zip(all) {
        *to = from;
    }
    words
}

impl Thread {
    /// Whether its calls have to pass anything.
    pub fn has_call_filter(&self) -> bool {
        !matches!(*self.call_filter.borrow(), CallFilter::None)
    }

    /// The mode, as `prctl` and `/proc` name it, and how many filters there are.
    pub fn call_filter_mode(&self) -> (u64, u32) {
        match &*self.call_filter.borrow() {
            CallFilter::None => (mode::DISABLED, 0),
            CallFilter::Strict => (mode::STRICT, 0),
            CallFilter::Filters(filter) => (mode::FILTER, filter.count),
        }
    }

    /// Allows nothing but `read`, `write`, `exit` and `rt_sigreturn` from now on.
    pub fn filter_strictly(&self) -> SysResult<()> {
        if matches!(*self.call_filter.borrow(), CallFilter::Filters(_)) {
            return Err(Errno::EINVAL);
        }
        *self.call_filter.borrow_mut() = CallFilter::Strict;
        self.publish_watch();
        Ok(())
    }

    /// Adds a filter. With `everywhere` all threads of the process get the filters of this one;
    /// `Err` names a thread that has others.
    pub fn add_filter(
        self: &Rc<Self>,
        instructions: Vec<FilterInstruction>,
        everywhere: bool,
    ) -> SysResult<Result<(), Pid>> {
        let program = Program::check(instructions)?;
        let previous = match &*self.call_filter.borrow() {
            CallFilter::None => None,
            CallFilter::Strict => return Err(Errno::EINVAL),
            CallFilter::Filters(filter) => Some(Rc::clone(filter)),
        };
        let before = previous.as_ref().map_or(0, |filter| filter.total);
        let total = before + program.len() + PER_FILTER;
        if total > MAX_INSTRUCTIONS {
            return Err(Errno::ENOMEM);
        }
        let others: Vec<_> = if everywhere {
            let all = self.process().threads();
            all.into_iter().filter(|other| !Rc::ptr_eq(other, self)).collect()
        } else {
            Vec::new()
        };
        for other in &others {
            let fits = match &*other.call_filter.borrow() {
                CallFilter::None => true,
                CallFilter::Strict => false,
                CallFilter::Filters(theirs) => {
                    previous.as_ref().is_some_and(|mine| mine.is_or_was(theirs))
                }
            };
            if !fits {
                return Ok(Err(other.tid()));
            }
        }
        let count = previous.as_ref().map_or(0, |filter| filter.count) + 1;
        let filter = Rc::new(Filter { program, previous, total, count });
        let no_new_privs = self.attributes().no_new_privs;
        for thread in others.iter().chain([self]) {
            *thread.call_filter.borrow_mut() = CallFilter::Filters(Rc::clone(&filter));
            if no_new_privs {
                thread.change_attributes(|attributes| attributes.no_new_privs = true);
            }
            thread.publish_watch();
        }
        Ok(Ok(()))
    }

    /// Judges the call in the registers.
    pub(crate) async fn filter_call(self: &Rc<Self>) -> CallVerdict {
        let mut is_second_look = false;
        loop {
            let suspended = TraceOptions::SUSPEND_SECCOMP;
            if self.is_traced() && self.trace_options().contains(suspended) {
                return CallVerdict::Run;
            }
            let filter = self.call_filter.borrow().clone();
            let mut registers = self.machine().registers();
            let answer = match filter {
                CallFilter::None => action::ALLOW,
                CallFilter::Strict => return self.judge_strictly(registers.original_rax()).await,
                CallFilter::Filters(filter) => filter.judge(&words(&registers)),
            };
            let data = answer & !action::MASK;
            match answer & action::MASK {
                action::ALLOW | action::LOG => return CallVerdict::Run,
                action::TRACE if is_second_look => return CallVerdict::Run,
                action::TRACE => {
                    let wanted = TraceOptions::TRACESECCOMP;
                    if !self.is_traced() || !self.trace_options().contains(wanted) {
                        return self.refuse(&mut registers, 38);
                    }
                    self.stop_at_event(event::SECCOMP, data.into()).await;
                    if self.machine().registers().original_rax() == u64::MAX {
                        return CallVerdict::Skip;
                    }
                    is_second_look = true;
                }
                action::ERRNO => return self.refuse(&mut registers, data.min(4095)),
                action::TRAP => {
                    self.trap_call(&mut registers, data);
                    return CallVerdict::Skip;
                }
                action::USER_NOTIF => return self.refuse(&mut registers, 38),
                action::KILL_THREAD => {
                    self.end_thread(ExitStatus::signaled(Signal::SIGSYS, false)).await;
                    return CallVerdict::Skip;
                }
                _ => {
                    let status = ExitStatus::signaled(Signal::SIGSYS, false);
                    end_process(Rc::clone(self), status).await;
                    return CallVerdict::Skip;
                }
            }
        }
    }

    async fn judge_strictly(self: &Rc<Self>, number: u64) -> CallVerdict {
        const READ: u64 = 0;
        const WRITE: u64 = 1;
        const RT_SIGRETURN: u64 = 15;
        const EXIT: u64 = 60;
        if matches!(number, READ | WRITE | RT_SIGRETURN | EXIT) {
            return CallVerdict::Run;
        }
        self.end_thread(ExitStatus::signaled(Signal::SIGKILL, false)).await;
        CallVerdict::Skip
    }

    async fn end_thread(self: &Rc<Self>, status: ExitStatus) {
        self.report_exit(status).await;
        self.exit(status);
    }

    fn refuse(&self, registers: &mut UserRegisters, errno: u32) -> CallVerdict {
        registers.set_result((-i64::from(errno)).cast_unsigned());
        self.machine().set_registers(registers);
        CallVerdict::Skip
    }

    /// `SIGSYS` instead of the call.
    fn trap_call(self: &Rc<Self>, registers: &mut UserRegisters, data: u32) {
        let number = registers.original_rax();
        registers.set_result(number);
        self.machine().set_registers(registers);
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let mut info = SigInfo::system_call(registers.rip(), number, AUDIT_ARCH_X86_64);
        info.errno = data.cast_signed();
        signals::fault(self, Signal::SIGSYS, info);
    }
}
