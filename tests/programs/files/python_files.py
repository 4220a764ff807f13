"""Files, folders, locks, maps and temporary things."""
import fcntl
import mmap
import os
import pathlib
import shutil
import stat
import tempfile
import zipfile

folder = pathlib.Path("data")
folder.mkdir()
(folder / "text").write_text("line one\nline two\n")
with open(folder / "text", "r+") as file:
    file.seek(5)
    file.write("ONE")
    file.truncate(12)
print((folder / "text").read_text(), os.path.getsize(folder / "text"))

with open(folder / "map", "w+b") as file:
    file.truncate(8192)
    with mmap.mmap(file.fileno(), 0) as shared:
        shared[4096:4101] = b"hello"
        shared.flush()
        print("found", shared.find(b"hello"))
    file.seek(4096)
    print("in the file", file.read(5))
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as private:
        private[0:3] = b"abc"
    file.seek(0)
    print("not in the file", file.read(3))
with mmap.mmap(-1, 4096) as anonymous:
    pid = os.fork()
    if pid == 0:
        anonymous[0:5] = b"child"
        os._exit(0)
    os.waitpid(pid, 0)
    print("anonymous", anonymous[0:5])

with tempfile.TemporaryDirectory() as temporary, tempfile.NamedTemporaryFile() as named, tempfile.TemporaryFile() as unnamed:
    named.write(b"x")
    unnamed.write(b"y")
    print("temporary", os.path.isdir(temporary), os.path.exists(named.name), unnamed.tell())
    kept = temporary, named.name
print("gone", [os.path.exists(path) for path in kept])

os.symlink("text", folder / "link")
os.link(folder / "text", folder / "hard")
print("links", os.readlink(folder / "link"), os.stat(folder / "hard").st_nlink)
os.chmod(folder / "hard", 0o600)
print("mode", stat.filemode(os.stat(folder / "text").st_mode))
os.utime(folder / "text", ns=(10**18, 10**18 + 5))
print("time", os.stat(folder / "text").st_mtime_ns)
print("entries", sorted((entry.name, entry.is_symlink()) for entry in os.scandir(folder)))
os.replace(folder / "hard", folder / "moved")
try:
    os.mkdir(folder)
except FileExistsError as error:
    print("exists", error.errno)
try:
    os.rmdir(folder)
except OSError as error:
    print("not empty", error.errno)

with open(folder / "lock", "w") as first, open(folder / "lock", "w") as second:
    fcntl.flock(first, fcntl.LOCK_EX)
    try:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("locked")
with open(folder / "lock", "w") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    pid = os.fork()
    if pid == 0:
        with open(folder / "lock", "w") as other:
            try:
                fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os._exit(3)
        os._exit(0)
    print("record lock", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

deep = folder.joinpath(*"abcdefgh")
deep.mkdir(parents=True)
(deep / "leaf").write_bytes(bytes(range(256)))
print("walked", sum(len(files) for _, _, files in os.walk(folder)))
shutil.copytree(folder, "copy", symlinks=True)
shutil.make_archive("archive", "zip", "copy")
print("archived", sorted(zipfile.ZipFile("archive.zip").namelist())[:3])
shutil.rmtree("copy")
os.unlink("archive.zip")
descriptor = os.open(folder / "sparse", os.O_RDWR | os.O_CREAT, 0o644)
os.pwrite(descriptor, b"end", 100_000)
print("sparse", os.fstat(descriptor).st_size, os.pread(descriptor, 3, 100_000), os.lseek(descriptor, 0, os.SEEK_END))
os.dup2(descriptor, 50)
os.close(descriptor)
print("duplicate", os.fstat(50).st_size)
os.close(50)
print("cwd", os.path.basename(os.getcwd()), os.access(folder, os.W_OK), os.path.samefile(".", os.getcwd()))
