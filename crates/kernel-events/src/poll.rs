//! Waiting for any of several files: what `poll` and `select` have in common.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use kernel_core::wait::{PollEvents, Registration};
use kernel_files::OpenFile;

/// A file that is asked for.
pub struct Entry {
    file: Option<Rc<OpenFile>>,
    asked: PollEvents,
    /// What was ready at the last scan, of what was asked for.
    pub ready: PollEvents,
}

impl Entry {
    /// Asks for `asked`, and always for errors and hang-up.
    pub fn of_file(file: Rc<OpenFile>, asked: PollEvents) -> Self {
        let asked = asked | PollEvents::ALWAYS;
        Self { file: Some(file), asked, ready: PollEvents::empty() }
    }

    /// An entry of which this is known from the start.
    pub fn settled(ready: PollEvents) -> Self {
        Self { file: None, asked: PollEvents::empty(), ready }
    }
}

/// The files of one `poll` or `select`.
pub struct PollSet {
    /// The files, in the order of the call.
    pub entries: Vec<Entry>,
    registrations: Vec<Registration>,
}

impl PollSet {
    /// A set of these files.
    pub fn new(entries: Vec<Entry>) -> Self {
        Self { entries, registrations: Vec::new() }
    }

    /// Asks every file, without waiting. Returns whether anything is ready.
    pub fn scan(&mut self) -> bool {
        let mut any = false;
        for entry in &mut self.entries {
            if let Some(file) = &entry.file {
                entry.ready = file.ops().poll(file) & entry.asked;
            }
            any |= !entry.ready.is_empty();
        }
        any
    }

    /// Completes when anything is ready. What is, is then in the entries.
    pub fn wait(&mut self) -> AnyReady<'_> {
        AnyReady { set: self }
    }

    fn register(&mut self, context: &Context<'_>) {
        let files = self.entries.iter().filter_map(|entry| Some((entry.file.as_ref()?, entry)));
        let queues = files.filter_map(|(file, entry)| Some((file.ops().queue()?, entry.asked)));
        self.registrations =
            queues.map(|(queue, asked)| queue.register(asked, context.waker())).collect();
    }
}

/// The future of [`PollSet::wait`].
pub struct AnyReady<'a> {
    set: &'a mut PollSet,
}

impl Future for AnyReady<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let set = &mut *self.set;
        if set.scan() {
            return Poll::Ready(());
        }
        if set.registrations.is_empty() {
            set.register(context);
        }
        Poll::Pending
    }
}

impl Drop for AnyReady<'_> {
    fn drop(&mut self) {
        self.set.registrations.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use kernel_core::io::SliceSource;
    use linux_abi::files::OpenFlags;

    use super::*;
    use crate::pipe::{Owner, pipe};

    #[test]
    fn completes_when_one_of_the_files_is_ready_and_leaves_the_queues() {
        let (first, _first_writer) = pipe(OpenFlags::empty(), Owner::default());
        let (second, writer) = pipe(OpenFlags::empty(), Owner::default());
        let of = |file: &Rc<OpenFile>| Entry::of_file(Rc::clone(file), PollEvents::IN);
        let mut set = PollSet::new(vec![of(&first), of(&second)]);
        assert!(!set.scan());
        {
            let mut context = Context::from_waker(Waker::noop());
            let mut wait = pin!(set.wait());
            assert!(wait.as_mut().poll(&mut context).is_pending());
            assert!(!second.ops().queue().unwrap().is_empty());
            writer.write(&mut SliceSource::new(b"x")).unwrap();
            assert!(wait.as_mut().poll(&mut context).is_ready());
        }
        assert_eq!(set.entries[0].ready, PollEvents::empty());
        assert_eq!(set.entries[1].ready, PollEvents::IN);
        assert!(second.ops().queue().unwrap().is_empty());
    }
}
