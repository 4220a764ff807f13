//! Controlling terminals and foreground groups.

use std::any::Any;
use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::UserPtr;
use kernel_files::Ioctl;
use linux_abi::signals::Signal;
use linux_abi::{Errno, Pid, SysResult};

use super::Terminal;
use crate::job_control::{Caller, check_foreground};

/// How a process names the terminal it asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Through the terminal itself.
    Slave,
    /// Through the master, which may ask though it is nobody's controlling terminal.
    Master,
}

impl Terminal {
    /// A session leader without a controlling terminal has opened this one: it becomes that, if it
    /// is free and may be read.
    pub(crate) fn adopt_on_open(self: &Rc<Self>, who: &Caller, can_read: bool) {
        let is_wanted = who.is_session_leader && who.controlling.is_none();
        if is_wanted
            && self.session.get().is_none()
            && (can_read || who.credentials.has(cap::SYS_ADMIN))
        {
            self.attach(who);
        }
    }

    fn attach(self: &Rc<Self>, who: &Caller) {
        self.start_session(who.session, who.group);
    }

    /// Makes it the controlling terminal of a session, with this group in the foreground.
    pub fn start_session(self: &Rc<Self>, session: Pid, foreground: Pid) {
        self.session.set(Some(session));
        self.foreground.set(Some(foreground));
        self.jobs.set_controlling_terminal(session, Some(Rc::clone(self)));
    }

    /// `TIOCSCTTY`.
    pub(super) fn set_controlling(
        self: &Rc<Self>,
        ioctl: &Ioctl<'_>,
        can_read: bool,
    ) -> SysResult<u64> {
        let who = self.jobs.caller(ioctl.caller)?;
        if who.is_session_leader && self.session.get() == Some(who.session) {
            return Ok(0);
        }
        if !who.is_session_leader || who.controlling.is_some() {
            return Err(Errno::EPERM);
        }
        let is_admin = who.credentials.has(cap::SYS_ADMIN);
        if let Some(other) = self.session.get() {
            if ioctl.argument != 1 || !is_admin {
                return Err(Errno::EPERM);
            }
            self.jobs.set_controlling_terminal(other, None);
        }
        if !can_read && !is_admin {
            return Err(Errno::EPERM);
        }
        self.attach(&who);
        Ok(0)
    }

    /// `TIOCNOTTY`.
    pub(super) fn give_up(&self, caller: &dyn Any) -> SysResult<u64> {
        let who = self.jobs.caller(caller)?;
        who.require_control_by(self)?;
        if who.is_session_leader {
            self.signal_foreground(Signal::SIGHUP);
            self.signal_foreground(Signal::SIGCONT);
            self.leave_session();
        } else {
            self.jobs.leave_controlling_terminal(caller);
        }
        Ok(0)
    }

    /// The leader of its session has ended: the foreground group is told, and the terminal is free.
    /// Called by whoever ends processes.
    pub fn session_ended(&self) {
        self.signal_foreground(Signal::SIGHUP);
        self.leave_session();
    }

    fn leave_session(&self) {
        self.foreground.set(None);
        if let Some(session) = self.session.take() {
            self.jobs.set_controlling_terminal(session, None);
        }
    }

    /// `TIOCGPGRP`.
    pub(crate) fn read_foreground(&self, ioctl: &Ioctl<'_>, side: Side) -> SysResult<u64> {
        self.require_control(ioctl.caller, side)?;
        let group = self.foreground.get().map_or(0, |group| group.0);
        UserPtr::<u32>::new(ioctl.argument).write(ioctl.memory, &group)?;
        Ok(0)
    }

    /// `TIOCSPGRP`. That a background job is stopped was checked before.
    pub(crate) fn set_foreground(&self, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        let who = self.jobs.caller(ioctl.caller)?;
        who.require_control_by(self)?;
        if self.session.get() != Some(who.session) {
            return Err(Errno::ENOTTY);
        }
        let group = UserPtr::<i32>::new(ioctl.argument).read(ioctl.memory)?;
        let group = Pid(u32::try_from(group).map_err(|_| Errno::EINVAL)?);
        let session = self.jobs.session_of_group(group).ok_or(Errno::ESRCH)?;
        if session != who.session {
            return Err(Errno::EPERM);
        }
        self.foreground.set(Some(group));
        Ok(0)
    }

    /// `TIOCGSID`.
    pub(crate) fn read_session(&self, ioctl: &Ioctl<'_>, side: Side) -> SysResult<u64> {
        self.require_control(ioctl.caller, side)?;
        let session = self.session.get().ok_or(Errno::ENOTTY)?;
        UserPtr::<u32>::new(ioctl.argument).write(ioctl.memory, &session.0)?;
        Ok(0)
    }

    fn require_control(&self, caller: &dyn Any, side: Side) -> SysResult {
        match side {
            Side::Master => Ok(()),
            Side::Slave => self.jobs.caller(caller)?.require_control_by(self),
        }
    }

    /// Stops a background job with `signal`.
    pub(crate) fn check_foreground(
        &self,
        caller: &dyn Any,
        signal: Signal,
    ) -> linux_abi::WaitResult {
        check_foreground(&*self.jobs, self, caller, signal)
    }
}
