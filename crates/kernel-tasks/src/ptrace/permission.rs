//! Who may trace whom.

use std::rc::{Rc, Weak};

use kernel_core::credentials::cap;

use crate::{Process, Thread};

/// Whom a process lets trace it beside its ancestors (`PR_SET_PTRACER`).
#[derive(Clone, Default)]
pub enum AllowedTracer {
    /// Nobody.
    #[default]
    Nobody,
    /// Everybody.
    Anybody,
    /// This one, and its descendants.
    Only(Weak<Thread>),
}

/// The rule of `kernel.yama.ptrace_scope` 1: only ancestors attach, and those who were allowed.
pub(super) fn may_attach(thread: &Thread, other: &Thread) -> bool {
    if !thread.may_inspect(other) {
        return false;
    }
    if thread.credentials().has(cap::SYS_PTRACE) || descends(other.process(), thread.process()) {
        return true;
    }
    match other.process().allowed_tracer() {
        AllowedTracer::Nobody => false,
        AllowedTracer::Anybody => true,
        AllowedTracer::Only(allowed) => allowed
            .upgrade()
            .filter(|allowed| !allowed.has_exited())
            .is_some_and(|allowed| descends(thread.process(), allowed.process())),
    }
}

/// Whether a process is `ancestor` or descends from it.
fn descends(process: &Rc<Process>, ancestor: &Rc<Process>) -> bool {
    let mut next = Some(Rc::clone(process));
    while let Some(process) = next {
        if process.pid == ancestor.pid {
            return true;
        }
        next = process.parent();
    }
    false
}
