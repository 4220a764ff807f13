//! A kernel with guest threads on plain memory.

use std::path::Path;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use anyhow::{Result, anyhow};
use fastrand::Rng;
use kernel_core::credentials::Credentials;
use kernel_core::host_events::HostEvents;
use kernel_core::{ledger, timers};
use kernel_files::root::{Hooks, default_root};
use kernel_files::special::SpecialFiles;
use kernel_proc::{Sources, SystemFacts, proc_fs, sys_fs};
use kernel_syscalls::handler::{Answer, Attempt};
use kernel_syscalls::{Body, Registers};
use kernel_tasks::cgroup::CgroupDeviceGate;
use kernel_tasks::testing::FakeMachine;
use kernel_tasks::{Kernel, KernelOptions, Thread, signals};
use linux_abi::tasks::{Rlimit, rlimit};
use linux_abi::{Errno, Interrupted, WaitResult};
use sandbox_spec::{ByteSize, RootFs, SandboxSpec};

/// How many guest threads there may be.
const MAX_THREADS: usize = 24;
/// How many descriptors a process may have.
const MAX_FILES: u64 = 64;
/// How much all files together may hold.
const DISK: u64 = 8 << 20;

/// A guest thread, and its call if that waits.
struct Guest {
    thread: Rc<Thread>,
    waits: Option<Answer>,
}

/// A kernel with guest threads.
pub struct World {
    kernel: Rc<Kernel>,
    guests: Vec<Guest>,
}

impl World {
    /// A world whose root is what `folder` holds; changes stay in memory.
    pub fn new(folder: &Path, uid: u32) -> Result<Self> {
        let failed = |errno: Errno| anyhow!("cannot make a kernel: {errno}");
        let events = HostEvents::new().map_err(failed)?;
        let options = KernelOptions { max_tasks: 64, ..KernelOptions::default() };
        let kernel = Kernel::new(options, events).map_err(failed)?;
        let special = SpecialFiles::new();
        kernel.terminals.register(&special);
        special.set_gate(Rc::new(CgroupDeviceGate));
        let facts = Rc::new(SystemFacts::new(kernel.memory_limit()));
        let sources = Sources { kernel: Rc::clone(&kernel), facts };
        let hooks = Hooks {
            proc: Some(proc_fs(&sources)),
            sys: Some(sys_fs(&sources)),
            devpts: Some(kernel.terminals.devpts()),
        };
        ledger::set_limit(DISK);
        let mut spec = SandboxSpec::new(["/program"]);
        spec.root = RootFs::Directory(folder.to_owned());
        spec.limits.disk = Some(ByteSize(DISK));
        let tree = default_root(&spec, &special, hooks)?;
        let credentials = Rc::new(Credentials::of_user(uid, uid));
        let thread = kernel
            .spawn_first(FakeMachine::new(), credentials, Rc::default(), tree.context)
            .map_err(failed)?;
        let limit = Rlimit { current: MAX_FILES, maximum: MAX_FILES };
        thread.process().set_limit(rlimit::NOFILE, limit);
        Ok(Self { kernel, guests: vec![Guest { thread, waits: None }] })
    }

    /// Whether all guests are gone.
    pub fn is_over(&self) -> bool {
        self.kernel.first_status().is_some() || self.guests.is_empty()
    }

    /// The thread that was there first, or who stands in its place.
    pub fn first(&self) -> Option<Rc<Thread>> {
        self.guests.first().map(|guest| Rc::clone(&guest.thread))
    }

    /// Forgets the call in which a thread waits.
    pub fn abandon(&mut self, index: usize) {
        if let Some(guest) = self.guests.get_mut(index) {
            guest.waits = None;
        }
    }

    /// A thread that can make a call, if there is one.
    pub fn choose(&self, rng: &mut Rng) -> Option<(usize, Rc<Thread>)> {
        let free: Vec<usize> = (0..self.guests.len())
            .filter(|&index| self.guests.get(index).is_some_and(|guest| guest.waits.is_none()))
            .collect();
        let index = *rng.choice(&free)?;
        let guest = self.guests.get(index)?;
        Some((index, Rc::clone(&guest.thread)))
    }

    /// Makes a call. Returns the answer; `None` if it waits.
    pub fn call(
        &mut self,
        index: usize,
        body: Body,
        registers: Registers,
    ) -> Option<WaitResult<u64>> {
        let thread = Rc::clone(&self.guests.get(index)?.thread);
        let answer = match body {
            Body::Now(handler) => Some(handler(&thread, &registers).map_err(Interrupted::Errno)),
            Body::MayWait(handler) => self.begin(index, handler(Rc::clone(&thread), registers)),
            Body::Try(handler) => match handler(&thread, &registers) {
                Attempt::Done(result) => Some(result.map_err(Interrupted::Errno)),
                Attempt::Wait(rest) => self.begin(index, rest),
            },
        };
        if answer.is_some() {
            self.look_for_signals(index, thread);
        }
        answer
    }

    fn begin(&mut self, index: usize, mut answer: Answer) -> Option<WaitResult<u64>> {
        let polled = poll(&mut answer);
        if polled.is_none() {
            self.wait(index, answer);
        }
        polled
    }

    fn wait(&mut self, index: usize, answer: Answer) {
        if let Some(guest) = self.guests.get_mut(index) {
            guest.waits = Some(answer);
        }
    }

    /// What a shim does when it goes back to guest code.
    fn look_for_signals(&mut self, index: usize, thread: Rc<Thread>) {
        let mut answer: Answer = Box::pin(async move {
            while signals::next_signal(Rc::clone(&thread)).await.is_some() {}
            Ok(0)
        });
        if poll(&mut answer).is_none() {
            self.wait(index, answer); // it is stopped
        }
    }

    /// Lets time and waiting calls go on, and finds out who is there.
    pub fn go_on(&mut self, rng: &mut Rng) {
        self.kernel.timers.fire(timers::now());
        for index in 0..self.guests.len() {
            let Some(guest) = self.guests.get_mut(index) else { break };
            let Some(mut answer) = guest.waits.take() else { continue };
            let thread = Rc::clone(&guest.thread);
            match poll(&mut answer) {
                Some(_) => self.look_for_signals(index, thread),
                None => self.wait(index, answer),
            }
        }
        self.meet_guests();
        while self.guests.len() > MAX_THREADS {
            let index = rng.usize(..self.guests.len());
            if let Some(guest) = self.guests.get(index) {
                guest.thread.process().kill();
            }
            self.meet_guests();
        }
    }

    /// New threads come, dead ones go.
    fn meet_guests(&mut self) {
        let mut now = Vec::new();
        for process in self.kernel.ids.processes() {
            for thread in process.threads() {
                let known = self.guests.iter_mut().find(|guest| Rc::ptr_eq(&guest.thread, &thread));
                let waits = known.and_then(|guest| guest.waits.take());
                now.push(Guest { thread, waits });
            }
        }
        self.guests = now;
    }
}

impl Drop for World {
    /// Processes and the kernel own each other until the processes have ended.
    fn drop(&mut self) {
        self.kernel.kill_all();
        for process in self.kernel.ids.processes() {
            process.kill();
        }
    }
}

fn poll(answer: &mut Answer) -> Option<WaitResult<u64>> {
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}
