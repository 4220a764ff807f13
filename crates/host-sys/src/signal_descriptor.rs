#![expect(unsafe_code, reason = "signal masks and signalfd are not wrapped by rustix")]
//! Signals to this process, read from a descriptor.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Receives signals to this process instead of their default actions.
#[derive(Debug)]
pub struct SignalDescriptor(OwnedFd);

impl SignalDescriptor {
    /// Takes over these signals. They are blocked in the calling thread and in those that it
    /// starts from now on, so this belongs into the main thread before there are others.
    pub fn new(signals: &[u8]) -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: writes the set that it is given.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        for signal in signals {
            // SAFETY: the set was initialised above. A number that is no signal is an error.
            if unsafe { libc::sigaddset(set.as_mut_ptr(), (*signal).into()) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: reads the set, which is initialised; a null third argument is allowed.
        let failed =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: reads the set, which is initialised.
        let descriptor = unsafe { libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is open and belongs to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Makes [`read`](Self::read) fail with `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.0, true)?)
    }

    /// Waits for the next signal and returns its number.
    pub fn read(&self) -> io::Result<u8> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        loop {
            // SAFETY: writes at most `size` bytes, which is how many there are.
            let n = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size) };
            if usize::try_from(n).is_ok_and(|n| n == size) {
                // SAFETY: the read filled the whole structure, which is made of integers.
                let info = unsafe { info.assume_init() };
                return u8::try_from(info.ssi_signo)
                    .map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

impl AsFd for SignalDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Blocks no signal any more in the calling thread. A process that was started by one with blocked
/// signals would otherwise keep them blocked, and hand that on.
pub fn unblock_all_signals() -> io::Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: writes the set that it is given.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: reads the set, which is initialised; a null third argument is allowed.
    let failed =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut()) };
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
}

/// Ignores these signals from now on, and so do the processes that this one starts.
pub fn ignore_signals(signals: &[u8]) -> io::Result<()> {
    for signal in signals {
        // SAFETY: no handler of ours is installed, and none is replaced that anybody relies on.
        if unsafe { libc::signal((*signal).into(), libc::SIG_IGN) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Does to this process what the host does by default when it gets a signal that stops, as if
/// nobody had taken that over: returns when it is continued, or at once where a job would not be
/// stopped, because nobody could continue it. `also` is done before it stops.
pub fn stop_by(signal: u8, also: impl FnOnce()) -> io::Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    let mut old = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: writes the set that it is given.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the set was initialised above. A number that is no signal is an error.
    if unsafe { libc::sigaddset(set.as_mut_ptr(), signal.into()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let check =
        |code: i32| if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) };
    // SAFETY: reads one set, which is initialised, and writes the other.
    check(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), old.as_mut_ptr()) })?;
    // Pending in this thread, where no descriptor that another one reads takes it away.
    // SAFETY: the signal is blocked in this thread, so that nothing runs because of it.
    check(unsafe { libc::raise(signal.into()) })?;
    also();
    // SAFETY: reads the set, which is initialised; a null third argument is allowed.
    check(unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut()) })?;
    // SAFETY: reads the set, which the first call has filled.
    check(unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), std::ptr::null_mut()) })
}

/// The signals that this process ignores, as it was told by whoever started it. `SIGPIPE` is not
/// among them: the runtime ignores it in any case.
pub fn ignored_signals() -> Vec<u8> {
    const MOST: u8 = 64;
    let is_ignored = |signal: u8| {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: changes nothing, and writes the structure that it is given.
        let failed =
            unsafe { libc::sigaction(signal.into(), std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: a call that did not fail has filled it.
        failed == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
    };
    (1..=MOST).filter(|&signal| i32::from(signal) != libc::SIGPIPE && is_ignored(signal)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_signal_to_the_calling_thread() {
        let signal = u8::try_from(libc::SIGUSR1).unwrap();
        let descriptor = SignalDescriptor::new(&[signal]).unwrap();
        // SAFETY: the signal is blocked in this thread, so that nothing runs because of it.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        assert_eq!(descriptor.read().unwrap(), signal);
    }
}
