//! `maps`, `smaps` and `smaps_rollup`: the host's, as the guest would see them.
//!
//! The shim's own ranges are left out, and files have the paths by which the guest knows them.

use std::ops::Range;

use kernel_files::metadata::DeviceNumber;
use kernel_tasks::mapped_paths::{GuestFile, HostFileNumber};
use kernel_tasks::{HostFile, Process};
use linux_abi::SysResult;

use super::Context;

/// `AT_RANDOM`: an address that is on the stack.
const AT_RANDOM: u64 = 25;

pub(super) fn maps(context: &Context) -> SysResult<Vec<u8>> {
    translate(context, HostFile::Maps)
}

pub(super) fn smaps(context: &Context) -> SysResult<Vec<u8>> {
    translate(context, HostFile::Smaps)
}

/// The host's sums, which count the shim too.
pub(super) fn smaps_rollup(context: &Context) -> SysResult<Vec<u8>> {
    context.subject.process()?;
    Ok(context.subject.host_text(HostFile::SmapsRollup).into_bytes())
}

fn translate(context: &Context, file: HostFile) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    let Ok(thread) = context.subject.thread() else { return Ok(Vec::new()) };
    let text = context.subject.host_text(file);
    let paths = &process.kernel().mapped_paths;
    let root = thread.fs().root();
    let view = View {
        hidden: thread.machine().hidden_ranges(),
        find: &|file| paths.find(file, &root),
        on_stack: on_stack(&process),
        heap: heap(&text, process.program().heap_start),
    };
    Ok(view.translate(&text).into_bytes())
}

/// An address on the stack of the first thread.
fn on_stack(process: &Process) -> Option<u64> {
    let program = process.program();
    let mut words = program
        .auxiliary_vector
        .chunks_exact(8)
        .filter_map(|word| word.try_into().ok().map(u64::from_ne_bytes));
    while let (Some(kind), Some(value)) = (words.next(), words.next()) {
        if kind == AT_RANDOM {
            return Some(value);
        }
    }
    None
}

/// The heap, which only the shim knows the end of: the memory without gaps from its start on.
fn heap(text: &str, start: u64) -> Range<u64> {
    let mut heap = start..start;
    for mapping in text.lines().filter_map(Mapping::parse) {
        let range = &mapping.range;
        if mapping.is_nameless() && (range.contains(&heap.end) || range.contains(&heap.start)) {
            heap.end = range.end;
        }
    }
    heap
}

/// How the guest sees its mappings.
struct View<'a> {
    hidden: Vec<Range<u64>>,
    find: &'a dyn Fn(HostFileNumber) -> Option<GuestFile>,
    on_stack: Option<u64>,
    heap: Range<u64>,
}

impl View<'_> {
    fn translate(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut is_hidden = false;
        for line in join_pieces(text) {
            let line = line.as_str();
            match Mapping::parse(line) {
                Some(mapping) => {
                    is_hidden = self.hides(&mapping);
                    if !is_hidden {
                        shown.push_str(&self.show(&mapping));
                        shown.push('\n');
                    }
                }
                // A detail of `smaps`, which belongs to the mapping above it.
                None if !is_hidden => {
                    shown.push_str(line);
                    shown.push('\n');
                }
                None => {}
            }
        }
        shown
    }

    /// Whether a mapping is the shim's: in its own ranges, or the stack that the host gave it.
    fn hides(&self, mapping: &Mapping<'_>) -> bool {
        let range = &mapping.range;
        mapping.name == "[stack]" && !self.is_stack(mapping)
            || self.hidden.iter().any(|hidden| hidden.start < range.end && range.start < hidden.end)
    }

    fn is_stack(&self, mapping: &Mapping<'_>) -> bool {
        self.on_stack.is_some_and(|address| mapping.range.contains(&address))
    }

    fn show(&self, mapping: &Mapping<'_>) -> String {
        let known = if mapping.file.2 == 0 { None } else { (self.find)(mapping.file) };
        let (head, name) = match known {
            Some(GuestFile { path, number }) => {
                (mapping.head_of(number), String::from_utf8_lossy(&path).replace('\n', "\\012"))
            }
            None => (mapping.head.to_owned(), self.name(mapping)),
        };
        if name.is_empty() {
            return head + " ";
        }
        // Linux puts the name into the 74th column.
        format!("{head:<72} {name}")
    }

    /// The name of what is no file that the guest has mapped.
    fn name(&self, mapping: &Mapping<'_>) -> String {
        if self.is_stack(mapping) {
            return String::from("[stack]");
        }
        let range = &mapping.range;
        if mapping.is_nameless() && range.start < self.heap.end && self.heap.start < range.end {
            return String::from("[heap]");
        }
        match mapping.name {
            // What the host calls so is not the guest's.
            "[stack]" | "[heap]" => String::new(),
            // Shared memory without a name (`HostMemory::map_nameless`), as Linux shows it.
            "/memfd:zero (deleted)" => String::from("/dev/zero (deleted)"),
            name if !name.starts_with('/') || name.starts_with("/memfd:") => name.to_owned(),
            // The host's folders are nobody's business; the name of the file is kept.
            name => name.rfind('/').and_then(|at| name.get(at..)).unwrap_or(name).to_owned(),
        }
    }
}

