//! What was typed and not read.

use std::collections::VecDeque;

use kernel_core::io::Sink;
use linux_abi::SysResult;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The last byte of a line.
    EndsLine,
    /// Ends a line without being part of it. Its byte is zero.
    EndOfFile,
}

#[derive(Clone, Copy, Debug)]
struct Typed {
    byte: u8,
    kind: Kind,
}

/// Complete lines, oldest first, and after them the line that is being edited.
#[derive(Debug, Default)]
pub(super) struct InputQueue {
    typed: VecDeque<Typed>,
    /// How many of them belong to complete lines.
    n_complete: usize,
}

impl InputQueue {
    pub(super) fn len(&self) -> usize {
        self.typed.len()
    }

    pub(super) fn n_complete(&self) -> usize {
        self.n_complete
    }

    /// The bytes of complete lines that a reader will see.
    pub(super) fn n_complete_bytes(&self) -> usize {
        self.typed
            .iter()
            .take(self.n_complete)
            .filter(|typed| typed.kind != Kind::EndOfFile)
            .count()
    }

    /// Adds to the line that is being edited.
    pub(super) fn push(&mut self, byte: u8) {
        self.typed.push_back(Typed { byte, kind: Kind::Plain });
    }

    /// Ends the line that is being edited with this byte.
    pub(super) fn end_line(&mut self, byte: u8) {
        self.typed.push_back(Typed { byte, kind: Kind::EndsLine });
        self.n_complete = self.typed.len();
    }

    /// Ends the line that is being edited without a byte; an empty line is an end of file.
    pub(super) fn end_file(&mut self) {
        self.typed.push_back(Typed { byte: 0, kind: Kind::EndOfFile });
        self.n_complete = self.typed.len();
    }

    /// The line that is being edited.
    pub(super) fn line(&self) -> impl DoubleEndedIterator<Item = u8> + '_ {
        self.typed.range(self.n_complete.min(self.typed.len())..).map(|typed| typed.byte)
    }

    pub(super) fn is_line_empty(&self) -> bool {
        self.typed.len() == self.n_complete
    }

    /// Takes the last byte of the line that is being edited.
    pub(super) fn pop(&mut self) -> Option<u8> {
        if self.is_line_empty() { None } else { self.typed.pop_back().map(|typed| typed.byte) }
    }

    /// Drops the line that is being edited.
    pub(super) fn clear_line(&mut self) {
        self.typed.truncate(self.n_complete);
    }

    pub(super) fn clear(&mut self) {
        self.typed.clear();
        self.n_complete = 0;
    }

    /// Forgets where lines end. What is there counts as one line if there shall be lines.
    pub(super) fn change_mode(&mut self, to_lines: bool) {
        for typed in &mut self.typed {
            typed.kind = Kind::Plain;
        }
        self.n_complete = 0;
        if to_lines && let Some(last) = self.typed.back_mut() {
            // A zero there is taken for an end of file, as by Linux.
            last.kind = if last.byte == 0 { Kind::EndOfFile } else { Kind::EndsLine };
            self.n_complete = self.typed.len();
        }
    }

    /// Hands over one line, or the part of it that is wanted.
    pub(super) fn take_line(&mut self, sink: &mut dyn Sink) -> SysResult<usize> {
        let wanted = sink.remaining();
        let mut bytes = Vec::new();
        let mut ends_file = false;
        for typed in self.typed.iter().take(self.n_complete) {
            // Looked at before the count, so that an end of file right behind the last byte that
            // is wanted goes with it and the next read is not told of it.
            if typed.kind == Kind::EndOfFile {
                ends_file = true;
                break;
            }
            if bytes.len() >= wanted {
                break;
            }
            bytes.push(typed.byte);
            if typed.kind == Kind::EndsLine {
                break;
            }
        }
        let n = if bytes.is_empty() { 0 } else { sink.put(&bytes)? };
        self.drop_front(n + usize::from(ends_file && n == bytes.len()));
        Ok(n)
    }

    /// Hands over as much as is wanted.
    pub(super) fn take_bytes(&mut self, sink: &mut dyn Sink) -> SysResult<usize> {
        let bytes: Vec<u8> =
            self.typed.iter().take(sink.remaining()).map(|typed| typed.byte).collect();
        let n = if bytes.is_empty() { 0 } else { sink.put(&bytes)? };
        self.drop_front(n);
        Ok(n)
    }

    fn drop_front(&mut self, n: usize) {
        self.typed.drain(..n.min(self.typed.len()));
        self.n_complete = self.n_complete.saturating_sub(n);
    }
}
