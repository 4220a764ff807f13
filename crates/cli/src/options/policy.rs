//! A policy of the user's for a program, as skills have one.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;
use sandbox::ExitReport;
use sandbox_spec::{Limits, Mount, MountAccess, Ownership, Recording, SandboxSpec};
use skills::RunPlan;
use skills::policy::{Access, Consent, Layers, Policy, merge};

use super::{CommonOptions, home_folder, set_variable};
use crate::failure::Failure;
use crate::project::name_of;
use crate::skill::learn::Lessons;
use crate::skill::permissions::{flags, host_environment, read_policy};

/// Options about what a program may use.
#[derive(Args, Debug)]
#[command(next_help_heading = "Permissions")]
pub struct PolicyOptions {
    /// Hold the program to your own policy, in the form of a belljar.yaml
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Write the smallest policy that would have sufficed, for --policy, or add to one
    #[arg(long, value_name = "FILE")]
    learn: Option<PathBuf>,
}

/// What is learned in a run.
pub struct Learning {
    lessons: Lessons,
    plan: RunPlan,
}

impl Learning {
    /// Writes the policy.
    pub fn write(self, report: &ExitReport) -> Result<(), Failure> {
        match &report.activity {
            Some(activity) => self.lessons.write(activity, &self.plan),
            None => Ok(()),
        }
    }
}

impl PolicyOptions {
    /// Puts what the policy says into a specification. What the flags say goes before it.
    pub fn apply(
        &self,
        common: &CommonOptions,
        spec: &mut SandboxSpec,
    ) -> Result<Option<Learning>, Failure> {
        if self.policy.is_none() && self.learn.is_none() {
            return Ok(None);
        }
        let lessons = self.learn.as_deref().map(Lessons::open).transpose()?;
        let user = self.policy.as_deref().map(read_policy).transpose()?.unwrap_or_default();
        let plan = plan(common, &user, spec)?;
        if self.policy.is_some() {
            hold(spec, &plan, &user, common)?;
        }
        if lessons.is_some() {
            spec.recording = Recording::On;
        }
        Ok(lessons.map(|lessons| Learning { lessons, plan }))
    }
}

/// The plan of a run of this program, as far as a policy takes part in it.
fn plan(common: &CommonOptions, user: &Policy, spec: &SandboxSpec) -> Result<RunPlan, Failure> {
    let home = home_folder();
    let effective = merge(&Layers {
        flags: &flags(common)?,
        user,
        skill: &Policy::default(),
        consent: Consent::Withheld,
        home: home.as_deref(),
    });
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let policy = effective.policy;
    Ok(RunPlan {
        skill: name_of(spec.program.first().map_or(OsStr::new("shell"), |it| it.as_os_str())),
        script: spec.program.iter().map(text).collect::<Vec<_>>().join(" "),
        argv: spec.program.iter().map(text).collect(),
        alternatives: Vec::new(),
        cwd: spec.working_directory.to_string_lossy().into_owned(),
        mounts: Vec::new(),
        links: Vec::new(),
        env: spec.environment.iter().map(|(name, value)| (text(name), text(value))).collect(),
        limits: policy.limits,
        network: policy.network.clone().unwrap_or_default(),
        files: policy.files.clone(),
        programs: policy.programs.clone(),
        asks: effective.asks,
        policy,
    })
}

fn hold(
    spec: &mut SandboxSpec,
    plan: &RunPlan,
    user: &Policy,
    common: &CommonOptions,
) -> Result<(), Failure> {
    let planned = plan
        .to_spec()
        .map_err(|error| Failure::new(format!("--policy: {error}")).code(Failure::CANNOT_START))?;
    spec.rules = planned.rules;
    spec.network = planned.network;
    common.network.apply_beside_rules(spec)?;
    let Limits { memory, processes, timeout, output, disk, .. } = planned.limits;
    spec.limits.memory = memory.or(spec.limits.memory);
    spec.limits.processes = processes.or(spec.limits.processes);
    spec.limits.timeout = timeout.or(spec.limits.timeout);
    spec.limits.output = output.or(spec.limits.output);
    spec.limits.disk = disk.or(spec.limits.disk);
    for mount in &user.mounts {
        let access = match mount.access {
            Access::Read => MountAccess::ReadOnly,
            Access::Write => MountAccess::ReadWrite,
        };
        let mount = Mount {
            source: PathBuf::from(&mount.source).into(),
            destination: PathBuf::from(&mount.target),
            access,
            ownership: Ownership::default(),
            upper: None,
            masked: Vec::new(),
            is_counted: false,
        };
        if spec.mounts.iter().all(|it| it.destination != mount.destination) {
            spec.mounts.push(mount);
        }
    }
    let (host, said) = (host_environment(), common.named_variables());
    let passed = user.env.pass.iter().filter_map(|name| Some((name, host.get(name)?)));
    for (name, value) in passed.chain(&user.env.set) {
        if !said.iter().any(|it| **it == **name) {
            set_variable(&mut spec.environment, name.into(), value.into());
        }
    }
    Ok(())
}
