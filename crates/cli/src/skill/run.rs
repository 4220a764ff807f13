//! `belljar skill run`: a script of a skill in a sandbox, with the least that it needs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use host_sys::beneath::Folder;
use sandbox::Backend;
use sandbox_spec::{Recording, SandboxSpec, printable_path};
use skills::policy::Consent;
use skills::{RunOptions, RunPlan, Skill, WORK_FOLDER, WorkFolder, plan_run, printable};

use super::aside::{Aside, Newer, Origin};
use super::changes::Change;
use super::environment::{Environment, EnvironmentOptions};
use super::learn::Lessons;
use super::listing::{counted, in_words};
use super::permissions::{self, Asking, PermissionOptions};
use super::question::{Choice, Question};
use super::scratch::Scratch;
use super::{deps, places, problem, runner};
use crate::backends;
use crate::failure::Failure;
use crate::launch::{EndReport, exit_code, run_to_end, tell_end};
use crate::masks::Masks;
use crate::options::{CommonOptions, absolute};
use crate::report::{Fate, ReportTarget, RunReport, tell_denied};
use crate::signals::Signals;
use crate::user_terminal::UserTerminal;

/// Options of `skill run`.
#[derive(Args)]
#[command(override_usage = "belljar skill run [OPTIONS] PATH [SCRIPT] [-- ARGS]...")]
#[command(
    after_help = "The skill is at /skill, read-only. The current folder is at /work, and is \
    the script's working folder: what it writes there is listed at the end and kept aside, until \
    --apply, or an answer, writes it back."
)]
pub struct Options {
    /// The skill: a folder, its SKILL.md, or a `.skill` or `.zip` archive
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The script, if the skill has more than one
    #[arg(value_name = "SCRIPT")]
    script: Option<String>,
    /// Its arguments
    #[arg(value_name = "ARGS", last = true)]
    arguments: Vec<OsString>,
    /// A folder that the script changes at once, or `none` for an empty one
    #[arg(long, value_name = "DIR|none")]
    work: Option<PathBuf>,
    /// Write what the script changed back to the current folder, without asking
    #[arg(long, conflicts_with = "work")]
    apply: bool,
    /// Write the smallest policy that would have sufficed, for --policy, or add to one
    #[arg(long, value_name = "FILE")]
    learn: Option<PathBuf>,
    #[command(flatten)]
    environment: EnvironmentOptions,
    #[command(flatten)]
    permissions: PermissionOptions,
    #[command(flatten)]
    common: CommonOptions,
}

/// Plans the run, starts it, and ends as it ended.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let signals = Signals::take_over()?;
    let _scratch = Scratch::new()?;
    // As it is now, before anybody else has it.
    let terminal = UserTerminal::open();
    Aside::tell_forgotten();
    let skill =
        problem::load(&options.path).map_err(|failure| failure.code(Failure::CANNOT_START))?;
    signals.check()?;
    let report_place = options.common.report.as_ref();
    let report_place =
        report_place.map(|it| it.as_ref().map(ReportTarget::open).transpose()).transpose()?;
    let ending = options.common.json_report.as_deref().map(EndReport::open).transpose()?;
    let lessons = options.learn.as_deref().map(Lessons::open).transpose()?;
    let backend = backends::choose(&options.common.backend)?;
    let environment = options.environment.prepare(&skill, &*backend, &signals)?;
    let mut work = Work::of(options, &skill)?;
    work.masks.tell();
    let asking = Asking { terminal: terminal.as_ref(), signals: &signals };
    let plan = plan(options, &skill, &work.folder, &environment, asking)?;
    let spec = specification(options, &plan, &work)?;
    // From here on what is written is removed only by a decision.
    if let Some(aside) = &mut work.aside {
        aside.keep();
    }
    let ended = run_to_end(&*backend, &spec, &signals);
    if let Some(ending) = &ending {
        ending.write(&ended)?;
    }
    // What was written is listed and kept whatever the end was.
    let changes = work.changes()?;
    let report = match ended {
        Ok(report) => report,
        Err(failure) => {
            work.settle(&changes, Decision::Keep, &signals)?;
            return Err(failure);
        }
    };
    tell_end(&report, &spec);
    tell_denied(report.activity.as_deref());
    if report.end.exit_code() != 0 {
        hint_at_packages(&skill, &environment, &*backend, &options.path);
    }
    let fate = work.settle(&changes, Decision::of(options, terminal.as_ref()), &signals)?;
    if let Some(place) = &report_place {
        let report = RunReport::new(&spec, &report).of_skill(&plan, &changes, fate);
        report.write(place.as_ref())?;
    }
    if let (Some(lessons), Some(activity)) = (lessons, &report.activity) {
        lessons.write(activity, &plan)?;
    }
    Ok(exit_code(&report).into())
}

