//! Builds the shim and leaves it where `src/shim.rs` embeds it.
//!
//! The shim is a program of its own: static, without the standard library, at a fixed high
//! address, and without any vector instruction, because the vector registers hold the guest's
//! values. The plain toolchain is enough: the same compiler that builds the rest is called with
//! other flags, and the result is checked instruction by instruction.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use channel_abi::layout::SHIM_BASE;
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};
use object::{Object, ObjectSection};

fn main() -> Result<(), Box<dyn Error>> {
    let crates = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for source in ["channel-abi/src", "guest-shim/src"] {
        println!("cargo::rerun-if-changed={}", crates.join(source).display());
    }
    let abi = out.join("libchannel_abi.rlib");
    compile(
        &crates.join("channel-abi/src/lib.rs"),
        &abi,
        &["--crate-type=rlib", "--crate-name=channel_abi"],
    )?;
    let shim = out.join("shim");
    let link = [
        "--crate-type=bin",
        "--crate-name=shim",
        "-Clink-arg=-nostartfiles",
        "-Clink-arg=-nostdlib",
        "-Clink-arg=-static",
        "-Clink-arg=-no-pie",
        "-Clink-arg=-Wl,--build-id=none,-z,noseparate-code,-z,norelro,--no-rosegment,-z,max-page-size=4096",
        "-Crelocation-model=pic",
        "-Ccode-model=small",
    ];
    let base = format!("-Clink-arg=-Wl,--image-base={SHIM_BASE:#x}");
    let external = format!("--extern=channel_abi={}", abi.display());
    let mut arguments: Vec<&str> = link.to_vec();
    arguments.extend([base.as_str(), external.as_str()]);
    compile(&crates.join("guest-shim/src/lib.rs"), &shim, &arguments)?;
    check(&shim)
}

fn compile(source: &Path, output: &Path, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let made = Command::new(env::var("RUSTC")?)
        .args([
            "--edition=2024",
            "-Copt-level=3",
            "-Cpanic=abort",
            "-Ccodegen-units=1",
            "-Cdebuginfo=0",
        ])
        .args(["-Cstrip=debuginfo", "-Cforce-frame-pointers=no", "--cap-lints=allow"])
        .args(["--target=x86_64-unknown-linux-gnu"])
        // Vector registers are the guest's. The compiler says that it will refuse these flags one
        // day; the toolchain is pinned, and `check` looks at what was really made.
        .arg("-Ctarget-feature=-mmx,-sse,-sse2,-sse3,-ssse3,-sse4.1,-sse4.2,-avx,-avx2,+soft-float")
        .args(arguments)
        .arg("-o")
        .arg(output)
        .arg(source)
        .output()?;
    if made.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&made.stderr);
    Err(format!("cannot compile {}:\n{messages}", source.display()).into())
}

/// Refuses a shim that has an instruction with a vector or floating point register, other than
/// those that save and restore them all.
fn check(shim: &Path) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(shim)?;
    let file = object::File::parse(&*bytes)?;
    let mut factory = InstructionInfoFactory::new();
    for section in file.sections().filter(|section| section.kind() == object::SectionKind::Text) {
        let mut decoder =
            Decoder::with_ip(64, section.data()?, section.address(), DecoderOptions::NONE);
        for instruction in &mut decoder {
            let info = factory.info(&instruction);
            let vector = info.used_registers().iter().any(|used| {
                let register = used.register();
                register.is_vector_register() || register.is_st() || register.is_mm()
            });
            let saves_all = matches!(
                instruction.mnemonic(),
                iced_x86::Mnemonic::Xsave64 | iced_x86::Mnemonic::Xrstor64
            );
            if vector && !saves_all {
                return Err(format!(
                    "the shim uses a vector register at {:#x} ({:?})",
                    instruction.ip(),
                    instruction.mnemonic()
                )
                .into());
            }
        }
    }
    Ok(())
}
