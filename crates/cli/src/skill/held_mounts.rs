//! Mounts of a run that paths name: the user's own, and those that the skill asks for.
//!
//! What the user names is opened before anything of a stranger runs, an installation included. What
//! the skill asks for is resolved before the question, which names the place that it leads to; a
//! link that is on that path after the answer was put there by somebody else, and is not followed.

use std::io;
use std::path::Path;

use host_sys::beneath::{Folder, Held, Kind};
use sandbox_spec::{HostPlace, printable_path};
use skills::RunPlan;
use skills::policy::Policy;

use crate::failure::Failure;

/// What the user has said in advance, with the mounts in it opened.
pub struct HeldMounts {
    /// What the flags say.
    pub flags: Policy,
    /// What the user's policy file says.
    pub user_policy: Policy,
    places: Vec<HostPlace>,
}

impl HeldMounts {
    /// Opens what both name. What cannot be opened is told of when the sandbox starts.
    pub fn of(flags: Policy, user_policy: Policy) -> Self {
        let mounts = flags.mounts.iter().chain(&user_policy.mounts);
        let places = mounts
            .filter_map(|mount| {
                let held = Held::at(Path::new(&mount.source)).ok()?;
                Some(HostPlace::held(&mount.source, held))
            })
            .collect();
        Self { flags, user_policy, places }
    }

    /// Gives a plan what is held in the place of paths.
    pub fn put_into(&self, plan: &mut RunPlan) -> Result<(), Failure> {
        for mount in &mut plan.mounts {
            let Some(HostPlace::Path(path)) = &mount.source else { continue };
            let known = self.places.iter().find(|place| place.path() == path);
            let place = match known {
                Some(place) => place.clone(),
                None => exactly(path).map_err(|error| {
                    Failure::new(format!("cannot mount {}: {error}", printable_path(path)))
                        .code(Failure::CANNOT_START)
                })?,
            };
            mount.source = Some(place);
        }
        Ok(())
    }
}

/// Holds what an absolute path without links leads to.
fn exactly(path: &Path) -> io::Result<HostPlace> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(HostPlace::held(path, Folder::at_exactly(path)?));
    };
    let held = Folder::at_exactly(parent)?.hold(name)?;
    if held.status.kind == Kind::Link {
        return Err(io::Error::other("it is a link by now"));
    }
    Ok(HostPlace::held(path, held))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use skills::policy;

    use super::*;

    #[test]
    fn what_the_user_names_is_opened_once_and_what_is_asked_for_has_no_links() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let path = |name: &str| top.join(name);
        for name in ["named", "asked", "other"] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("mark"), name).unwrap();
        }
        let said = format!("mounts: [{{source: {}, target: /a}}]\n", path("named").display());
        let flags = policy::read("flags", &said).policy;
        let held = HeldMounts::of(flags, Policy::default());
        let swap = |name: &str| {
            fs::rename(path(name), path("away")).unwrap();
            symlink(path("other"), path(name)).unwrap();
            fs::rename(path("away"), path(&format!("{name}-before"))).unwrap();
        };
        swap("named");
        let place = &held.places[0];
        let mark = super::super::places::folder(place).unwrap().read("mark", 9).unwrap();
        assert_eq!(mark, b"named");
        assert!(exactly(&path("asked")).is_ok() && exactly(&path("asked/mark")).is_ok());
        swap("asked");
        assert!(exactly(&path("asked")).is_err() && exactly(&path("asked/mark")).is_err());
    }
}
