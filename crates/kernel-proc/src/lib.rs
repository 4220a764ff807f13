//! The file systems that tell of the kernel: `proc`, `sysfs` and `cgroup2`.

#![forbid(unsafe_code)]
