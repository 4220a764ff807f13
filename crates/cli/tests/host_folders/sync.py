"""One process syncs in the folder all the time; another one counts what it can ask the kernel meanwhile. Then the first is killed
in the middle of it, and the folder is synced once more."""

import mmap
import os
import signal
import struct
import sys
import time

path = os.path.join(sys.argv[1], "synced")
shared = mmap.mmap(-1, 16)


def progress():
    """How many syncs there were, and how many seconds they took."""
    return struct.unpack("qd", shared[:])


child = os.fork()
if child == 0:
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    data = b"x" * (1 << 20)
    while True:
        os.pwrite(file, data, 0)
        start = time.monotonic()
        os.fsync(file)
        n_syncs, seconds = progress()
        shared[:] = struct.pack("qd", n_syncs + 1, seconds + time.monotonic() - start)

while progress()[0] < 3:
    time.sleep(0.001)
(start, before), n_asked = progress(), 0
while progress()[0] < start + 20 and n_asked < 100_000:
    os.getpgid(child)
    n_asked += 1
each = (progress()[1] - before) / 20
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)

with open(path, "r+b") as file:
    os.fsync(file.fileno())
folder = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
os.fsync(folder)
with open(path, "wb", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_SYNC)) as file:
    file.write(b"synced")
with open(path, "rb") as file:
    # A kernel that waits for the disk itself answers once after each call of the other. Where there is no disk, it hardly waits.
    went_on = n_asked > 100 or each < 0.001
    print(file.read().decode(), "others went on" if went_on else f"{n_asked} questions in 20 syncs of {each} s")
