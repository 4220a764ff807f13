//! What can go wrong around a sandbox. What goes wrong inside is the guest's business.

use std::path::PathBuf;

use linux_abi::Errno;
use sandbox_spec::{ContainmentLayer, printable_path};

/// Why the program could not be executed. The exit codes and the words are those of a shell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A name without a slash that is not in the guest's `PATH`.
    #[error("{}: command not found", printable_path(.0))]
    CommandNotFound(PathBuf),
    /// A path that does not exist.
    #[error("{}: No such file or directory", printable_path(.0))]
    NotFound(PathBuf),
    /// The program is there, the interpreter that it names is not.
    #[error("{}: {}: bad interpreter: No such file or directory", printable_path(.program), printable_path(.interpreter))]
    InterpreterNotFound {
        /// The program.
        program: PathBuf,
        /// What its `#!` line or its ELF header names.
        interpreter: PathBuf,
    },
    /// A directory.
    #[error("{}: Is a directory", printable_path(.0))]
    IsDirectory(PathBuf),
    /// No permission to execute.
    #[error("{}: Permission denied", printable_path(.0))]
    PermissionDenied(PathBuf),
    /// Neither a script nor a program for this machine.
    #[error("{}: cannot execute binary file: Exec format error", printable_path(.0))]
    WrongFormat(PathBuf),
    /// The policy does not name it among the programs that may run.
    #[error("{}: the policy does not let this program run", printable_path(.0))]
    DeniedByPolicy(PathBuf),
    /// Anything else that `execve` answers.
    #[error("{}: cannot execute: {}", printable_path(.program), .errno.name())]
    Other {
        /// The program.
        program: PathBuf,
        /// What `execve` answered.
        errno: Errno,
    },
}

impl ProgramError {
    /// 127 for what was not found, 126 for what was found and cannot be executed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::CommandNotFound(_) | Self::NotFound(_) => 127,
            _ => 126,
        }
    }

    /// The error for what `execve` answered.
    pub fn from_errno(program: PathBuf, errno: Errno) -> Self {
        match errno {
            Errno::ENOENT => Self::NotFound(program),
            Errno::EACCES => Self::PermissionDenied(program),
            Errno::ENOEXEC => Self::WrongFormat(program),
            Errno::EISDIR => Self::IsDirectory(program),
            errno => Self::Other { program, errno },
        }
    }
}

/// Why a sandbox could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program cannot be executed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// There is nothing to run.
    #[error("no program was given")]
    NoProgram,
    /// The host is not one that this backend can run on.
    #[error("the {backend} backend does not run here: {reason}")]
    HostUnsuitable {
        /// The backend.
        backend: &'static str,
        /// What is missing.
        reason: String,
    },
    /// This is the inside of a sandbox.
    #[error("this runs in a sandbox of Belljar already, and there are none inside of one")]
    Nested,
    /// A layer that the specification requires cannot be had.
    #[error("the containment layer {layer} is required and cannot be had: {reason}")]
    LayerUnavailable {
        /// The layer.
        layer: ContainmentLayer,
        /// What is in its way.
        reason: String,
    },
    /// Part of the specification is beyond this backend.
    #[error("the {backend} backend does not support {feature}")]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// What was asked for.
        feature: &'static str,
    },
    /// A host path of the specification cannot be used.
    #[error("cannot {purpose} {}: {cause}", printable_path(.path))]
    Path {
        /// What was to be done with it: `mount`, `use as root`, `write the trace to`.
        purpose: &'static str,
        /// The path.
        path: PathBuf,
        /// What the host said.
        cause: std::io::Error,
    },
    /// A port of the host cannot be listened on.
    #[error("cannot publish port {port}: {cause}")]
    Publish {
        /// The port.
        port: u16,
        /// What the host said.
        cause: std::io::Error,
    },
    /// The working folder is not there.
    #[error("the working folder {} does not exist in the sandbox", printable_path(.0))]
    WorkingDirectory(PathBuf),
    /// A step on the way failed.
    #[error("cannot {step}: {cause}")]
    Host {
        /// What was tried.
        step: &'static str,
        /// What the host said.
        cause: std::io::Error,
    },
    /// The kernel process ended before the guest's program ran.
    #[error("the sandbox's kernel process ended while starting: {0}")]
    KernelDied(String),
}

impl StartError {
    /// The exit code of `belljar run`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Program(error) => error.exit_code(),
            _ => 125,
        }
    }

    /// What the user could do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::HostUnsuitable { .. } | Self::LayerUnavailable { .. } => {
                Some("`belljar doctor` shows what this host offers")
            }
            Self::Nested => Some("run the program itself: the sandbox around it holds it, too"),
            Self::WorkingDirectory(_) => {
                Some("mount the folder you want to work in, e.g. --mount .:/work:rw --cwd /work")
            }
            Self::Program(ProgramError::DeniedByPolicy(_)) => {
                Some("name this path under `programs:` in the policy to let it run")
            }
            Self::Path { purpose: "mount", cause, .. }
                if cause.kind() == std::io::ErrorKind::NotFound =>
            {
                Some("make it first: a mount shows what is there")
            }
            Self::Path { .. } => Some("see that it is there, and that you may use it so"),
            Self::NoProgram => Some("write it after two dashes: belljar run -- PROGRAM ARGS"),
            _ => None,
        }
    }
}

/// Why the end of a sandbox is not known.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// The kernel process ended before the guest did. Every guest process ended with it.
    #[error("the sandbox's kernel process died ({0}); everything inside was ended with it")]
    KernelDied(String),
    /// The process from which programs start was killed from outside.
    #[error(
        "the sandbox's zygote was killed, and no program can start without it; everything inside was ended"
    )]
    ZygoteDied,
    /// Code inside made processes in a way that only an attack on the sandbox takes.
    #[error(
        "a program inside attacked the sandbox: it made processes that hide from the limits; everything inside was ended"
    )]
    ProcessesHidden,
    /// A step on the way failed.
    #[error("cannot {step}: {cause}")]
    Host {
        /// What was tried.
        step: &'static str,
        /// What the host said.
        cause: std::io::Error,
    },
}

/// Why a running sandbox did not get a message.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The host refused.
    #[error("cannot reach the sandbox: {0}")]
    Host(#[from] std::io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_127_and_an_unusable_one_126() {
        let error = |errno| ProgramError::from_errno("x".into(), errno);
        assert_eq!(error(Errno::ENOENT).exit_code(), 127);
        assert_eq!(error(Errno::EACCES).exit_code(), 126);
        assert_eq!(error(Errno::EACCES).to_string(), "x: Permission denied");
        assert_eq!(error(Errno::ELOOP).to_string(), "x: cannot execute: ELOOP");
    }
}
