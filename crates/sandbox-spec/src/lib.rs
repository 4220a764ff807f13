//! What a sandbox is, as plain data.
//!
//! Start reading at [`SandboxSpec`]. Everything here can be written to and read from JSON, and
//! the short forms that people type (`512M`, `30s`, `SRC:DST:ro`) are parsed here, once, with
//! errors that say what would have been right.
//!
//! This crate starts nothing, opens nothing and asks the host for nothing. A backend reads the
//! specification and either does what it says or refuses with a reason.

#![forbid(unsafe_code)]

mod activity;
mod change;
mod connection;
mod containment;
pub mod credentials;
mod environment;
mod filesystem;
mod home;
mod host_place;
mod host_rule;
mod identity;
mod limits;
mod metadata_service;
mod network;
pub mod os_text;
mod printable;
mod rules;
mod sensitive_place;
mod size;
mod spec;
mod time;

pub use activity::{
    Activity, AskRecord, Command, Denial, FileFate, FileRecord, LookedFor, MoreOfKind, PathUse,
    ProcessEnd, ProcessRecord, ProgramRecord,
};
pub use change::{Change, Gone, Happened, Now};
pub use connection::{ConnectionKind, ConnectionRecord, MoreConnections, Reason, Verdict};
pub use containment::ContainmentLayer;
pub use environment::{
    EnvironmentError, EnvironmentItem, UserPackages, default_environment, user_packages,
};
pub use filesystem::{
    Link, Mount, MountAccess, MountError, Output, Ownership, RootFs, RootWrites, Tmpfs,
    belongs_to_the_sandbox,
};
pub use home::{Tilde, expand_home};
pub use host_place::{AttachError, HeldPlace, HostPlace};
pub use host_rule::{HostPattern, HostRule, HostRuleError};
pub use identity::{Identity, IdentityError};
pub use limits::{LEAST_DISK, LEAST_FILE_SIZE, LEAST_MEMORY, LEAST_OUTPUT, Limits};
pub use metadata_service::{metadata_at, metadata_named};
pub use network::{
    EgressRules, HostEntry, HostEntryError, NetworkPolicy, PublishedPort, PublishedPortError,
};
pub use printable::{
    MAX_NAME_CHARS, printable, printable_bytes, printable_json, printable_lines, printable_name,
    printable_path, printable_within,
};
pub use rules::{FileRules, PathPattern, PathPatternError, PathRules};
pub use sensitive_place::{is_well_known_place, sensitive_place};
pub use size::{ByteSize, SizeError};
pub use spec::{DEFAULT_AUDIT_LIMIT, MIN_AUDIT_LIMIT, Recording, SandboxSpec, Trace};
pub use time::{DurationError, parse_duration};
