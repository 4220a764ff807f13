//! Processes and threads: clone flags, wait options, prctl, limits, capabilities, usage.
