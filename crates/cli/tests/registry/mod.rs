//! A package registry that a test serves on loopback: npm's form and PyPI's, with whatever packages
//! a hostile author may upload.

#![allow(clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(dead_code, reason = "no test uses everything")]

mod packages;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

pub use packages::{Npm, Source, Wheel};

/// The user and the password that a locked registry wants.
const USER: &str = "reader";
pub const PASSWORD: &str = "hush-7d1f";

/// What is served: bodies by path.
#[derive(Default)]
struct Shelf {
    bodies: BTreeMap<String, Vec<u8>>,
    /// The files of each project of Python.
    projects: BTreeMap<String, Vec<String>>,
    is_locked: bool,
}

/// A registry, which ends with the test's process.
pub struct Registry {
    port: u16,
    shelf: Arc<Mutex<Shelf>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    /// Starts with nothing on the shelf.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let registry = Self { port, shelf: Arc::default(), requests: Arc::default() };
        let (shelf, requests) = (Arc::clone(&registry.shelf), Arc::clone(&registry.requests));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shelf, requests) = (Arc::clone(&shelf), Arc::clone(&requests));
                std::thread::spawn(move || serve(&stream, &shelf, &requests));
            }
        });
        registry
    }

    /// Lets in only who has the password.
    pub fn lock(self) -> Self {
        self.shelf.lock().unwrap().is_locked = true;
        self
    }

    /// Serves a package of Node.
    pub fn npm(self, package: &Npm) -> Self {
        let name = package.name;
        let body = package.document(&format!("http://127.0.0.1:{}/npm/-/{name}.tgz", self.port));
        let mut shelf = self.shelf.lock().unwrap();
        shelf.bodies.insert(format!("/npm/{name}"), body.into_bytes());
        shelf.bodies.insert(format!("/npm/-/{name}.tgz"), package.archive());
        drop(shelf);
        self
    }

    /// Serves a package of Python that is ready to be unpacked.
    pub fn wheel(self, wheel: &Wheel) -> Self {
        self.file(wheel.name, wheel.file_name(), wheel.archive())
    }

    /// Serves a package of Python that has to be built.
    pub fn source(self, source: &Source) -> Self {
        self.file(source.name, source.file_name(), source.archive())
    }

    fn file(self, project: &str, name: String, body: Vec<u8>) -> Self {
        let mut shelf = self.shelf.lock().unwrap();
        shelf.bodies.insert(format!("/files/{name}"), body);
        let project = project.replace('_', "-");
        shelf.projects.entry(project).or_default().push(name);
        drop(shelf);
        self
    }

    /// The address of something here, without a password.
    pub fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Configures pip and npm for this registry: pip with the password in the address, as many
    /// configurations have it, and npm by a file in a folder.
    pub fn configure(&self, command: &mut Command, folder: &Path) {
        let is_locked = self.shelf.lock().unwrap().is_locked;
        let keys = if is_locked { format!("{USER}:{PASSWORD}@") } else { String::new() };
        let address = format!("http://{keys}127.0.0.1:{}", self.port);
        let mut npm = format!("registry={}\n", self.address("/npm/"));
        if is_locked {
            npm += &format!("//127.0.0.1:{}/npm/:_auth={}\n", self.port, npm_key());
        }
        std::fs::write(folder.join("npmrc"), npm).unwrap();
        command
            .env("PIP_INDEX_URL", format!("{address}/simple/"))
            .env("PIP_EXTRA_INDEX_URL", format!("{address}/simple/"))
            .env("PIP_RETRIES", "0")
            .env("npm_config_fetch_retries", "0")
            .env("npm_config_userconfig", folder.join("npmrc"))
            .env_remove("PIP_FIND_LINKS");
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env_remove(proxy).env_remove(proxy.to_lowercase());
        }
    }

    /// The paths that were asked for.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// What code of packages told this registry: nothing, if it had no network.
    pub fn leaks(&self) -> Vec<String> {
        self.requests()
            .into_iter()
            .filter(|path| path_at_a_proxy(path).starts_with("/leak"))
            .collect()
    }
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream, shelf: &Mutex<Shelf>, requests: &Mutex<Vec<String>>) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let first = lines.next()?.ok()?;
        let mut key = None;
        loop {
            let line = lines.next()?.ok()?;
            if line.is_empty() {
                break;
            }
            let header = line.split_once(": ");
            let is_key = |name: &str| name.eq_ignore_ascii_case("authorization");
            if let Some((_, value)) = header.filter(|(name, _)| is_key(name)) {
                key = Some(value.to_owned());
            }
        }
        let asked = first.split(' ').nth(1)?;
        requests.lock().unwrap().push(asked.to_owned());
        let path = path_at_a_proxy(asked).to_owned();
        let (status, body) = answer(&shelf.lock().unwrap(), &path, key.as_deref());
        let kind = if path.starts_with("/simple/") { "text/html" } else { "application/json" };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             WWW-Authenticate: Basic realm=\"packages\"\r\n\r\n",
            body.len()
        );
        let mut to = stream;
        to.write_all(head.as_bytes()).and_then(|()| to.write_all(&body)).ok()?;
    }
}

/// The path in a request. One to a proxy has the whole address, and the registry plays one that finds
/// every host in itself.
fn path_at_a_proxy(asked: &str) -> &str {
    let after = asked.strip_prefix("http://").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    after.unwrap_or(asked)
}

fn answer(shelf: &Shelf, path: &str, key: Option<&str>) -> (&'static str, Vec<u8>) {
    let wanted = format!("Basic {}", npm_key());
    if shelf.is_locked && key != Some(wanted.as_str()) {
        return ("401 Unauthorized", Vec::new());
    }
    if let Some(body) = shelf.bodies.get(path) {
        return ("200 OK", body.clone());
    }
    let project = path.strip_prefix("/simple/").map(|rest| rest.trim_end_matches('/'));
    match project.and_then(|project| shelf.projects.get(project)) {
        Some(files) => {
            let links = files.iter().map(|file| format!("<a href=\"/files/{file}\">{file}</a>\n"));
            let page = format!(
                "<!DOCTYPE html>\n<html><body>\n{}</body></html>\n",
                links.collect::<String>()
            );
            ("200 OK", page.into_bytes())
        }
        None => ("404 Not Found", b"{\"error\": \"Not found\"}".to_vec()),
    }
}

/// The user and the password as npm has them.
pub fn npm_key() -> String {
    base64(format!("{USER}:{PASSWORD}").as_bytes())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..group.len()].copy_from_slice(group);
        let number = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for n in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * n)) as usize & 63];
            text.push(if n <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}