/// A script that failed may have failed for want of packages: says which are not here.
fn hint_at_packages(skill: &Skill, environment: &Environment, backend: &dyn Backend, path: &Path) {
    let lacking = deps::lacking_packages(skill, environment, backend);
    if !lacking.is_empty() {
        let names = printable(&lacking.join(", "));
        eprintln!(
            "hint: not here: {names}; --install gets them (`belljar skill deps {}`)",
            printable_path(path)
        );
    }
}

/// The folder that the script works on.
struct Work {
    folder: WorkFolder,
    aside: Option<Aside>,
    masks: Masks,
}

impl Work {
    fn of(options: &Options, skill: &Skill) -> Result<Self, Failure> {
        let skill = skill.name().to_owned();
        match &options.work {
            None => {
                let here = std::env::current_dir().map_err(|error| {
                    Failure::new(format!("cannot find out the current folder: {error}"))
                        .code(Failure::CANNOT_START)
                })?;
                // Not by its name: where one stands is a folder, whatever it is called by now.
                let held = Folder::at(Path::new(".")).map_err(|error| no_folder(&here, &error))?;
                let masks = Masks::of(&held.proc_path());
                let folder = WorkFolder::CopyOnWrite(places::held(&here, held));
                let aside = Aside::new(Origin { skill, folder: Some(here) })?;
                Ok(Self { folder, aside: Some(aside), masks })
            }
            Some(path) if path.as_os_str() == "none" => {
                let aside = Aside::new(Origin { skill, folder: None })?;
                let folder = WorkFolder::CopyOnWrite(aside.nothing()?);
                Ok(Self { folder, aside: Some(aside), masks: Masks::default() })
            }
            Some(path) => {
                let path = absolute(path)?;
                let held = Folder::at(&path).map_err(|_| {
                    Failure::new(format!("--work: {} is no folder", printable_path(&path)))
                        .hint("make it first, or use `--work none` for an empty one")
                        .code(Failure::CANNOT_START)
                })?;
                let masks = Masks::of(&held.proc_path());
                let folder = WorkFolder::ReadWrite(places::held(&path, held));
                Ok(Self { folder, aside: None, masks })
            }
        }
    }

    fn changes(&self) -> Result<Vec<Change>, Failure> {
        self.aside.as_ref().map_or(Ok(Vec::new()), Aside::changes)
    }

