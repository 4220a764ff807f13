//! Agent Skills: load, check, show, package, find what they need, plan a run, test.
//!
//! A skill is a folder, or an archive of one, with a `SKILL.md` and optionally scripts. This crate
//! knows everything about skills and nothing about sandboxes: it starts no sandbox, installs
//! nothing and opens no connection. [`plan_run`] ends in plain data, [`RunPlan::to_spec`] makes a
//! sandbox specification of it, and [`cases::Runner`] is the trait that a sandbox implements.
//!
//! Start reading at [`load()`] and [`Skill`]; then [`check()`] for the rules, [`deps`] for what a
//! skill needs, [`install`] for how it gets it, [`policy`] for what it may do.

#![forbid(unsafe_code)]

pub mod cases;
mod check;
pub mod deps;
mod difference;
mod finding;
mod front_matter;
pub mod install;
mod load;
mod pack;
mod pattern;
mod plan;
pub mod policy;
mod script;
mod show;
mod skill;
mod spec;
#[cfg(test)]
mod testing;
mod yaml;

pub use check::check;
pub use difference::{MAX_DIFFERENT_LINES, lines_that_differ};
pub use finding::{Finding, Place, Report, Severity};
pub use front_matter::FrontMatter;
pub use load::{Limits, LoadError, load};
pub use pack::{PackError, Packed, pack, pack_to_file};
pub use plan::{
    GUEST_PATH, HOME_FOLDER, MountKind, NODE_MODULES, PlanError, PlannedMount, RunOptions, RunPlan,
    SKILL_FOLDER, WORK_FOLDER, WorkFolder, choose_script, plan_run,
};
pub use sandbox_spec::printable;
pub use script::{
    Interpreter, STRIP_TYPES, STRIPS_TYPES_SINCE, Script, find_scripts, interpreter_of,
};
pub use show::{Summary, show};
pub use skill::{FileEntry, FileKind, Origin, Skill};
pub use spec::SpecError;
pub use yaml::{Position, YamlError};
