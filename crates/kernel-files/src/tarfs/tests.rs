use super::*;
use kernel_core::io::VecSink;
use linux_abi::Errno;
use std::io::Write;

fn archive() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |name: &str, kind: tar::EntryType, text: &str, link: Option<&str>| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o640);
        header.set_uid(7);
        header.set_mtime(1000);
        header.set_size(text.len() as u64);
        if let Some(link) = link {
            header.set_link_name(link).unwrap();
        }
        builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    };
    add("dir/file", tar::EntryType::Regular, "hello", None);
    let long = format!("dir/{}", "n".repeat(180));
    add(&long, tar::EntryType::Regular, "long", None);
    add("dir/hard", tar::EntryType::Link, "", Some("dir/file"));
    add("soft", tar::EntryType::Symlink, "", Some("dir/file"));
    add("dir/.wh.gone", tar::EntryType::Regular, "", None);
    add("dir/.wh..wh..opq", tar::EntryType::Regular, "", None);
    builder.into_inner().unwrap()
}

fn open(bytes: &[u8]) -> Rc<dyn Inode> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    TarFs::open(file.path()).unwrap().root()
}

fn get(root: &Rc<dyn Inode>, path: &str) -> SysResult<Rc<dyn Inode>> {
    let mut at = Rc::clone(root);
    for name in path.split('/') {
        let next = at.directory().ok_or(Errno::ENOTDIR)?.lookup(name.as_bytes())?;
        at = next;
    }
    Ok(at)
}

fn text(inode: &Rc<dyn Inode>) -> Vec<u8> {
    let mut sink = VecSink::new(100);
    inode.content().unwrap().read(&mut sink, 0).unwrap();
    sink.bytes
}

fn check(root: &Rc<dyn Inode>) {
    let file = get(root, "dir/file").unwrap();
    assert_eq!(text(&file), b"hello");
    assert_eq!(text(&get(root, &format!("dir/{}", "n".repeat(180))).unwrap()), b"long");
    assert!(Rc::ptr_eq(&file, &get(root, "dir/hard").unwrap()));
    let metadata = file.metadata().unwrap();
    assert_eq!((metadata.n_links, metadata.uid, metadata.mode & 0o777), (2, 7, 0o640));
    assert_eq!(get(root, "soft").unwrap().read_link().unwrap(), b"dir/file");
    let gone = get(root, "dir/gone").unwrap().metadata().unwrap();
    assert_eq!(gone.special, DeviceNumber::default());
    let opaque = get(root, "dir").unwrap();
    assert_eq!(opaque.xattrs().unwrap().get(b"trusted.overlay.opaque").unwrap(), b"y");
}

#[test]
fn a_plain_archive_is_read_in_place() {
    check(&open(&archive()));
}

#[test]
fn a_compressed_archive_is_the_same() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&archive()).unwrap();
    check(&open(&encoder.finish().unwrap()));
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    check(&open(&ruzstd::encoding::compress_to_vec(archive().as_slice(), level)));
}

#[test]
fn a_mapping_has_the_bytes_of_the_file_alone() {
    let root = open(&archive());
    let file = get(&root, "dir/file").unwrap();
    let request =
        crate::open_file::MapRequest { shared: false, writable: true, offset: 0, length: 5 };
    let mapped = file.content().unwrap().map(request).unwrap();
    let mut bytes = [0; 10];
    let n = host_sys::rustix::io::pread(&*mapped.host, &mut bytes, 0).unwrap();
    assert_eq!(&bytes[..n], b"hello");
    assert!(host_sys::rustix::io::pwrite(&*mapped.host, b"x", 0).is_err());
}

#[test]
fn garbage_is_no_archive() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[0xab; 2048]).unwrap();
    assert!(TarFs::open(file.path()).is_err());
}
