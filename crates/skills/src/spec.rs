//! From a plan to a sandbox specification, which every backend understands.

use std::collections::BTreeSet;

use sandbox_spec::{
    ByteSize, EgressRules, FileRules, HostRule, HostRuleError, Limits, Link, Mount, MountAccess,
    NetworkPolicy, Ownership, PathPattern, PathPatternError, PathRules, SandboxSpec, Tmpfs,
};
use thiserror::Error;

use crate::plan::{GUEST_PATH, HOME_FOLDER, MountKind, PlannedMount, RunPlan};

/// Folders that every sandbox has, empty and in memory.
const BUILT_IN: [&str; 2] = [HOME_FOLDER, "/tmp"];
/// How much an empty work folder holds.
const EMPTY_WORK_MIB: u32 = 1024;

/// Why a plan cannot be put into a specification. What a policy says is never left out silently.
#[derive(Debug, Error)]
pub enum SpecError {
    /// a host that cannot be understood
    #[error(transparent)]
    Host(#[from] HostRuleError),
    /// a path that cannot be understood
    #[error(transparent)]
    Path(#[from] PathPatternError),
}

impl RunPlan {
    /// The specification of a sandbox that runs this plan's first command.
    ///
    /// A copy-on-write mount becomes an overlay in memory: whoever wants to keep what was written
    /// names a folder for it in the mount's `upper`.
    pub fn to_spec(&self) -> Result<SandboxSpec, SpecError> {
        let mut spec = SandboxSpec::new(self.argv.iter());
        spec.environment =
            self.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        spec.working_directory = (&self.cwd).into();
        for planned in &self.mounts {
            match mount_of(planned) {
                Some(mount) => spec.mounts.push(mount),
                None if BUILT_IN.contains(&planned.target.as_str()) => {}
                None => spec.tmpfs.push(Tmpfs {
                    destination: (&planned.target).into(),
                    size: ByteSize::from_mib(EMPTY_WORK_MIB),
                }),
            }
        }
        let link =
            |(path, target): &(String, String)| Link { path: path.into(), target: target.into() };
        spec.links = self.links.iter().map(link).collect();
        spec.limits = Limits {
            memory: self.limits.memory_bytes.map(ByteSize),
            processes: self.limits.processes.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            timeout: self.limits.timeout,
            output: self.limits.output_bytes.map(ByteSize),
            disk: self.limits.disk_bytes.map(ByteSize),
            ..Limits::default()
        };
        if !self.network.allow.is_empty() {
            let rules = |hosts: &BTreeSet<String>| -> Result<Vec<HostRule>, HostRuleError> {
                hosts.iter().map(|host| host.parse()).collect()
            };
            spec.network = NetworkPolicy::Allow(EgressRules {
                allow: rules(&self.network.allow)?,
                deny: rules(&self.network.deny)?,
                hosts: Vec::new(),
            });
        }
        spec.rules = self.rules()?;
        Ok(spec)
    }

    fn rules(&self) -> Result<PathRules, PathPatternError> {
        type Patterns = Result<Vec<PathPattern>, PathPatternError>;
        let patterns =
            |paths: &BTreeSet<String>| -> Patterns { paths.iter().map(|it| it.parse()).collect() };
        let files = self.files.as_ref().map(|files| {
            Ok::<_, PathPatternError>(FileRules {
                read: patterns(&files.read)?,
                write: patterns(&files.write)?,
            })
        });
        let programs = self.programs.as_ref().map(|programs| {
            let path = self.env.get("PATH").map_or(GUEST_PATH, String::as_str);
            let places = programs.iter().flat_map(|program| places_of(program, path));
            places.map(|place| place.parse()).collect::<Patterns>()
        });
        Ok(PathRules { files: files.transpose()?, programs: programs.transpose()? })
    }
}

/// Where a program is: a name without a slash is looked for in `PATH`.
fn places_of(program: &str, path: &str) -> Vec<String> {
    if program.contains('/') {
        return vec![program.to_owned()];
    }
    path.split(':').map(|folder| format!("{folder}/{program}")).collect()
}

/// The mount, or nothing for an empty folder.
fn mount_of(planned: &PlannedMount) -> Option<Mount> {
    let access = match planned.kind {
        MountKind::ReadOnly => MountAccess::ReadOnly,
        MountKind::ReadWrite => MountAccess::ReadWrite,
        MountKind::CopyOnWrite => MountAccess::Overlay,
        MountKind::Empty => return None,
    };
    Some(Mount {
        source: planned.source.clone()?,
        destination: (&planned.target).into(),
        access,
        ownership: Ownership::default(),
        upper: None,
        masked: Vec::new(),
        is_counted: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{RunOptions, WorkFolder, plan_run};
    use crate::policy;
    use crate::testing::SkillBuilder;

    fn plan(work: WorkFolder, policy_text: &str) -> RunPlan {
        let skill = SkillBuilder::new("a").file("scripts/go.py", "").load();
        let mut options = RunOptions::new(work);
        options.flags = policy::read("flags", policy_text).policy;
        plan_run(&skill, None, &["x".to_owned()], &options).unwrap()
    }

    #[test]
    fn mounts_limits_and_environment_arrive() {
        let text = "limits: {memory: 1G, processes: 9}\nmounts: [{source: /m, target: /data}]\n";
        let spec = plan(WorkFolder::CopyOnWrite("/w".into()), text).to_spec().unwrap();
        assert_eq!(spec.program, ["python3", "/skill/scripts/go.py", "x"]);
        assert_eq!(spec.working_directory, std::path::Path::new("/work"));
        let access: Vec<MountAccess> = spec.mounts.iter().map(|mount| mount.access).collect();
        assert_eq!(access, [MountAccess::ReadOnly, MountAccess::Overlay, MountAccess::ReadOnly]);
        assert!(spec.tmpfs.is_empty());
        assert_eq!(spec.limits.memory, Some(ByteSize::from_mib(1024)));
        assert_eq!(spec.limits.processes, Some(9));
        assert_eq!(spec.network, NetworkPolicy::Loopback);
        assert_eq!(spec.identity.home, std::path::Path::new(HOME_FOLDER));
        assert!(spec.environment.contains(&("LANG".into(), "C.UTF-8".into())));
    }

    #[test]
    fn an_empty_work_folder_is_in_memory() {
        let spec = plan(WorkFolder::Empty, "").to_spec().unwrap();
        assert_eq!(spec.mounts.len(), 1);
        assert_eq!(spec.tmpfs[0].destination, std::path::Path::new("/work"));
    }

    #[test]
    fn hosts_become_rules() {
        let spec = plan(WorkFolder::Empty, "network: {allow: [a.org:443]}").to_spec().unwrap();
        let rules = EgressRules::allowing(vec!["a.org:443".parse().unwrap()]);
        assert_eq!(spec.network, NetworkPolicy::Allow(rules));
    }

    #[test]
    fn rules_about_paths_arrive() {
        let text = "programs: [git, /skill/x]\nfiles: {read: [/usr/], write: [/work/*.csv]}";
        let rules = plan(WorkFolder::Empty, text).to_spec().unwrap().rules;
        let files = rules.files.unwrap();
        assert_eq!(files.read, ["/usr".parse().unwrap()]);
        assert_eq!(files.write, ["/work/*.csv".parse().unwrap()]);
        let programs = rules.programs.unwrap();
        assert!(programs.contains(&"/usr/bin/git".parse().unwrap()));
        assert!(programs.contains(&"/skill/x".parse().unwrap()));
        assert!(plan(WorkFolder::Empty, "").to_spec().unwrap().rules.is_empty());
    }
}
