//! Terminals: termios, window sizes, ioctl numbers.
