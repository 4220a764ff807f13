//! What is wrong with the arguments, in the words of every other failure: `error:` and `hint:`.

use std::error::Error as _;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use sandbox_spec::{MountError, SizeError, printable};

use crate::failure::Failure;

/// Prints help, or what was wrong with the arguments. Wrong arguments of what starts a sandbox are
/// a sandbox that could not start; elsewhere they are the usual 2.
pub fn tell(error: &Error, command: &Command) -> ExitCode {
    let help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let words: Vec<OsString> = std::env::args_os().skip(1).take(2).collect();
    let code = exit_code(&words);
    if help {
        // Nothing can be done about an output that is closed.
        let _ = error.print();
        return if error.use_stderr() { code.into() } else { ExitCode::SUCCESS };
    }
    let hint = hint(error).unwrap_or_else(|| of_command(error, command, &words));
    Failure::new(printable(&message(error))).hint(printable(&hint)).code(code).report()
}

/// Where to read on: the help of the innermost command that was named rightly, or its commands if
/// the next word is none of them.
fn of_command(error: &Error, command: &Command, words: &[OsString]) -> String {
    let (mut command, mut path) = (command, vec![command.get_name()]);
    for word in words {
        let Some(next) = command.find_subcommand(word) else { break };
        command = next;
        path.push(next.get_name());
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let names: Vec<&str> = shown.map(Command::get_name).collect();
        return format!("the commands are {}", names.join(", "));
    }
    format!("`{} --help` shows what can be said", path.join(" "))
}

fn exit_code(words: &[OsString]) -> u8 {
    let starts_a_sandbox = match words {
        [skill, command] if skill == "skill" => command == "run",
        [command, ..] => command == "run" || command == "shell",
        [] => false,
    };
    if starts_a_sandbox { Failure::CANNOT_START } else { 2 }
}

/// What is wrong, on one line.
fn message(error: &Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let first = text.split("\n\n").next().unwrap_or_default();
    let lines: Vec<&str> = first.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match error.kind() {
        ErrorKind::UnknownArgument => {
            format!(
                "there is no option or argument `{}` here",
                named(error, ContextKind::InvalidArg)
            )
        }
        ErrorKind::InvalidSubcommand => {
            format!("there is no command `{}`", named(error, ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = named(error, ContextKind::InvalidArg).replace(['<', '>'], "");
            format!("{} is missing", missing.trim_end_matches("..."))
        }
        _ => lines.join(" "),
    }
}

/// What could have been meant.
fn hint(error: &Error) -> Option<String> {
    let of_value = error.source().and_then(|source| {
        let of_mount = source.downcast_ref::<MountError>().and_then(MountError::hint);
        of_mount.or_else(|| source.downcast_ref::<SizeError>().and_then(SizeError::hint))
    });
    let suggested =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let meant = suggested.into_iter().find_map(|kind| {
        let names = named(error, kind);
        (!names.is_empty()).then(|| format!("did you mean {names}?"))
    });
    let of_program = || {
        let is_option = error.kind() == ErrorKind::UnknownArgument;
        let name = named(error, ContextKind::InvalidArg);
        let takes_program =
            matches!(std::env::args_os().nth(1)?.to_str()?, "run" | "diff" | "conform");
        (is_option && takes_program && name.starts_with('-')).then(|| {
            "options of Belljar come before `--`, the program and its own options behind it"
                .to_owned()
        })
    };
    of_value.or(meant).or_else(of_program)
}

/// The names that the parser gives as context.
fn named(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(name)) => name.clone(),
        Some(ContextValue::Strings(names)) => names.join(" or "),
        _ => String::new(),
    }
}
