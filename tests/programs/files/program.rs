//! A static binary: threads, channels, children, files, sockets and an unwinding panic.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..8)
        .map(|n: u64| {
            let sender = sender.clone();
            thread::spawn(move || sender.send((0..n * 1000).sum::<u64>()).unwrap())
        })
        .collect();
    drop(sender);
    for thread in threads {
        thread.join().unwrap();
    }
    let mut sums: Vec<_> = receiver.iter().collect();
    sums.sort_unstable();
    println!("{sums:?}");

    let output = Command::new("echo").arg("from a child").output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    println!("{:?}", Command::new("/nonexistent").spawn().unwrap_err().kind());

    std::fs::write("made", "by rust").unwrap();
    println!("{}", std::fs::read_to_string("made").unwrap());

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.len()
    });
    TcpStream::connect(address).unwrap().write_all(&[b'x'; 100_000]).unwrap();
    println!("{}", server.join().unwrap());

    std::panic::set_hook(Box::new(|_| {}));
    println!("{}", std::panic::catch_unwind(|| panic!("caught")).is_err());
}
