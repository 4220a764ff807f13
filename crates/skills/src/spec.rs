//! From a plan to a sandbox specification, which every backend understands.

use sandbox_spec::{
    ByteSize, EgressRules, HostRule, HostRuleError, Limits, Link, Mount, MountAccess,
    NetworkPolicy, Ownership, SandboxSpec, Tmpfs,
};
use thiserror::Error;

use crate::plan::{HOME_FOLDER, MountKind, PlannedMount, RunPlan};

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
    /// a policy that narrows what a specification cannot narrow
    #[error("the policy narrows `{0}`, which no backend enforces yet")]
    NotEnforced(&'static str),
}

impl RunPlan {
    /// The specification of a sandbox that runs this plan's first command.
    ///
    /// A copy-on-write mount becomes an overlay in memory: whoever wants to keep what was written
    /// names a folder for it in the mount's `upper`.
    pub fn to_spec(&self) -> Result<SandboxSpec, SpecError> {
        if self.files.is_some() {
            return Err(SpecError::NotEnforced("files"));
        }
        if self.programs.is_some() {
            return Err(SpecError::NotEnforced("programs"));
        }
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
            ..Limits::default()
        };
        if !self.network.allow.is_empty() {
            let rules: Result<Vec<HostRule>, _> =
                self.network.allow.iter().map(|host| host.parse()).collect();
            spec.network = NetworkPolicy::Allow(EgressRules::allowing(rules?));
        }
        Ok(spec)
    }
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
    fn what_cannot_be_enforced_is_an_error() {
        let narrow = plan(WorkFolder::Empty, "programs: [git]");
        assert!(matches!(narrow.to_spec(), Err(SpecError::NotEnforced("programs"))));
        let narrow = plan(WorkFolder::Empty, "files: {read: [/usr]}");
        assert!(matches!(narrow.to_spec(), Err(SpecError::NotEnforced("files"))));
    }
}