    /// Tells what was written, and writes it back or keeps it.
    fn settle(
        &mut self,
        changes: &[Change],
        decision: Decision<'_>,
        signals: &Signals,
    ) -> Result<Fate, Failure> {
        let Some(aside) = self.aside.take() else { return Ok(Fate::WrittenAtOnce) };
        if changes.is_empty() {
            aside.discard()?;
            return Ok(Fate::NothingWritten);
        }
        let place = aside.origin().folder.clone();
        let choice = match (decision, &place) {
            (Decision::Ask(terminal), Some(folder)) => {
                let layer = aside.files();
                let (folder, layer) = (folder.as_path(), layer.as_path());
                let question = Question { terminal, signals, folder, layer, changes };
                // Whoever does not answer has not agreed.
                question.ask().unwrap_or(Choice::Nothing)
            }
            (decision, _) => {
                let list = in_words(changes);
                eprintln!("\n{} in {WORK_FOLDER}:\n{}", counted(changes), list.trim_end());
                if decision.is_apply() { Choice::All } else { Choice::Nothing }
            }
        };
        let kept = aside.path().to_path_buf();
        match choice {
            Choice::All => {
                aside.write_back(changes, Newer::Keep)?;
                return Ok(Fate::Applied);
            }
            Choice::Some(chosen) => {
                aside.write_some(&chosen, Newer::Keep)?;
                let n = changes.len() - chosen.len();
                eprintln!(
                    "{n} kept aside: `belljar skill apply {}` lists them",
                    printable_path(&kept)
                );
                return Ok(Fate::AppliedInPart(kept));
            }
            Choice::Nothing => aside.set_told(),
        }
        if place.is_some() {
            eprintln!("kept aside: `belljar skill apply {}` writes it back", printable_path(&kept));
        } else {
            eprintln!("kept in {}", printable_path(aside.files()));
        }
        Ok(Fate::Kept(kept))
    }
}

fn no_folder(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot use the current folder {}: {error}", printable_path(path)))
        .code(Failure::CANNOT_START)
}

/// What is to be done with what was written.
#[derive(Clone, Copy)]
enum Decision<'t> {
    Apply,
    Ask(&'t UserTerminal),
    Keep,
}

impl<'t> Decision<'t> {
    fn of(options: &Options, terminal: Option<&'t UserTerminal>) -> Self {
        match (options.apply, terminal) {
            (true, _) => Self::Apply,
            (false, Some(terminal)) => Self::Ask(terminal),
            (false, None) => Self::Keep,
        }
    }

    fn is_apply(self) -> bool {
        matches!(self, Self::Apply)
    }
}

/// Plans the run, first with what the user has said, then with what the skill was granted.
fn plan(
    options: &Options,
    skill: &Skill,
    work: &WorkFolder,
    environment: &Environment,
    asking: Asking<'_>,
) -> Result<RunPlan, Failure> {
    let mut run_options = RunOptions::new(work.clone());
    run_options.flags = permissions::flags(&options.common)?;
    run_options.user_policy = options.permissions.user_policy()?;
    run_options.host_env = permissions::host_environment();
    environment.apply(&mut run_options);
    let make = |run_options: &RunOptions| {
        plan_run(skill, options.script.as_deref(), &[], run_options)
            .map_err(|error| problem::of_planning(&options.path, &error))
    };
    let plan = make(&run_options)?;
    if permissions::decide(&options.permissions, &plan, asking)? {
        run_options.consent = Consent::Given;
        return make(&run_options);
    }
    Ok(plan)
}

fn specification(options: &Options, plan: &RunPlan, work: &Work) -> Result<SandboxSpec, Failure> {
    let mut spec = runner::spec_of(plan).map_err(|error| problem::of_runner(&error))?;
    // Arguments need not be text, so they do not go through the plan.
    spec.program.extend(options.arguments.iter().cloned());
    let is_work = |mount: &&mut sandbox_spec::Mount| mount.destination == *WORK_FOLDER;
    if let (WorkFolder::CopyOnWrite(_), Some(aside)) = (&work.folder, &work.aside) {
        for mount in spec.mounts.iter_mut().filter(is_work) {
            mount.upper = Some(aside.layer()?);
        }
    }
    for mount in spec.mounts.iter_mut().filter(is_work) {
        mount.masked.clone_from(&work.masks.paths);
    }
    options.common.apply(&mut spec)?;
    options.common.network.apply_beside_rules(&mut spec)?;
    if options.learn.is_some() {
        spec.recording = Recording::On;
    }
    Ok(spec)
}
