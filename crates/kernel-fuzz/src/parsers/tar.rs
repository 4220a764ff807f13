//! Tar archives as the root of a sandbox.

use std::rc::Rc;

use kernel_core::io::VecSink;
use kernel_files::tarfs::TarFs;
use kernel_files::{FileSystem, Inode};

use super::scratch;

/// So many files of an archive are looked at.
const MAX_FILES: usize = 500;
/// So much of each is read.
const MAX_READ: usize = 8192;

/// Reads an archive and everything in it.
pub fn archive(bytes: &[u8]) {
    let path = scratch::with(|scratch| scratch.path("archive.tar"));
    let Some(path) = path.filter(|path| std::fs::write(path, bytes).is_ok()) else { return };
    let Ok(archive) = TarFs::open(&path) else { return };
    let _ = archive.usage();
    let mut pending = vec![archive.root()];
    for _ in 0..MAX_FILES {
        let Some(inode) = pending.pop() else { break };
        look_at(&inode);
        pending.extend(children(&inode));
    }
}

fn look_at(inode: &Rc<dyn Inode>) {
    let _ = inode.metadata();
    let _ = inode.read_link();
    if let Some(xattrs) = inode.xattrs() {
        for name in xattrs.list().unwrap_or_default() {
            let _ = xattrs.get(&name);
        }
    }
    if let Some(content) = inode.content() {
        let size = content.size().unwrap_or(0);
        for offset in [0, 1, size / 2, size.saturating_sub(1), size, u64::MAX] {
            let mut sink = VecSink::new(MAX_READ);
            let _ = content.read(&mut sink, offset);
        }
    }
}

fn children(inode: &Rc<dyn Inode>) -> Vec<Rc<dyn Inode>> {
    let Some(directory) = inode.directory() else { return Vec::new() };
    let mut names = Vec::new();
    let listed = directory.list(0, &mut |entry| {
        names.push(entry.name.to_vec());
        names.len() < MAX_FILES
    });
    if listed.is_err() {
        return Vec::new();
    }
    let is_child = |name: &Vec<u8>| name != b"." && name != b"..";
    names
        .iter()
        .filter(|name| is_child(name))
        .filter_map(|name| directory.lookup(name).ok())
        .collect()
}
