//! An open terminal.

use std::any::Any;
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::{FileOps, Inode, Intent, Ioctl, OpenFile};
use linux_abi::files::OpenFlags;
use linux_abi::signals::Signal;
use linux_abi::terminals::{LocalModes, request};
use linux_abi::{Errno, SysResult, WaitResult};

use super::Terminal;
use super::control::needs_foreground;

/// What is behind a descriptor of a terminal.
pub struct TerminalFile {
    terminal: Rc<Terminal>,
    /// How often the terminal had been hung up when this file was opened.
    n_hang_ups: u32,
}

impl TerminalFile {
    pub(crate) fn new(terminal: &Rc<Terminal>) -> Rc<Self> {
        terminal.count_open(1);
        Rc::new(Self { terminal: Rc::clone(terminal), n_hang_ups: terminal.n_hang_ups.get() })
    }

    /// The terminal.
    pub fn terminal(&self) -> &Rc<Terminal> {
        &self.terminal
    }

    fn is_dead(&self) -> bool {
        self.n_hang_ups != self.terminal.n_hang_ups.get()
    }
}

impl Drop for TerminalFile {
    fn drop(&mut self) {
        self.terminal.count_open(-1);
    }
}

impl FileOps for TerminalFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn admit(&self, _file: &OpenFile, caller: &dyn Any, intent: Intent) -> WaitResult {
        if self.is_dead() {
            return Ok(());
        }
        match intent {
            Intent::Read => {
                self.terminal.begin_read();
                self.terminal.check_foreground(caller, Signal::SIGTTIN)
            }
            Intent::Write => {
                let local = self.terminal.discipline.borrow().termios().local();
                if !local.contains(LocalModes::TOSTOP) {
                    return Ok(());
                }
                self.terminal.check_foreground(caller, Signal::SIGTTOU)
            }
            Intent::Control(command) if needs_foreground(command) => {
                self.terminal.check_foreground(caller, Signal::SIGTTOU)
            }
            Intent::Control(_) => Ok(()),
        }
    }

    fn read(&self, file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        if self.is_dead() {
            return Ok(0);
        }
        self.terminal.read(sink, file.is_nonblocking())
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, _offset: u64) -> SysResult<usize> {
        if self.is_dead() {
            return Err(Errno::EIO);
        }
        self.terminal.write(source)
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        if self.is_dead() {
            return PollEvents::READABLE | PollEvents::WRITABLE | PollEvents::ALWAYS;
        }
        self.terminal.ready()
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.terminal.queue.clone())
    }

    fn ioctl(&self, file: &OpenFile, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        if self.is_dead() {
            let is_foreground = ioctl.command == request::TIOCSPGRP;
            return Err(if is_foreground { Errno::ENOTTY } else { Errno::EIO });
        }
        self.terminal.control_slave(file, ioctl)
    }

    fn inode(&self) -> Option<&Rc<dyn Inode>> {
        self.terminal.node.get()
    }

    fn reopen(&self, _flags: OpenFlags) -> SysResult<Rc<dyn FileOps>> {
        Ok(Self::new(&self.terminal))
    }

    fn describe(&self) -> String {
        format!("/dev/{}", self.terminal.name())
    }
}
