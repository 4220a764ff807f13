//! The options that `run` and `skill run` have in common.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use sandbox_spec::{
    ContainmentLayer, EnvironmentItem, Mount, Output, Recording, SandboxSpec, Trace,
};

use super::limits::LimitOptions;
use super::network::NetworkOptions;
use super::{absolute, set_variable};
use crate::backends;
use crate::failure::Failure;
use crate::launch::Launch;
use crate::report::ReportTarget;

/// Options of everything that starts a sandbox for the user.
#[derive(Args, Debug)]
pub struct CommonOptions {
    /// Make a host folder or file visible inside, read-only unless `rw` or `overlay` (writes go to
    /// memory) is said
    #[arg(long, value_name = "SRC:DST[:ro|rw|overlay]", value_parser = OsStringValueParser::new().try_map(|text| Mount::parse(&text)))]
    pub mount: Vec<Mount>,
    /// Set an environment variable, or pass the host's value on
    #[arg(long, short, value_name = "NAME[=VALUE]", value_parser = OsStringValueParser::new().try_map(|text| EnvironmentItem::parse(&text)))]
    pub env: Vec<EnvironmentItem>,
    /// Copy to a host folder after the run: everything that was created or changed in the root,
    /// or, with PATH:DIR, this file or folder
    #[arg(long, value_name = "[PATH:]DIR", value_parser = OsStringValueParser::new().try_map(|text| Output::parse(&text)))]
    output: Vec<Output>,
    /// Print every system call, to standard error or to a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    trace: Option<Option<PathBuf>>,
    /// Do not start without these containment layers
    #[arg(long, value_name = "LAYER,...", value_parser = layer, value_delimiter = ',')]
    require: Vec<ContainmentLayer>,
    /// Say after the run what the program did: on standard error, or to FILE.html, FILE.json or
    /// FILE.txt
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_parser = ReportTarget::parse)]
    pub report: Option<Option<ReportTarget>>,
    /// Write how the sandbox ended, and what it used, to a file
    #[arg(long, value_name = "FILE")]
    pub json_report: Option<PathBuf>,
    /// What runs the sandbox
    #[arg(long, value_name = "NAME", default_value = backends::DEFAULT)]
    pub backend: String,
    #[command(flatten)]
    pub network: NetworkOptions,
    #[command(flatten)]
    pub limits: LimitOptions,
}

fn layer(name: &str) -> Result<ContainmentLayer, String> {
    ContainmentLayer::from_name(name).ok_or_else(|| {
        let names: Vec<_> = ContainmentLayer::ALL.iter().map(|layer| layer.name()).collect();
        format!("the layers are {}", names.join(", "))
    })
}

impl CommonOptions {
    /// The variables that the user has said something about.
    pub fn named_variables(&self) -> Vec<&OsStr> {
        fn name_of(item: &EnvironmentItem) -> &OsStr {
            match item {
                EnvironmentItem::Value(name, _) | EnvironmentItem::FromHost(name) => name,
            }
        }
        self.env.iter().map(name_of).collect()
    }

    /// How to run the specification.
    pub fn launch(&self) -> Launch<'_> {
        Launch {
            backend: &self.backend,
            report: self.json_report.as_deref(),
            activity: self.report.as_ref().map(Option::as_ref),
        }
    }

    /// Puts into a specification what has nothing to do with permissions: limits, what is copied,
    /// recorded, traced and required.
    pub fn apply(&self, spec: &mut SandboxSpec) -> Result<(), Failure> {
        // A terminal is shared with the guest, which has to know its kind to draw on it.
        if std::io::stdout().is_terminal()
            && let Some(value) = std::env::var_os("TERM")
        {
            set_variable(&mut spec.environment, "TERM".into(), value);
        }
        self.limits.apply(&mut spec.limits);
        for output in &self.output {
            let folder = absolute(&output.folder)?;
            spec.outputs.push(Output { folder, ..output.clone() });
        }
        if self.report.is_some() {
            spec.recording = Recording::On;
        }
        spec.trace = match &self.trace {
            None => Trace::Off,
            Some(None) => Trace::Stderr,
            Some(Some(path)) => Trace::File(absolute(path)?),
        };
        spec.required_containment = self.require.iter().copied().collect();
        Ok(())
    }
}
