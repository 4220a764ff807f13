//! What the starter does for the kernel process, while that sets itself up.
//!
//! The kernel process would have to do it all alone otherwise, and the starter would wait for it.
//! Both have the descriptors in which things are made; the starter says when one is complete, in the
//! order in which they are needed.

use std::io::BufReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use kernel_loader::{CopyAhead, PreparedInterpreters};
use sandbox::LayerReport;
use sandbox_spec::{RootFs, SandboxSpec};

use crate::control::{self, Order};
use crate::lockdown::FileLayer;

/// What is made ahead. Nothing is in it before the kernel process is there.
pub struct Ahead {
    files: FileLayer,
    /// For the loader of the host, if the guest has that one.
    loader: Option<CopyAhead>,
}

impl Ahead {
    /// What a sandbox of this specification needs.
    pub fn new(spec: &SandboxSpec) -> Self {
        // Without memory for a copy, the kernel process tries itself.
        let loader = (spec.root == RootFs::Host).then(CopyAhead::new);
        Self { files: FileLayer::new(spec), loader: loader.and_then(Result::ok) }
    }

    /// What the kernel process has to keep of the starter's.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.files.descriptor().into_iter().chain(self.loader.as_ref().map(AsFd::as_fd))
    }

    /// In the starter: makes everything, and tells the kernel process.
    pub fn make(self, spec: &SandboxSpec, kernel: &UnixStream) {
        // Whoever cannot be told has ended, which is heard of where its news are awaited.
        if control::send(kernel, &Order::Files(self.files.allow_reading(spec))).is_ok() {
            let copied = self.loader.and_then(|copy| copy.fill());
            let _ = control::send(kernel, &Order::Loader(copied));
        }
    }
}

/// In the kernel process: what the starter makes, and what it says.
pub struct Awaited<'a> {
    /// What is made.
    pub ahead: Ahead,
    /// The starter's orders.
    pub orders: BufReader<&'a UnixStream>,
}

impl Awaited<'_> {
    /// Holds this process to the files that the specification shows.
    pub fn restrict_files(&mut self, spec: &SandboxSpec) -> LayerReport {
        match control::receive(&mut self.orders) {
            Ok(Some(Order::Files(state))) => self.ahead.files.restrict_self(spec, state),
            _ => host_sys::exit_at_once(1), // the starter is gone
        }
    }

    /// Has the copy of the loader used, if there is one.
    pub fn offer_loader(mut self, interpreters: &PreparedInterpreters) {
        let Ok(Some(Order::Loader(copied))) = control::receive(&mut self.orders) else {
            host_sys::exit_at_once(1) // the starter is gone
        };
        if let (Some(signature), Some(copy)) = (copied, self.ahead.loader) {
            copy.offer(signature, interpreters);
        }
    }
}
