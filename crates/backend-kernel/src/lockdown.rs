//! The layers that the kernel process puts around itself.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use host_sys::{FileRules, Reach, landlock_abi, seccomp};
use kernel_files::root::{read_places, written_places};
use sandbox::{LayerReport, LayerState};
use sandbox_spec::{ContainmentLayer, HostPlace, SandboxSpec};

use crate::control::Refusal;
use crate::kernel_filter;

/// What will hold the kernel process to the files that the specification shows.
pub struct FileLayer(Result<FileRules, LayerState>);

impl FileLayer {
    /// One that allows nothing yet.
    pub fn new(spec: &SandboxSpec) -> Self {
        Self(match landlock_abi() {
            Err(reason) => Err(LayerState::Unavailable(reason.to_string())),
            Ok(version) if forbids_too_much(version, spec) => Err(LayerState::Unused(
                "version 1, of Linux before 5.19, forbids to move files between folders, and some \
                 are to be written here; where it is required it holds all the same"
                    .to_owned(),
            )),
            Ok(version) => {
                FileRules::new(version).map_err(|error| LayerState::Unavailable(error.to_string()))
            }
        })
    }

    /// What the kernel process needs of it.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().ok().map(AsFd::as_fd)
    }

    /// In the starter: allows to read what the tree shows, and what the host says of guest
    /// processes. Returns what is to become of the layer.
    pub fn allow_reading(&self, spec: &SandboxSpec) -> LayerState {
        match &self.0 {
            Ok(rules) => state(allow(rules, read_places(spec), "/proc", Reach::Read)),
            Err(state) => state.clone(),
        }
    }

    /// In the kernel process, when the starter has said what is to become of the layer: holds this
    /// process, and the guest processes to come, to the rules. Must come before the zygote: the host
    /// lets nobody read the memory of a process that is less restricted.
    pub fn restrict_self(&self, spec: &SandboxSpec, said: LayerState) -> LayerReport {
        let state = match (&self.0, said) {
            // What is written is allowed here, for the tree may have made it; with what the standard
            // streams of guest processes are.
            (Ok(rules), LayerState::InForce) => state(
                allow(rules, written_places(spec), "/dev/null", Reach::Write)
                    .and_then(|()| rules.restrict_self()),
            ),
            (Err(state), _) => state.clone(),
            (Ok(_), state) => state,
        };
        LayerReport { layer: ContainmentLayer::Landlock, state }
    }
}

fn allow(rules: &FileRules, places: Vec<HostPlace>, last: &str, reach: Reach) -> io::Result<()> {
    for place in &places {
        match place {
            HostPlace::Path(path) => rules.allow(path, reach)?,
            HostPlace::Held(held) => {
                held.descriptor().map_or(Ok(()), |held| rules.allow_held(held, reach))?;
            }
        }
    }
    rules.allow(Path::new(last), reach)
}

fn state(tried: io::Result<()>) -> LayerState {
    match tried {
        Ok(()) => LayerState::InForce,
        Err(error) => LayerState::Unavailable(error.to_string()),
    }
}

/// Whether this version would break what the guest may do: the first one lets nobody move or link a
/// file into another folder, wherever that is.
fn forbids_too_much(version: u32, spec: &SandboxSpec) -> bool {
    const LETS_MOVE: u32 = 2;
    version < LETS_MOVE
        && !spec.required_containment.contains(&ContainmentLayer::Landlock)
        && !written_places(spec).is_empty()
}

/// Holds this process to the calls that it needs from now on. Guest processes have a filter of
/// their own, which came with the zygote.
pub fn restrict_calls() -> LayerReport {
    let program = kernel_filter::assemble(kernel_filter::RULES);
    let state = state(seccomp::install(&program));
    LayerReport { layer: ContainmentLayer::KernelFilter, state }
}

/// Puts what came of trying into a list of layers.
pub fn note(layers: &mut [LayerReport], tried: LayerReport) {
    if let Some(entry) = layers.iter_mut().find(|entry| entry.layer == tried.layer) {
        *entry = tried;
    }
}

/// Refuses to start without a layer that the specification requires.
pub fn check(spec: &SandboxSpec, layers: &[LayerReport]) -> Result<(), Refusal> {
    let missing = layers.iter().find(|report| {
        report.reason_against().is_some() && spec.required_containment.contains(&report.layer)
    });
    missing.map_or(Ok(()), |report| Err(Refusal::Layer(report.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(mount: &str) -> SandboxSpec {
        let mut spec = SandboxSpec::new(["x"]);
        spec.mounts.push(mount.parse().unwrap());
        spec
    }

    #[test]
    fn the_first_version_holds_only_where_nothing_is_written_or_it_is_required() {
        let mut written = spec("/srv:/srv:rw");
        assert!(forbids_too_much(1, &written));
        assert!(!forbids_too_much(2, &written));
        assert!(!forbids_too_much(1, &spec("/srv:/srv")));
        written.required_containment.insert(ContainmentLayer::Landlock);
        assert!(!forbids_too_much(1, &written));
    }
}
