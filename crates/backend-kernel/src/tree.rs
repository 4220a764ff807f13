//! The tree of files that a guest sees.

use std::path::Path;
use std::rc::Rc;

use kernel_files::hostfs::{HostFs, HostOptions};
use kernel_files::special::SpecialFiles;
use kernel_files::{FsContext, Mount, MountNamespace};
use linux_abi::SysResult;
use linux_abi::files::MountFlags;
use sandbox_spec::SandboxSpec;

pub fn build(_spec: &SandboxSpec) -> SysResult<Rc<FsContext>> {
    let options = HostOptions { read_only: true, immutable: true, owners: None };
    let host = HostFs::open(Path::new("/"), options)?;
    let mount = Mount::of(host, b"host", MountFlags::empty());
    let namespace = MountNamespace::new(mount);
    let root = namespace.root()?;
    Ok(FsContext::new(namespace, root, SpecialFiles::new()))
}

pub struct TempStream(pub std::fs::File);
impl kernel_files::FileOps for TempStream {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
    fn read(
        &self,
        _f: &kernel_files::OpenFile,
        sink: &mut dyn kernel_core::io::Sink,
        _o: u64,
    ) -> SysResult<usize> {
        use std::os::fd::AsFd;
        sink.put_from_host(self.0.as_fd(), None, usize::MAX)
    }
    fn write(
        &self,
        _f: &kernel_files::OpenFile,
        source: &mut dyn kernel_core::io::Source,
        _o: u64,
    ) -> SysResult<usize> {
        use std::os::fd::AsFd;
        source.take_to_host(self.0.as_fd(), None, usize::MAX)
    }
}
