//! `--install` for packages of Node, from a registry that this test plays.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use place::{Finished, Place, names};

/// A registry with a package for every argument `NAME=SCRIPT`; the script is run when it is
/// installed. It prints its port, and then the path of every request.
const REGISTRY: &str = r#"
import http.server, io, json, sys, tarfile
packages = dict(argument.split("=", 1) for argument in sys.argv[1:])

def archive(name):
    scripts = {"postinstall": packages[name]} if packages[name] else {}
    package = {"name": name, "version": "1.0.0", "main": "index.js", "scripts": scripts}
    files = {"package.json": json.dumps(package), "index.js": f"module.exports = '{name}';\n"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue(), package

class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.strip("/").removesuffix(".tgz")
        if name not in packages:
            return self.send_error(404)
        body, package = archive(name)
        if not self.path.endswith(".tgz"):
            package["dist"] = {"tarball": f"http://127.0.0.1:{port}/{name}.tgz"}
            package["hasInstallScript"] = bool(packages[name])
            whole = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": package}}
            body = json.dumps(whole).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
port = server.server_address[1]
print(port, flush=True)
server.serve_forever()
"#;

/// The registry, which ends with the test.
struct Registry {
    server: Child,
    port: String,
}

impl Registry {
    fn start(packages: &[(&str, &str)]) -> Self {
        let mut server = Command::new("/usr/bin/python3")
            .args(["-c", REGISTRY])
            .args(packages.iter().map(|(name, script)| format!("{name}={script}")))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { server, port: port.trim().to_owned() }
    }

    /// Runs `belljar skill`, with this as what npm is configured for.
    fn run(&self, place: &Place, arguments: &[&str]) -> Finished {
        let mut command = place.skill(arguments);
        command
            .env("XDG_CACHE_HOME", place.path("cache"))
            .env("npm_config_registry", format!("http://127.0.0.1:{}/", self.port))
            .env("npm_config_userconfig", place.path("none"));
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env_remove(proxy).env_remove(proxy.to_lowercase());
        }
        let done = Finished::of(&command.output().unwrap());
        assert_eq!(names(&place.path("tmp")), Vec::<String>::new(), "something was left behind");
        done
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn has_npm() -> bool {
    let is_here = Path::new("/usr/bin/node").exists() && Path::new("/usr/bin/npm").exists();
    if !is_here {
        eprintln!("SKIPPED: there is no /usr/bin/npm");
    }
    is_here
}

#[test]
fn packages_are_installed_once_and_used_read_only() {
    if !has_npm() {
        return;
    }
    let place = Place::new();
    let script = "console.log(require('small-thing'));\n\
                  try { require('fs').writeFileSync(require.resolve('small-thing'), ''); }\n\
                  catch (e) { console.log(e.code); }\n";
    place.file("probe/scripts/go.cjs", script);
    let registry = Registry::start(&[("small-thing", "")]);
    let before = registry.run(&place, &["run", "../probe"]);
    assert_eq!(before.code, Some(1), "{before:?}");
    assert!(before.err.contains("--install"), "{before:?}");

    let first = registry.run(&place, &["run", "--install", "../probe"]);
    assert_eq!(first.out, "small-thing\nEROFS\n", "{first:?}");
    assert!(first.err.contains("small-thing  for scripts/go.cjs:1"), "{first:?}");

    // Without the registry it can only be the one from the cache.
    drop(registry);
    let gone = Registry { server: spent(), port: "9".to_owned() };
    for arguments in [&["run", "--install", "../probe"][..], &["run", "../probe"]] {
        let again = gone.run(&place, arguments);
        assert_eq!((again.code, again.out.as_str()), (Some(0), first.out.as_str()), "{again:?}");
        assert!(!again.err.contains("installing"), "{again:?}");
    }
}

/// A process that has nothing to do.
fn spent() -> Child {
    Command::new("true").spawn().unwrap()
}

#[test]
fn a_script_that_fails_keeps_no_other_from_running() {
    if !has_npm() {
        return;
    }
    let place = Place::new();
    place.file(
        "probe/scripts/go.cjs",
        "for (const name of ['a-bad', 'b-good', 'c-bad', 'd-good']) {\n\
         \x20   const folder = require('path').dirname(require.resolve(name));\n\
         \x20   console.log(require(name), require('fs').existsSync(folder + '/made'));\n}\n",
    );
    place.file(
        "probe/package.json",
        r#"{"dependencies": {"a-bad": "1", "b-good": "1", "c-bad": "1", "d-good": "1"}}"#,
    );
    let registry = Registry::start(&[
        ("a-bad", "exit 3"),
        ("b-good", "echo 1 > made"),
        ("c-bad", "exit 4"),
        ("d-good", "echo 1 > made"),
    ]);
    let done = registry.run(&place, &["run", "--install", "../probe"]);
    assert_eq!(done.out, "a-bad false\nb-good true\nc-bad false\nd-good true\n", "{done:?}");
    for package in ["a-bad", "c-bad"] {
        let words = format!("warning: the install script of {package} failed");
        assert_eq!(done.err.matches(&words).count(), 1, "{done:?}");
    }
}

#[test]
fn what_the_registry_does_not_have_is_an_error_that_leaves_nothing() {
    if !has_npm() {
        return;
    }
    let place = Place::new();
    place.file("probe/scripts/go.cjs", "console.log(require('nowhere-at-all'));\n");
    let registry = Registry::start(&[]);
    let done = registry.run(&place, &["run", "--install", "../probe"]);
    assert_eq!(done.code, Some(125), "{done:?}");
    assert!(done.err.contains("error: the registry has no package `nowhere-at-all"), "{done:?}");
    assert!(done.err.contains("hint: "), "{done:?}");
    assert_eq!(done.out, "", "the script ran without its packages: {done:?}");
    let left = names(&place.path("cache/belljar/environments"));
    assert!(left.iter().all(|name| name.ends_with(".lock")), "{left:?}");
}
