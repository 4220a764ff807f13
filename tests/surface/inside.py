"""Does inside what makes the kernel process, and the shim, use every host call that their filters let pass.

Run by `cargo xtask surface` under a tracer, with a folder at /mounted that may be written. What the host refuses is no failure: what
counts is that the call was tried.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import termios
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
FALLOC_FL_KEEP_SIZE = 1
FUTEX_WAITV = 449


def tried(what, *arguments, **options):
    with contextlib.suppress(OSError):
        return what(*arguments, **options)


def files(folder):
    path = os.path.join(folder, "file")
    other = os.path.join(folder, "other")
    with open(path, "wb+") as file:
        file.write(b"x" * 300_000)
        file.flush()
        tried(os.posix_fallocate, file.fileno(), 0, 400_000)
        os.ftruncate(file.fileno(), 1_000_000)
        os.lseek(file.fileno(), 0, os.SEEK_DATA)
        os.lseek(file.fileno(), 0, os.SEEK_HOLE)
        os.fsync(file.fileno())  # alone
        busy = threading.Thread(target=lambda: sum(range(2_000_000)))
        busy.start()
        os.fdatasync(file.fileno())  # while another one goes on
        busy.join()
        LIBC.syncfs(file.fileno())
        os.pread(file.fileno(), 100, 10)
        os.pwrite(file.fileno(), b"y" * 200_000, 10)
        os.fchmod(file.fileno(), 0o640)
        tried(os.fchown, file.fileno(), 1235, 1235)
        tried(os.setxattr, file.fileno(), "user.a", b"1")
        tried(os.getxattr, file.fileno(), "user.a")
        tried(os.listxattr, file.fileno())
        tried(os.removexattr, file.fileno(), "user.a")
        with mmap.mmap(file.fileno(), 4096) as mapped:
            mapped[0:3] = b"abc"
            mapped.flush()
    os.statvfs(path)
    os.utime(path, (1, 2))
    os.symlink("file", os.path.join(folder, "link"))
    os.readlink(os.path.join(folder, "link"))
    os.link(path, os.path.join(folder, "hard"))
    os.rename(os.path.join(folder, "hard"), other)
    os.mkfifo(os.path.join(folder, "fifo"))
    os.mkdir(os.path.join(folder, "sub"))
    tried(os.chown, path, 1234, 1234)
    os.chmod(path, 0o600)
    os.listdir(folder)
    tried(os.chown, os.path.join(folder, "sub"), 1234, 1234)
    tried(os.listdir, os.path.join(folder, "sub"))
    tried(os.chown, folder, 0, 1)
    tried(os.stat, folder)
    tried(os.chown, "/", 0, 1)
    tried(os.stat, "/")
    with open(path, "rb", buffering=0) as file:
        for _ in range(200):  # lent to the shim after some reads
            file.read(100)
            file.seek(50)
            os.pread(file.fileno(), 10, 5)
    for name in ("link", "other", "fifo", "file"):
        tried(os.unlink, os.path.join(folder, name))
    os.rmdir(os.path.join(folder, "sub"))


def memory():
    LIBC.syscall(FUTEX_WAITV, None, 0, 0, None, 0)
    big = mmap.mmap(-1, 1 << 20)
    big.madvise(mmap.MADV_DONTNEED)
    big.resize(2 << 20)
    big.write(os.urandom(500_000))
    here = ctypes.addressof(ctypes.c_char.from_buffer(big))
    LIBC.msync(ctypes.c_void_p(here), ctypes.c_size_t(4096), 4)
    LIBC.mincore(ctypes.c_void_p(here), ctypes.c_size_t(4096), ctypes.create_string_buffer(1))
    with open("/tmp/large", "wb") as file:  # beyond what travels with a call
        file.write(b"z" * 3_000_000)
    with open("/tmp/large", "rb", buffering=0) as file:
        file.readinto(bytearray(3_000_000))
    descriptor = os.memfd_create("memory", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 100_000)
    tried(os.posix_fallocate, descriptor, 0, 50_000)
    os.write(descriptor, b"1" * 100)
    fcntl.fcntl(descriptor, 1033, 2)
    fcntl.fcntl(descriptor, 1034)
    LIBC.syscall(324, 0, 0)  # membarrier
    segment = LIBC.shmget(0, 4096, 0o1600)
    LIBC.shmat.restype = ctypes.c_void_p
    LIBC.shmdt(ctypes.c_void_p(LIBC.shmat(segment, None, 0)))


def pipes():
    reader, writer = os.pipe()
    other = os.pipe()
    for _ in range(200):  # a busy pipe is the host's
        os.write(writer, b"x")
        os.read(reader, 1)
    os.write(writer, b"kept")
    LIBC.tee(reader, other[1], 4, 0)


def processes():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 46, resource.RLIM_INFINITY))
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.sched_yield()
    threads = [threading.Thread(target=time.sleep, args=(0.05,)) for _ in range(3)]
    for thread in threads:
        thread.start()
        tried(signal.pthread_kill, thread.ident, signal.SIGUSR1)
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        while True:
            pass
    time.sleep(0.05)
    os.kill(child, signal.SIGUSR1)  # interrupts guest code
    os.kill(child, signal.SIGSTOP)
    os.kill(child, signal.SIGCONT)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.system("true; ls / | cat > /dev/null")
    resource.getrusage(resource.RUSAGE_SELF)
    time.process_time()
    time.thread_time()
    for file in ("/proc/self/maps", "/proc/self/stat", "/proc/meminfo", "/proc/self/exe", "/proc/loadavg"):
        with open(file, "rb") as shown:
            shown.read(1000)
    os.sysconf("SC_AVPHYS_PAGES")
    os.getloadavg()


def streams():
    for number in (0, 1, 2):
        with contextlib.suppress(OSError):
            fcntl.ioctl(number, termios.FIONREAD, b"\0" * 4)
        with contextlib.suppress(OSError, termios.error):
            termios.tcgetattr(number)
        with contextlib.suppress(OSError):
            fcntl.ioctl(number, termios.TIOCGWINSZ, b"\0" * 8)
        tried(os.isatty, number)
        with contextlib.suppress(OSError, termios.error):
            termios.tcflush(number, termios.TCIFLUSH)


def network(port, published):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as out:
        out.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1))
        out.sendall(b"hello" * 10)
        out.shutdown(socket.SHUT_WR)
        out.recv(100)
    listener = socket.create_server(("127.0.0.1", published))
    listener.settimeout(10)
    print("listening", flush=True)
    with contextlib.suppress(OSError):
        taken, _ = listener.accept()
        taken.sendall(b"hi")
        taken.close()


if __name__ == "__main__":
    if sys.argv[1] == "network":
        network(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] in ("terminal", "one-cpu"):
        streams()
        print("x" * 100_000, flush=True)
    else:
        for folder in ("/mounted", "/tmp"):
            files(folder)
        memory()
        pipes()
        processes()
        streams()
        sys.stdin.read()
