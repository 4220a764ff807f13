//! Terminals, pseudo terminals and the line discipline.

#![forbid(unsafe_code)]
