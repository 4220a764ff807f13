"""Opens files until the kernel itself can open no more, and goes on after closing them."""
import errno, functools, os, resource, sys

print = functools.partial(print, flush=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))
files = []


def attempt(act):
    try:
        act()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]


end = "done"
while end == "done" and len(files) < 1999:
    end = attempt(lambda: files.append(os.open("/m/%d" % len(files), os.O_RDONLY)))
print("opening ends with", end, "after more than 50" if len(files) > 50 else len(files))
print("a pipe needs none:", attempt(os.pipe))
print("listing:", attempt(lambda: os.listdir("/m/folder")))
print("a file in memory:", attempt(lambda: open("/tmp/file", "w").write("text")))
for file in files:
    os.close(file)
print("opening again:", attempt(lambda: os.close(os.open("/m/0", os.O_RDONLY))))
print("a program:", os.system("exec cat /m/0 /tmp/file"))
