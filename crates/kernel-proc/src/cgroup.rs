//! `cgroup2`: control groups as a file system.
//!
//! A folder is a group, and making one makes a group. [`directory`] has the folders, [`files`] the
//! list of their files and what each says and takes, [`open`] what is behind an open one. The groups
//! themselves are in [`kernel_tasks::cgroup`].

mod directory;
mod files;
mod open;

use std::any::Any;
use std::cell::OnceCell;
use std::rc::Rc;

use kernel_files::inode::{FileSystem, Inode};
use kernel_files::metadata::{DeviceNumber, FileSystemUsage};
use kernel_tasks::Kernel;
use linux_abi::SysResult;

use crate::Sources;
use directory::GroupDirectory;

const MAGIC: u64 = 0x6367_7270;

/// How much memory all guest processes use.
pub(crate) fn memory_used(kernel: &Kernel) -> u64 {
    kernel.cgroups.root.memory()
}

/// The file system of control groups. There is one, however often it is mounted.
pub struct CgroupFs {
    sources: Sources,
    device: DeviceNumber,
    root: OnceCell<Rc<GroupDirectory>>,
}

impl CgroupFs {
    /// The file system of a kernel's groups.
    pub fn new(sources: &Sources) -> Rc<Self> {
        let fs = Rc::new(Self {
            sources: sources.clone(),
            device: kernel_files::device_numbers::allocate_device(),
            root: OnceCell::new(),
        });
        let root = GroupDirectory::new(&fs, &sources.kernel.cgroups.root, 0o755, (0, 0));
        // Set only here.
        let _ = fs.root.set(root);
        fs
    }
}

impl FileSystem for CgroupFs {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        "cgroup2"
    }

    fn device(&self) -> DeviceNumber {
        self.device
    }

    #[expect(clippy::expect_used, reason = "`new` sets the root before anybody has the result")]
    fn root(&self) -> Rc<dyn Inode> {
        Rc::clone(self.root.get().expect("a file system has a root")) as Rc<dyn Inode>
    }

    fn usage(&self) -> SysResult<FileSystemUsage> {
        Ok(FileSystemUsage { magic: MAGIC, block_size: 4096, ..Default::default() })
    }

    fn options(&self) -> String {
        let delegates = self.sources.kernel.cgroups.delegates.get();
        if delegates { String::from("nsdelegate") } else { String::new() }
    }
}