/// The lines of `maps` or `smaps`, with those mappings joined that follow each other in memory and
/// in their file: the shim rewrites call sites page by page, which leaves the host with pieces.
/// With details between them, as in `smaps`, pieces stay.
fn join_pieces(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let joined = lines.last().and_then(|last| {
            let (last, next) = (Mapping::parse(last)?, Mapping::parse(line)?);
            last.is_followed_by(&next).then(|| last.joined_with(&next))
        });
        match (joined, lines.last_mut()) {
            (Some(joined), Some(last)) => *last = joined,
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// The head line of a mapping.
struct Mapping<'a> {
    range: Range<u64>,
    permissions: &'a str,
    offset: u64,
    /// Everything up to the inode number.
    head: &'a str,
    file: HostFileNumber,
    name: &'a str,
}

impl<'a> Mapping<'a> {
    /// `55d0a000-55d0b000 r--p 00000000 fe:01 1234   /usr/bin/cat`; `None` for other lines.
    fn parse(line: &'a str) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let trimmed = rest.trim_start();
            let end = trimmed.find(' ').unwrap_or(trimmed.len());
            let (word, after) = trimmed.split_at(end);
            rest = after;
            word
        };
        let (start, end) = word().split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let range = hex(start)?..hex(end)?;
        let permissions = word();
        let offset = hex(word())?;
        let (major, minor) = word().split_once(':')?;
        let number = |text| u32::from_str_radix(text, 16).ok();
        let file = (number(major)?, number(minor)?, word().parse().ok()?);
        let head = line.get(..line.len() - rest.len())?;
        Some(Self { range, permissions, offset, head, file, name: rest.trim() })
    }

    /// Whether this is memory of no file, with no name but perhaps the host's idea of its heap.
    fn is_nameless(&self) -> bool {
        self.file.2 == 0 && matches!(self.name, "" | "[heap]")
    }

    /// Everything up to the inode number, with the guest's numbers of the file.
    fn head_of(&self, (device, inode): (DeviceNumber, u64)) -> String {
        let Range { start, end } = self.range;
        let (permissions, offset) = (self.permissions, self.offset);
        let DeviceNumber { major, minor } = device;
        format!("{start:08x}-{end:08x} {permissions} {offset:08x} {major:02x}:{minor:02x} {inode}")
    }

    /// Whether `next` is the rest of the same piece of a file.
    fn is_followed_by(&self, next: &Mapping<'_>) -> bool {
        self.file.2 != 0
            && self.range.end == next.range.start
            && self.offset + (self.range.end - self.range.start) == next.offset
            && self.file == next.file
            && self.permissions == next.permissions
            && self.name == next.name
    }

    fn joined_with(&self, next: &Mapping<'_>) -> String {
        let rest = self.head.split_once(' ').map_or("", |(_, rest)| rest);
        let head = format!("{:08x}-{:08x} {rest}", self.range.start, next.range.end);
        format!("{head:<72} {}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
00400000-00401000 r--p 00000000 fe:01 42                                 /home/me/secret/prog
00500000-00600000 rw-p 00000000 00:00 0 
00600000-00700000 r-xp 00000000 00:01 7                                  /memfd:shim (deleted)
7ffc0000-7ffd0000 rw-p 00000000 00:00 0                                  [stack]
7fff0000-80000000 rw-p 00000000 00:00 0 
";

    fn view() -> View<'static> {
        let hidden = std::iter::once(0x60_0000..0x70_0000).collect();
        let heap = heap(TEXT, 0x50_0000);
        View { hidden, find: &|_| None, on_stack: Some(0x7fff_1000), heap }
    }

    #[test]
    fn hides_the_shim_and_the_folders_of_the_host() {
        let shown = view().translate(TEXT);
        assert!(!shown.contains("shim"));
        assert!(!shown.contains("secret"));
        let first = shown.lines().next().unwrap();
        assert_eq!(first.split_whitespace().last(), Some("/prog"));
        assert_eq!(first.find("/prog"), Some(73));
    }

    #[test]
    fn names_the_stack_of_the_guest() {
        let shown = view().translate(TEXT);
        let stack: Vec<&str> = shown.lines().filter(|line| line.ends_with("[stack]")).collect();
        assert_eq!(stack.len(), 1);
        assert!(stack[0].starts_with("7fff0000"));
    }

    #[test]
    fn names_the_heap() {
        let shown = view().translate(TEXT);
        let heap: Vec<&str> = shown.lines().filter(|line| line.ends_with("[heap]")).collect();
        assert_eq!(heap.len(), 1);
        assert!(heap[0].starts_with("00500000-00600000"));
    }

    #[test]
    fn shows_files_as_the_guest_knows_them() {
        let number = (DeviceNumber { major: 0, minor: 28 }, 5);
        let file = GuestFile { path: b"/tmp/x (deleted)".to_vec(), number };
        let view = View { find: &|_| Some(file.clone()), ..view() };
        let first = "00400000-00401000 r--p 00000000 00:1c 5 /tmp/x (deleted)";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(view.translate(TEXT).lines().next().unwrap()), words(first));
    }

    #[test]
    fn joins_the_pieces_of_a_file() {
        let text = "00400000-00401000 r-xp 00001000 fe:01 42 /lib/x\n\
                    00401000-00403000 r-xp 00002000 fe:01 42 /lib/x\n\
                    00403000-00404000 rwxp 00004000 fe:01 42 /lib/x\n";
        let shown = view().translate(text);
        let starts: Vec<&str> = shown.lines().map(|line| &line[..22]).collect();
        assert_eq!(starts, ["00400000-00403000 r-xp", "00403000-00404000 rwxp"]);
    }

    #[test]
    fn keeps_the_details_of_shown_mappings_only() {
        let text = "00600000-00700000 r-xp 00000000 00:01 7 x\nRss: 1 kB\n\
                    00800000-00900000 rw-p 00000000 00:00 0 \nRss: 2 kB\n";
        let shown = view().translate(text);
        assert!(!shown.contains("Rss: 1 kB"));
        assert!(shown.contains("Rss: 2 kB"));
    }
}
