//! One line per system call.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use host_sys::beneath::ResultFile;
use kernel_core::memory::{CString, UserPtr};
use kernel_syscalls::{Argument, Kind};
use kernel_tasks::Thread;
use linux_abi::signals::Signal;
use linux_abi::{Interrupted, Restart, WaitResult};
use sandbox_spec::{SandboxSpec, Trace};

use crate::control::{Purpose, Refusal};
use crate::engine::space::Seat;

/// How much of a string or buffer is shown.
const MAX_SHOWN: usize = 48;

/// Writes the trace.
pub struct Tracer {
    output: RefCell<File>,
}

/// Opens what the specification wants calls to be written to.
pub fn open(spec: &SandboxSpec) -> Result<Option<Tracer>, Refusal> {
    match &spec.trace {
        Trace::Off => Ok(None),
        Trace::Stderr => {
            let copy = std::io::stderr().as_fd().try_clone_to_owned();
            Ok(copy.ok().map(|fd| Tracer::new(File::from(fd))))
        }
        Trace::File(path) => {
            let file = ResultFile::create(path);
            file.map(|file| Some(Tracer::new(file))).map_err(|error| Refusal::Path {
                purpose: Purpose::Trace,
                path: path.as_os_str().as_bytes().to_vec(),
                errno: error.raw_os_error().unwrap_or(5),
                // What the host did not say, we did.
                reason: error.raw_os_error().is_none().then(|| error.to_string()),
            })
        }
    }
}

impl Tracer {
    /// A trace to this file.
    pub fn new(output: File) -> Self {
        Self { output: RefCell::new(output) }
    }

    /// Writes the line of a fault in guest code.
    pub fn fault(&self, thread: &Thread, signal: Signal, code: i32, address: u64) {
        let name = signal.name().unwrap_or("signal");
        let line =
            format!("[{}] --- {name} si_code={code} si_addr={address:#x} ---\n", thread.tid().0);
        let _ = self.output.borrow_mut().write_all(line.as_bytes());
    }

    /// Writes the line of a signal that a handler gets.
    pub fn delivery(&self, thread: &Thread, signal: Signal) {
        let name = signal.name().unwrap_or("real-time signal");
        let line = format!("[{}] --- {name} handled ---\n", thread.tid().0);
        let _ = self.output.borrow_mut().write_all(line.as_bytes());
    }

    /// Writes the line of a call that has an answer.
    pub fn call(&self, seat: &Seat, result: &WaitResult<u64>) {
        let (number, args) = seat.request.get();
        let Some(thread) = seat.thread.borrow().clone() else { return };
        let call = kernel_syscalls::find(u64::from(number));
        let name = call.map_or_else(|| format!("syscall_{number}"), |call| call.name.to_owned());
        let arguments = call.map_or(&[][..], |call| call.arguments);
        let shown: Vec<String> = if arguments.is_empty() {
            args.iter().map(|value| format!("{value:#x}")).collect()
        } else {
            arguments
                .iter()
                .zip(args)
                .map(|(argument, value)| show(&thread, *argument, value, &args))
                .collect()
        };
        let line = format!(
            "[{}] {name}({}) = {}\n",
            thread.tid().0,
            shown.join(", "),
            outcome(result, call.map(|call| call.name))
        );
        // A trace that cannot be written must not disturb the guest.
        let _ = self.output.borrow_mut().write_all(line.as_bytes());
    }
}

fn outcome(result: &WaitResult<u64>, name: Option<&str>) -> String {
    match result {
        Ok(value) if matches!(name, Some("mmap" | "brk" | "mremap" | "shmat")) => {
            format!("{value:#x}")
        }
        Ok(value) => value.cast_signed().to_string(),
        Err(Interrupted::Errno(errno)) => format!("-1 {} ({})", errno.name(), errno.meaning()),
        Err(Interrupted::Signal(how)) => String::from(match how {
            Restart::IfAsked => "? ERESTARTSYS",
            Restart::Always => "? ERESTARTNOINTR",
            Restart::IfNoHandler => "? ERESTARTNOHAND",
            Restart::Continuation => "? ERESTART_RESTARTBLOCK",
        }),
    }
}

fn show(thread: &Thread, argument: Argument, value: u64, args: &[u64; 6]) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "as the call itself reads it")]
    let low = value as u32;
    match argument.kind {
        Kind::Int | Kind::Signal => low.cast_signed().to_string(),
        Kind::Fd => low.cast_signed().to_string(),
        Kind::DirFd if low.cast_signed() == -100 => String::from("AT_FDCWD"),
        Kind::DirFd => low.cast_signed().to_string(),
        Kind::Size => value.to_string(),
        Kind::Hex => format!("{value:#x}"),
        Kind::Mode => format!("{value:#o}"),
        _ if value == 0 => String::from("NULL"),
        Kind::Path => UserPtr::<CString>::new(value)
            .read_path(&thread.memory())
            .map_or_else(|_| format!("{value:#x}"), |path| quote(&path)),
        Kind::InBy(length) => {
            let n = args.get(usize::from(length)).copied().unwrap_or(0);
            let n = usize::try_from(n).unwrap_or(usize::MAX).min(MAX_SHOWN + 1);
            UserPtr::<u8>::new(value)
                .read_many(&thread.memory(), n)
                .map_or_else(|_| format!("{value:#x}"), |bytes| quote(&bytes))
        }
        _ => format!("{value:#x}"),
    }
}

fn quote(bytes: &[u8]) -> String {
    let shown = bytes.get(..MAX_SHOWN).unwrap_or(bytes);
    let dots = if shown.len() < bytes.len() { "..." } else { "" };
    format!("\"{}\"{dots}", shown.escape_ascii())
}
