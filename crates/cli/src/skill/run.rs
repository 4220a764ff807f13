//! `belljar skill run`: a script of a skill in a sandbox, with the least that it needs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use host_sys::beneath::Folder;
use sandbox::Backend;
use sandbox_spec::{Recording, SandboxSpec, printable_path};
use skills::policy::Consent;
use skills::{
    PlanError, RunOptions, RunPlan, Skill, WORK_FOLDER, WorkFolder, choose_script, plan_run,
    printable,
};

use super::aside::Aside;
use super::environment::{Environment, EnvironmentOptions};
use super::learn::Lessons;
use super::permissions::{self, Asking, PermissionOptions};
use super::scratch::Scratch;
use super::{deps, problem, runner};
use crate::backends;
use crate::blocked::Ran;
use crate::failure::Failure;
use crate::hints;
use crate::launch::{EndReport, exit_code, run_to_end, tell_end};
use crate::options::{CommonOptions, NetworkOptions, absolute, current_folder};
use crate::report::{ReportTarget, RunReport, tell_denied};
use crate::signals::Signals;
use crate::user_terminal::UserTerminal;
use crate::work::{Decision, Work};

/// Options of `skill run`.
#[derive(Args)]
#[command(override_usage = "belljar skill run [OPTIONS] PATH [SCRIPT] [ARGS]... [-- ARGS]...")]
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
    /// Its arguments; those that begin with a dash go behind `--`
    #[arg(value_name = "ARGS")]
    words: Vec<OsString>,
    /// Its arguments
    #[arg(value_name = "ARGS", last = true)]
    arguments: Vec<OsString>,
    /// The script's working folder, from the current one
    #[arg(long, value_name = "PATH")]
    cwd: Option<PathBuf>,
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
    let mut work = work_of(options, &skill)?;
    work.tell_masks();
    let asking = Asking { terminal: terminal.as_ref(), signals: &signals };
    let plan = plan(options, &skill, planned(&work), &environment, asking)?;
    let spec = specification(options, &skill, &plan, &work)?;
    work.keep();
    let ended = run_to_end(&*backend, &spec, &signals);
    if let Some(ending) = &ending {
        ending.write(&ended)?;
    }
    let (report, changes) = work.after(ended, &signals)?;
    tell_end(&report, &spec);
    tell_denied(report.activity.as_deref());
    if report.end.exit_code() != 0 {
        hints::tell_arguments(&spec);
        hint_at_packages(&skill, &environment, &*backend, &options.path);
    }
    let fate = work.settle(&changes, Decision::of(options.apply, terminal.as_ref()), &signals)?;
    if let Some(place) = &report_place {
        let report = RunReport::new(&spec, &report).of_skill(&plan).with_work(&changes, fate);
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

/// The folder that the script works on, as options and skill say.
fn work_of(options: &Options, skill: &Skill) -> Result<Work, Failure> {
    let (name, place) = (skill.name().to_owned(), PathBuf::from(WORK_FOLDER));
    match &options.work {
        None => Work::layered(name, current_folder()?, place, Ran::Skill),
        Some(path) if path.as_os_str() == "none" => Work::empty(name, place),
        Some(path) => {
            let path = absolute(path)?;
            let folder = Folder::at(&path).map_err(|_| {
                Failure::new(format!("--work: {} is no folder", printable_path(&path)))
                    .hint("make it first, or use `--work none` for an empty one")
                    .code(Failure::CANNOT_START)
            })?;
            Ok(Work::held(&path, folder, place, Ran::Skill))
        }
    }
}

/// The folder as the plan has it.
fn planned(work: &Work) -> WorkFolder {
    let source = work.source().clone();
    match work.is_layered() {
        true => WorkFolder::CopyOnWrite(source),
        false => WorkFolder::ReadWrite(source),
    }
}

/// Plans the run, first with what the user has said, then with what the skill was granted.
fn plan(
    options: &Options,
    skill: &Skill,
    work: WorkFolder,
    environment: &Environment,
    asking: Asking<'_>,
) -> Result<RunPlan, Failure> {
    let mut run_options = RunOptions::new(work);
    run_options.flags = permissions::flags(&options.common)?;
    run_options.user_policy = options.permissions.user_policy()?;
    run_options.host_env = permissions::host_environment();
    environment.apply(&mut run_options);
    let make = |run_options: &RunOptions| {
        plan_run(skill, script_of(options, skill).0, &[], run_options)
            .map_err(|error| problem::of_planning(&options.path, &error))
    };
    let plan = make(&run_options)?;
    if permissions::decide(&options.permissions, &plan, asking)? {
        run_options.consent = Consent::Given;
        return make(&run_options);
    }
    Ok(plan)
}

/// The script that was named, or the word that can only be an argument: the skill has one script,
/// which is not called so, and the word is no name of a script at all.
fn script_of<'o>(options: &'o Options, skill: &Skill) -> (Option<&'o str>, Option<&'o str>) {
    const ENDINGS: [&str; 9] = ["bash", "cjs", "js", "mjs", "pl", "py", "rb", "sh", "ts"];
    let Some(word) = options.script.as_deref() else { return (None, None) };
    let extension = Path::new(word).extension().and_then(|it| it.to_str());
    let is_name = extension.is_some_and(|it| ENDINGS.contains(&it)) || word.starts_with("scripts/");
    let is_unknown =
        matches!(choose_script(skill, Some(word)), Err(PlanError::NoSuchScript { .. }));
    match is_unknown && !is_name && choose_script(skill, None).is_ok() {
        true => (None, Some(word)),
        false => (Some(word), None),
    }
}

/// What an argument means inside: a path in the folder that the script works on is seen elsewhere.
fn in_work(argument: &Path, folder: Option<&Path>) -> PathBuf {
    match folder.and_then(|folder| argument.strip_prefix(folder).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => WORK_FOLDER.into(),
        Some(rest) => Path::new(WORK_FOLDER).join(rest),
        None => argument.to_path_buf(),
    }
}

fn specification(
    options: &Options,
    skill: &Skill,
    plan: &RunPlan,
    work: &Work,
) -> Result<SandboxSpec, Failure> {
    let mut spec = runner::spec_of(plan).map_err(|error| problem::of_runner(&error))?;
    // Arguments need not be text, so they do not go through the plan.
    let here = work.origin_folder();
    let first = script_of(options, skill).1.map(OsString::from);
    let arguments = first.iter().chain(&options.words).chain(&options.arguments);
    spec.program.extend(arguments.map(|it| in_work(Path::new(it), here).into_os_string()));
    if let Some(path) = &options.cwd {
        spec.working_directory = Path::new(WORK_FOLDER).join(in_work(path, here));
    }
    work.complete(&mut spec);
    options.common.apply(&mut spec)?;
    options.common.network.apply_beside_rules(&mut spec)?;
    NetworkOptions::tell_offline(&mut spec);
    if options.learn.is_some() {
        spec.recording = Recording::On;
    }
    Ok(spec)
}
