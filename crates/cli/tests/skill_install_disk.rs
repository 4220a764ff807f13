//! `--install` with packages that fill the disk: all that an installation keeps has one limit.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod registry;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use place::{Finished, Place, names};
use registry::{Npm, Registry, Source};

/// What the packages may take: more than an empty virtual environment, with pip in it, needs.
const LIMIT: u64 = 128 << 20;
/// What they try to write, in each place.
const WANTED_MIB: u32 = 400;
/// Names and folders are counted otherwise by the host than by us.
const SLACK: u64 = 16 << 20;

/// What everything in a folder takes. What goes meanwhile takes nothing.
fn taken(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| {
        let Ok(meta) = entry.metadata() else { return 0 };
        meta.blocks() * 512 + if meta.is_dir() { taken(&entry.path()) } else { 0 }
    };
    entries.flatten().map(size).sum()
}

/// Installs, and looks all the time at how much there is in the cache.
fn install(place: &Place, registry: &Registry) -> (Finished, u64) {
    let mut command = place.skill(&["run", "--install", "--install-limit", "128M", "../probe"]);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    registry.configure(&mut command, &place.path("home"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(taken(&place.path("cache")));
        std::thread::sleep(Duration::from_millis(20));
    }
    (Finished::of(&child.wait_with_output().unwrap()), peak)
}

#[test]
fn a_build_that_writes_without_end_is_stopped() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import small_thing\n");
    // By calls and through a mapping, in every folder that it may write to.
    let attack = format!(
        "import mmap, os, tempfile\n\
         for folder in ['/install/built', '/install/source', '/environment/python', tempfile.gettempdir(), '.']:\n\
         \x20   try:\n        with open(folder + '/fill', 'wb') as file:\n\
         \x20           for _ in range({WANTED_MIB}): file.write(os.urandom(1 << 20)); file.flush()\n\
         \x20   except OSError: pass\n\
         \x20   try:\n        with open(folder + '/map', 'w+b') as file:\n\
         \x20           file.truncate({WANTED_MIB} << 20)\n\
         \x20           with mmap.mmap(file.fileno(), 0) as memory:\n\
         \x20               for at in range(0, len(memory), 4096): memory[at] = 1\n\
         \x20   except (OSError, ValueError): pass\n\
         open(tempfile.gettempdir() + '/more', 'wb').write(bytes(1 << 20))\n"
    );
    let registry = Registry::start().source(&Source::new("small_thing", attack));
    let (done, peak) = install(&place, &registry);
    assert!(peak <= LIMIT + SLACK, "{} MiB were on the disk: {done:?}", peak >> 20);
    done.is_failure(125, "more than 128M on the disk", "--install-limit");
    let left = names(&place.path("cache/belljar/environments"));
    assert!(left.iter().all(|name| name.ends_with(".lock")), "{left:?}");
}

#[test]
fn a_script_that_writes_without_end_is_stopped() {
    let place = Place::new();
    place.file("probe/scripts/go.cjs", "console.log(require('small-thing'));\n");
    let attack = format!(
        "for f in fill /environment/node/fill $TMPDIR/fill; do \
         head -c {WANTED_MIB}M /dev/urandom > $f; done; test -s fill"
    );
    let registry = Registry::start().npm(&Npm::new("small-thing", attack));
    let (done, peak) = install(&place, &registry);
    assert!(peak <= LIMIT + SLACK, "{} MiB were on the disk: {done:?}", peak >> 20);
    assert!(peak >= LIMIT / 2, "the script wrote nothing: {done:?}");
}
