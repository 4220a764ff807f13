use super::*;
use crate::inode::{Allocate, Extent, WriteAt};
use crate::open_file::MapRequest;
use kernel_core::io::{SliceSource, VecSink};
use linux_abi::Errno;

fn regular() -> NewInode<'static> {
    NewInode { kind: NewKind::Regular, mode: 0o644, uid: 1, gid: 1 }
}

fn small(pages: u64) -> Rc<Tmpfs> {
    Tmpfs::new(Limits { max_bytes: Some(pages * PAGE), max_inodes: Some(4) }, 0o755, 0, 0)
}

fn file(fs: &Tmpfs) -> Rc<dyn Inode> {
    fs.root().directory().unwrap().create(b"file", &regular()).unwrap()
}

fn put(inode: &Rc<dyn Inode>, bytes: &[u8], offset: u64) -> SysResult<(usize, u64)> {
    inode.content().unwrap().write(&mut SliceSource::new(bytes), WriteAt::Offset(offset))
}

fn get(inode: &Rc<dyn Inode>, offset: u64, length: usize) -> Vec<u8> {
    let mut sink = VecSink::new(length);
    inode.content().unwrap().read(&mut sink, offset).unwrap();
    sink.bytes
}

#[test]
fn bytes_come_back_over_the_border_of_two_pieces() {
    let fs = small(100);
    let inode = file(&fs);
    let bytes: Vec<u8> = (0..70_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    assert_eq!(put(&inode, &bytes, 5).unwrap(), (70_000, 70_005));
    assert_eq!(get(&inode, 5, 100_000), bytes);
    assert_eq!(get(&inode, 0, 5), [0; 5]);
}

#[test]
fn holes_take_no_space_and_are_found() {
    let fs = small(4);
    let inode = file(&fs);
    put(&inode, b"end", 1 << 30).unwrap();
    let content = inode.content().unwrap();
    assert_eq!(inode.metadata().unwrap().n_blocks, 8);
    assert_eq!(content.seek_extent(Extent::Data, 0), Ok(1 << 30));
    assert_eq!(content.seek_extent(Extent::Hole, 0), Ok(0));
    assert_eq!(content.seek_extent(Extent::Hole, 1 << 30), Ok((1 << 30) + 3));
    content.allocate(Allocate::PunchHole, 0, 1 << 31).unwrap();
    assert_eq!(content.seek_extent(Extent::Data, 0), Err(Errno::ENXIO));
}

#[test]
fn a_full_file_system_takes_what_fits() {
    let fs = small(16);
    let inode = file(&fs);
    assert_eq!(put(&inode, &vec![1; 200_000], 0).unwrap().0, 65_536);
    assert_eq!(put(&inode, b"x", 100_000), Err(Errno::ENOSPC));
    inode.content().unwrap().truncate(10).unwrap();
    assert_eq!(put(&inode, b"x", 100_000).unwrap().0, 1);
}

#[test]
fn a_removed_file_gives_its_space_back() {
    let fs = small(16);
    let inode = file(&fs);
    put(&inode, &[1; 9000], 0).unwrap();
    assert_eq!(fs.space().free_pages(), 13);
    fs.root().directory().unwrap().unlink(b"file").unwrap();
    assert_eq!(inode.metadata().unwrap().n_links, 0);
    drop(inode);
    assert_eq!(fs.space().free_pages(), 16);
    assert_eq!(fs.space().inodes(), (4, 3));
}

#[test]
fn a_shortened_file_reads_zeroes_when_it_grows_again() {
    let fs = small(16);
    let inode = file(&fs);
    put(&inode, &[7; 5000], 0).unwrap();
    let content = inode.content().unwrap();
    content.truncate(3).unwrap();
    content.truncate(6).unwrap();
    assert_eq!(get(&inode, 0, 10), [7, 7, 7, 0, 0, 0]);
}

#[test]
fn a_mapped_file_keeps_its_bytes_and_its_accounting() {
    let fs = small(16);
    let inode = file(&fs);
    put(&inode, b"hello", 4094).unwrap();
    let content = inode.content().unwrap();
    let request = MapRequest { shared: true, writable: true, offset: 0, length: 4096 };
    let mapped = content.map(request).unwrap();
    assert_eq!(get(&inode, 4094, 10), b"hello");
    put(&inode, b"again", 8192).unwrap();
    assert_eq!(fs.space().free_pages(), 13);
    let read_only = content.map(MapRequest { writable: false, ..request }).unwrap();
    assert_ne!(mapped.id, read_only.id);
    assert!(host_sys::rustix::io::pwrite(&*read_only.host, b"x", 0).is_err());
}

#[test]
fn listing_goes_on_after_removals() {
    let fs = Tmpfs::new(Limits::default(), 0o755, 0, 0);
    let root = fs.root();
    let directory = root.directory().unwrap();
    for name in [&b"a"[..], b"b", b"c", b"d"] {
        directory.create(name, &regular()).unwrap();
    }
    let mut seen = Vec::new();
    let mut position = 0;
    directory
        .list(0, &mut |entry| {
            seen.push(entry.name.to_vec());
            position = entry.next;
            seen.len() < 2
        })
        .unwrap();
    directory.unlink(b"a").unwrap();
    directory.unlink(b"c").unwrap();
    directory
        .list(position, &mut |entry| {
            seen.push(entry.name.to_vec());
            true
        })
        .unwrap();
    assert_eq!(seen, [b"a".to_vec(), b"b".to_vec(), b"d".to_vec()]);
}

#[test]
fn a_very_deep_tree_is_freed() {
    let fs = Tmpfs::new(Limits::default(), 0o755, 0, 0);
    let new = NewInode { kind: NewKind::Directory, mode: 0o755, uid: 0, gid: 0 };
    let mut at = fs.root();
    for _ in 0..100_000 {
        let next = at.directory().unwrap().create(b"d", &new).unwrap();
        at = next;
    }
    drop(at);
    drop(fs);
}

#[test]
fn all_file_systems_together_have_a_limit() {
    use super::space::total;
    let (one, other) = (small(10), small(10));
    total::set_limit(total::bytes() + 12 * PAGE);
    one.space().take_pages(8).unwrap();
    assert_eq!(other.space().take_pages(5), Err(Errno::ENOSPC));
    other.space().take_pages(4).unwrap();
    assert_eq!(one.space().free_pages(), 0);
    one.space().give_pages(8);
    assert_eq!(other.space().free_pages(), 6);
    total::set_limit(u64::MAX);
}
