#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kernel_fuzz::parsers::parse("printable", bytes));
