//! What went wrong, in words for the user.

use std::process::ExitCode;

use sandbox::{StartError, WaitError};

/// A failure of ours, never of the guest's.
#[derive(Debug)]
pub struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    /// The exit code for a sandbox that could not start or broke.
    pub const CANNOT_START: u8 = 125;

    /// A failure with the general exit code 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code: 1 }
    }

    /// Adds what the user could do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the exit code.
    pub fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The exit code it leads to.
    pub fn exit_code(&self) -> u8 {
        self.code
    }

    /// Prints it and returns the exit code.
    pub fn report(self) -> ExitCode {
        eprintln!("error: {}", self.message);
        if let Some(hint) = self.hint {
            eprintln!("hint: {hint}");
        }
        self.code.into()
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let failure = Self::new(error.to_string()).code(error.exit_code());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<WaitError> for Failure {
    fn from(error: WaitError) -> Self {
        Self::new(error.to_string()).code(Self::CANNOT_START)
    }
}
