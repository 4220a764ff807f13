//! Who may signal whom.

use kernel_core::credentials::{Credentials, cap};
use kernel_core::landlock::scope;
use linux_abi::signals::Signal;

use crate::Process;
use crate::Thread;

/// Whether `sender` may send `signal` to `target` (`None` is the probe with signal 0).
pub fn may_signal(sender: &Thread, target: &Process, signal: Option<Signal>) -> bool {
    if sender.process().pid == target.pid {
        return true;
    }
    if !within_scope(sender, target) {
        return false;
    }
    if signal == Some(Signal::SIGCONT) && sender.process().session().sid == target.session().sid {
        return true;
    }
    let mine = sender.credentials();
    if mine.has(cap::KILL) {
        return true;
    }
    match target.any_thread() {
        Some(thread) => {
            let theirs = thread.credentials();
            users_match(&mine, &theirs) || theirs.user_namespace.grants(&mine, cap::KILL)
        }
        // A dead process, or process 1: only its real user is known.
        None => mine.euid == target.uid() || mine.uid == target.uid(),
    }
}

/// Whether Landlock lets the sender's signals leave for `target`.
fn within_scope(sender: &Thread, target: &Process) -> bool {
    let Some(domain) = sender.credentials().landlock.clone() else { return true };
    let theirs = target.any_thread().and_then(|thread| thread.credentials().landlock.clone());
    domain.may_reach(theirs.as_deref(), scope::SIGNAL)
}

fn users_match(mine: &Credentials, theirs: &Credentials) -> bool {
    [mine.euid, mine.uid].iter().any(|&user| user == theirs.uid || user == theirs.suid)
}
