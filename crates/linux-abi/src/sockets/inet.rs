//! Internet addresses and options.
