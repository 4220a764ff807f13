//! Looks on at the guest: records what it does and enforces rules about paths.
//!
//! There is a [`Supervision`] only if the specification asks for one of the two, so that nobody
//! else pays for it. Every list has a bound, and what is beyond it is counted.

mod asks;
mod denials;
mod fair;
mod files;
mod missing;
mod processes;
mod rules;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::{Rc, Weak};

use kernel_core::supervisor::{FileEvent, ProcessEvent, Right, Supervisor, Transport};
use kernel_core::timers;
use kernel_files::FsContext;
use linux_abi::{Errno, Pid, SysResult};
use sandbox_spec::{
    Activity, ConnectionKind, ConnectionRecord, Reason, Recording, SandboxSpec, Verdict,
    metadata_at,
};

use crate::engine::Engine;

use asks::Asks;
use denials::Denials;
use fair::Doer;
use files::Files;
use missing::Missing;
use processes::Processes;
use rules::Rules;

/// How many destinations are recorded.
const MAX_CONNECTIONS: usize = 1_000;
/// Room for destinations that have to be told of, whatever else a guest has tried before them.
const MAX_METADATA: usize = 64;

/// What looks on at one sandbox.
pub struct Supervision {
    rules: Rules,
    recording: Recording,
    records: RefCell<Records>,
    /// Knows whose call is being answered.
    engine: RefCell<Weak<Engine>>,
}

struct Records {
    processes: Processes,
    files: Files,
    connections: Vec<ConnectionRecord>,
    more_connections: u64,
    denials: Denials,
    asks: Asks,
    missing: Missing,
}

impl Records {
    /// A guest may look for secrets in these home folders.
    fn new(homes: Vec<PathBuf>) -> Self {
        Self {
            processes: Processes::default(),
            files: Files::default(),
            connections: Vec::new(),
            more_connections: 0,
            denials: Denials::default(),
            asks: Asks::default(),
            missing: Missing::new(homes),
        }
    }
}

impl Supervision {
    /// What looks on at this sandbox, if anything has to.
    pub fn of(spec: &SandboxSpec, fs: &FsContext) -> Option<Rc<Self>> {
        if spec.recording == Recording::Off && spec.rules.is_empty() {
            return None;
        }
        let mut records = Records::new(homes(spec));
        records.processes.begin(timers::now());
        Some(Rc::new(Self {
            rules: Rules::new(&spec.rules, fs),
            recording: spec.recording,
            records: RefCell::new(records),
            engine: RefCell::default(),
        }))
    }

    /// From now on it can be asked who does something.
    pub fn set_engine(&self, engine: &Rc<Engine>) {
        self.engine.replace(Rc::downgrade(engine));
    }

    /// The process whose call is being answered.
    fn doer(&self) -> Doer {
        self.engine.borrow().upgrade().and_then(|engine| engine.caller())
    }

    /// The program that was denied last, if any was.
    pub fn denied_program(&self) -> Option<Vec<u8>> {
        self.records.borrow().denials.last_program()
    }

    /// What the guest has done. Denials are told even if nothing else is recorded.
    pub fn activity(&self) -> Activity {
        let records = self.records.replace(Records::new(Vec::new()));
        let mut activity = Activity {
            connections: records.connections,
            more_connections: records.more_connections,
            // All of those were out of reach.
            more_connections_denied: records.more_connections,
            ..Activity::default()
        };
        records.processes.tell(&mut activity);
        records.files.tell(&mut activity);
        records.denials.tell(&mut activity);
        records.asks.tell(&mut activity);
        records.missing.tell(&mut activity);
        activity
    }
}

impl Supervisor for Supervision {
    fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    fn check(&self, right: Right, path: &[u8]) -> SysResult<()> {
        if self.rules.allows(right, path) {
            if right == Right::Run && self.recording == Recording::On {
                self.records.borrow_mut().processes.add_program(path);
            }
            return Ok(());
        }
        self.records.borrow_mut().denials.add(self.doer(), right, path);
        Err(Errno::EACCES)
    }

    fn ask(&self, right: Right, path: &[u8]) -> SysResult<()> {
        let is_allowed = self.rules.allows(right, path);
        // As with denials: what was refused is told even if nothing else is recorded.
        if self.recording == Recording::On || !is_allowed {
            self.records.borrow_mut().asks.add(self.doer(), right, path, is_allowed);
        }
        if is_allowed { Ok(()) } else { Err(Errno::EACCES) }
    }

    fn file(&self, path: &[u8], event: FileEvent<'_>) {
        if self.recording == Recording::On {
            self.records.borrow_mut().files.add(path, event);
        }
    }

    fn missing(&self, path: &[u8]) {
        if self.recording == Recording::On {
            self.records.borrow_mut().missing.add(self.doer(), path);
        }
    }

    fn process(&self, pid: Pid, event: ProcessEvent<'_>) {
        if self.recording == Recording::On {
            self.records.borrow_mut().processes.add(pid, event, timers::now());
        }
    }

    fn unreachable(&self, transport: Transport, to: SocketAddr) {
        let kind = match transport {
            Transport::Tcp => ConnectionKind::Tcp,
            Transport::Udp => ConnectionKind::Udp,
        };
        let mut records = self.records.borrow_mut();
        let same = |known: &&mut ConnectionRecord| known.address == Some(to) && known.kind == kind;
        if let Some(known) = records.connections.iter_mut().find(same) {
            known.times += 1;
            return;
        }
        let most = match metadata_at(to.ip()) {
            Some(_) => MAX_CONNECTIONS + MAX_METADATA,
            None => MAX_CONNECTIONS,
        };
        if records.connections.len() < most {
            records.connections.push(ConnectionRecord {
                kind,
                name: None,
                address: Some(to),
                verdict: Verdict::Denied,
                reason: Reason::Offline,
                times: 1,
                bytes_sent: 0,
                bytes_received: 0,
            });
        } else {
            records.more_connections += 1;
        }
    }
}

/// The home folders that a guest may guess: its own, whatever it is told of it, and root's.
fn homes(spec: &SandboxSpec) -> Vec<PathBuf> {
    let told = spec.environment.iter().filter(|(name, _)| name == "HOME");
    let told = told.map(|(_, value)| PathBuf::from(value));
    let mut homes: Vec<PathBuf> = told.collect();
    homes.extend([spec.identity.home.clone(), PathBuf::from("/root")]);
    homes
}

/// Bytes of the guest's as text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
