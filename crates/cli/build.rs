//! How the program is linked.

fn main() {
    // At a fixed address: a program of this size that is moved when it starts has 30,000 pointers
    // to be changed first, in memory that every sandbox then has for itself. Stack, heap and shared
    // memory are where the host puts them all the same.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    println!("cargo::rerun-if-changed=build.rs");
}
