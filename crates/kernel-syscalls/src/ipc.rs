//! SysV and POSIX IPC: one file per call or small family.
