"""Fills a folder until nothing fits, and goes on when there is room again."""
import errno, os, sys

os.chdir(sys.argv[1])


def see(name, act):
    try:
        result = act()
    except OSError as error:
        result = errno.errorcode[error.errno]
    print(f"{name}: {result}", flush=True)


def fill():
    n = 0
    while True:
        written = os.write(file, b"x" * 100_000)
        n += written
        if written < 100_000:
            return n


file = os.open("file", os.O_RDWR | os.O_CREAT, 0o644)
see("filled with", fill)
see("one more byte", lambda: os.write(file, b"x"))
see("reserve", lambda: os.posix_fallocate(file, 0, 4 << 20))
other = os.open("other", os.O_RDWR | os.O_CREAT, 0o644)
see("another file", lambda: os.write(other, b"x"))
see("buffered", lambda: open("third", "w").write("x" * 5000))
see("copied", lambda: os.copy_file_range(file, other, 10_000, 0))
see("over what is there", lambda: os.pwrite(file, b"y" * 10, 0))
see("synchronised", lambda: os.fsync(file))
see("made shorter", lambda: os.ftruncate(file, 500_000))
see("now it fits", lambda: os.write(other, b"x" * 100_000))
see("room", lambda: os.statvfs(".").f_bavail > 0)
os.unlink("file")
see("sizes", lambda: [os.stat(name).st_size for name in sorted(os.listdir("."))])
