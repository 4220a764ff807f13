//! What is here for a skill: the programs, and the modules of Python and Node, that a sandbox
//! with the host's system folders shows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skills::deps::{Inventory, Needs, PathInventory, Presence, python_probe};
use skills::{GUEST_PATH, Skill};

/// Where Node looks on its own, apart from the folders above the script.
const NODE_FOLDERS: [&str; 3] =
    ["/usr/share/nodejs", "/usr/lib/nodejs", "/usr/lib/x86_64-linux-gnu/nodejs"];

/// What is here for one skill.
pub struct Here {
    programs: PathInventory,
    /// The imports that Python cannot find; nothing if Python could not be asked.
    missing_modules: Option<BTreeSet<String>>,
    node_folders: Vec<PathBuf>,
}

impl Here {
    /// Looks around for what a skill needs. Python is asked, without importing what it is asked
    /// about; nothing of the skill is run.
    pub fn look(
        skill: &Skill,
        needs: &Needs,
        venv: Option<&Path>,
        node_modules: Option<&Path>,
    ) -> Self {
        let path = match venv {
            Some(venv) => format!("{}/bin:{GUEST_PATH}", venv.display()),
            None => GUEST_PATH.to_owned(),
        };
        let mut node_folders = vec![skill.root.join("node_modules")];
        node_folders.extend(node_modules.map(Path::to_path_buf));
        node_folders.extend(NODE_FOLDERS.map(PathBuf::from));
        Self {
            missing_modules: missing_modules(needs, &path),
            programs: PathInventory { path },
            node_folders,
        }
    }
}

fn missing_modules(needs: &Needs, path: &str) -> Option<BTreeSet<String>> {
    if needs.python.is_empty() {
        return Some(BTreeSet::new());
    }
    let probe = python_probe(needs);
    let (program, arguments) = probe.split_first()?;
    let output = Command::new("/usr/bin/env")
        .arg(program)
        // Isolated: neither the user's own packages nor the current folder are in a sandbox.
        .arg("-I")
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().map(str::to_owned).collect())
}

impl Inventory for Here {
    fn python_module(&self, import: &str) -> Presence {
        match &self.missing_modules {
            None => Presence::Unknown,
            Some(missing) if missing.contains(import) => Presence::Missing,
            Some(_) => Presence::Present,
        }
    }

    fn node_package(&self, package: &str) -> Presence {
        let is_here = self.node_folders.iter().any(|folder| folder.join(package).is_dir());
        if is_here { Presence::Present } else { Presence::Missing }
    }

    fn program(&self, name: &str) -> Presence {
        self.programs.program(name)
    }
}
