//! Signals: numbers, siginfo, actions, stacks.
