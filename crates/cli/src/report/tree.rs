//! Processes in the order of a tree.

use std::collections::HashMap;

use sandbox_spec::{ProcessEnd, ProcessRecord};

use super::words;
use crate::signal_names;

/// A process and its place in the tree.
pub struct Branch<'r> {
    /// The process.
    pub process: &'r ProcessRecord,
    /// How many ancestors it has.
    pub depth: usize,
    /// The lines that lead to it, such as `│  └─ `.
    pub lines: String,
    /// What it ran, in words.
    pub command: String,
}

/// How deep lines are drawn; what is deeper is drawn at this depth.
const MAX_DEPTH: usize = 40;

/// The processes, parents before their children. Whose parent is not among them is at the top.
pub fn tree(processes: &[ProcessRecord]) -> Vec<Branch<'_>> {
    let mut index_of: HashMap<u32, usize> = HashMap::new();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); processes.len()];
    let mut tops = Vec::new();
    for (index, process) in processes.iter().enumerate() {
        // An id may be used again: the parent is the latest process that had it.
        match index_of.get(&process.parent).and_then(|parent| children.get_mut(*parent)) {
            Some(siblings) => siblings.push(index),
            None => tops.push(index),
        }
        index_of.insert(process.pid, index);
    }
    let mut branches: Vec<Branch<'_>> = Vec::new();
    // What is still to be drawn: the process, its parent's branch, the lines before it, whether it
    // is the last of its siblings.
    let mut pending: Vec<(usize, Option<usize>, String, bool)> =
        tops.into_iter().rev().map(|top| (top, None, String::new(), true)).collect();
    while let Some((index, parent, before, is_last)) = pending.pop() {
        let Some(process) = processes.get(index) else { continue };
        let depth = parent.and_then(|at| branches.get(at)).map_or(0, |parent| parent.depth + 1);
        let is_drawn = depth > 0 && depth < MAX_DEPTH;
        let corner = if is_last { "└─ " } else { "├─ " };
        let lines = if is_drawn { format!("{before}{corner}") } else { before.clone() };
        let command = command(process);
        let rail = if is_last { "   " } else { "│  " };
        let beneath = if is_drawn { format!("{before}{rail}") } else { before };
        let at = branches.len();
        branches.push(Branch { process, depth, lines, command });
        let known = children.get(index).map(Vec::as_slice).unwrap_or_default();
        for (n, child) in known.iter().enumerate().rev() {
            pending.push((*child, Some(at), beneath.clone(), n + 1 == known.len()));
        }
    }
    branches
}

/// What a process ran last; what it ran before is named in front.
fn command(process: &ProcessRecord) -> String {
    let commands = process.commands.iter().map(|command| {
        let dots = if command.is_cut { " ..." } else { "" };
        format!("{}{dots}", words(&command.arguments))
    });
    let all: Vec<String> = commands.collect();
    let more = process.more_commands;
    match (all.is_empty(), more) {
        (true, _) => format!("(fork of {})", process.parent),
        (false, 0) => all.join(" → "),
        (false, _) => format!("{} → and {more} more", all.join(" → ")),
    }
}

/// How a process ended, in words, and whether that is good.
pub fn ending(process: &ProcessRecord) -> (String, bool) {
    match process.end {
        Some(ProcessEnd::Code(code)) => (format!("exit {code}"), code == 0),
        Some(ProcessEnd::Signal(signal)) => {
            let number = u8::try_from(signal).unwrap_or(u8::MAX);
            (signal_names::describe(number).to_lowercase(), false)
        }
        Some(ProcessEnd::WithSandbox) => ("ended with the sandbox".to_owned(), true),
        None => ("end not seen".to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox_spec::Command;

    fn process(pid: u32, parent: u32, argument: &str) -> ProcessRecord {
        let arguments = vec![argument.to_owned()];
        let command = Command { program: argument.to_owned(), arguments, is_cut: false };
        let commands = if argument.is_empty() { Vec::new() } else { vec![command] };
        ProcessRecord { pid, parent, commands, ..ProcessRecord::default() }
    }

    #[test]
    fn children_come_after_their_parent() {
        let processes =
            [process(2, 1, "sh"), process(3, 2, "a"), process(4, 2, "b"), process(5, 3, "")];
        let lines: Vec<String> = tree(&processes)
            .iter()
            .map(|branch| format!("{}{} {}", branch.lines, branch.process.pid, branch.command))
            .collect();
        assert_eq!(lines, ["2 sh", "├─ 3 a", "│  └─ 5 (fork of 3)", "└─ 4 b"]);
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let processes = [process(2, 1, "sh"), process(3, 2, "a"), process(3, 2, "b")];
        assert_eq!(tree(&processes).len(), 3);
    }
}
