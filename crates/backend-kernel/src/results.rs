//! What a sandbox leaves behind: copies on the host, and the list of what was changed.

use std::os::unix::net::UnixStream;
use std::rc::Rc;

use kernel_files::FsContext;
use kernel_files::copy_out::{CopyOut, list_changes};
use kernel_files::root::SandboxTree;
use sandbox::NotCopied;
use sandbox_spec::SandboxSpec;

use crate::control::{self, News, Refusal};
use crate::tree::refusal;

/// How many changes one message tells of.
const CHANGES_AT_ONCE: usize = 1000;

/// What a sandbox leaves behind.
pub struct Results {
    tree: SandboxTree,
    outputs: Vec<CopyOut>,
    lists_changes: bool,
}

impl Results {
    /// Opens the folders that take copies, before any guest runs.
    pub fn open(spec: &SandboxSpec, tree: SandboxTree) -> Result<Self, Refusal> {
        let open = |output| CopyOut::open(output, spec).map_err(refusal);
        let outputs = spec.outputs.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { tree, outputs, lists_changes: spec.lists_changes })
    }

    /// The context of the first process.
    pub fn context(&self) -> Rc<FsContext> {
        // A copy: where a guest goes with `chroot` does not matter to what is copied.
        self.tree.context.duplicate()
    }

    /// Whether guests wanted to write more than the limit of the disk leaves.
    pub fn is_disk_full(&self) -> bool {
        self.tree.has_refused_space()
    }

    /// Leaves nothing of the sandbox's own in folders that keep writes.
    pub fn tidy(&self) {
        for (_, overlay) in &self.tree.overlays {
            overlay.tidy();
        }
    }

    /// Copies what shall be copied and tells the starter. Every guest has ended.
    pub fn deliver(&self, starter: &UnixStream) {
        let mut failed = Vec::new();
        for output in &self.outputs {
            failed.extend(
                output
                    .run(&self.tree)
                    .into_iter()
                    .map(|it| NotCopied { path: it.path, reason: it.cause.name().to_owned() }),
            );
        }
        if self.lists_changes {
            match list_changes(&self.tree) {
                Ok(changes) => {
                    for some in changes.chunks(CHANGES_AT_ONCE) {
                        // A starter that is gone is noticed when the end is reported.
                        let _ = control::send(starter, &News::Changes(some.to_vec()));
                    }
                }
                Err(cause) => failed.push(NotCopied {
                    path: "/".into(),
                    reason: format!("the changes cannot be listed: {}", cause.name()),
                }),
            }
        }
        if !failed.is_empty() {
            let _ = control::send(starter, &News::NotCopied(failed));
        }
    }
}
