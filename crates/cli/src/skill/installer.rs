//! Makes an environment: what is fetched is fetched with the keys, and what is built is built in
//! another sandbox, without keys and without network.

use std::time::Instant;

use sandbox::Backend;
use sandbox_spec::ByteSize;
use skills::deps::{Need, Needs};
use skills::install::{PYTHON_FOLDER, Requirements, Source};
use skills::printable;

use super::environment_cache::Making;
use super::install_node::Node;
use super::install_python::Python;
use super::install_step::{Steps, reached};
use super::registry::{node_source, python_source};
use crate::failure::Failure;
use crate::signals::Signals;

/// Everything that an installation is made of.
pub struct Installation<'a> {
    /// What is installed.
    pub requirements: &'a Requirements,
    /// Why, to tell the user.
    pub needs: &'a Needs,
    /// What becomes the environment.
    pub making: &'a Making,
    /// How much it may take on the disk.
    pub disk: ByteSize,
    /// Hosts that the user allows besides the registry's.
    pub extra_hosts: &'a [String],
    /// What runs the sandboxes.
    pub backend: &'a dyn Backend,
    /// Signals to us, which end the installation.
    pub signals: &'a Signals,
}

impl Installation<'_> {
    /// Makes the environment.
    pub fn run(&self) -> Result<(), Failure> {
        let started = Instant::now();
        let content = self.making.content()?;
        let steps = Steps::new(self.backend, self.signals, self.making, self.disk)?;
        if !self.requirements.python.is_empty() {
            let folder = content.make(PYTHON_FOLDER)?;
            let find = |index: &str| self.widened(python_source(index));
            let python = Python::new(&steps, self.requirements, folder, find)?;
            self.announce("Python", &self.needs.python, python.source());
            python.fill()?;
        }
        if !self.requirements.node.is_empty() {
            let source = self.widened(node_source());
            let node = Node::new(&steps, self.requirements, &content, source)?;
            self.announce("Node", &self.needs.node, node.source());
            node.fill()?;
        }
        eprintln!("installed after {} s", started.elapsed().as_secs());
        Ok(())
    }

    fn widened(&self, mut source: Source) -> Source {
        if !source.hosts.is_empty() {
            source.hosts.extend(self.extra_hosts.iter().cloned());
        }
        source
    }

    /// Says what is about to be installed, why, and from where.
    fn announce(&self, kind: &str, needs: &[Need], source: &Source) {
        eprintln!("installing packages of {kind} in a sandbox that reaches {}:", reached(source));
        for need in needs.iter().filter(|need| !need.is_optional) {
            let asked = printable(need.requirement.as_deref().unwrap_or(&need.name));
            match need.seen.first() {
                Some(seen) => eprintln!("  {asked}  for {}:{}", printable(&seen.file), seen.line),
                None => eprintln!("  {asked}"),
            }
        }
    }
}
