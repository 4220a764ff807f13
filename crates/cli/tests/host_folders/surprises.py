"""Meets a folder whose files the host changes under way. Says what it saw; "ask X" lets the host do X."""
import errno, mmap, os, signal, sys

folder = sys.argv[1]
os.chdir(folder)


def ask(what):
    print("ask", what, flush=True)
    sys.stdin.readline()


def see(name, act):
    try:
        result = act()
    except OSError as error:
        result = errno.errorcode[error.errno]
    print(f"{name}: {result}", flush=True)


def in_child(act):
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else "survived"


vanishing = os.open("vanishing", os.O_RDWR)
mapped = mmap.mmap(vanishing, 8192, prot=mmap.PROT_READ)
ask("remove vanishing")
see("read what vanished", lambda: os.pread(vanishing, 4, 0))
see("write what vanished", lambda: os.pwrite(vanishing, b"new", 0))
see("see it in the mapping", lambda: mapped[:4])
see("links of what vanished", lambda: os.fstat(vanishing).st_nlink)
see("open what vanished", lambda: os.open("vanishing", os.O_RDONLY))
see("stat what vanished", lambda: os.stat("vanishing"))

shrinking = os.open("shrinking", os.O_RDONLY)
mapped = mmap.mmap(shrinking, 8192, prot=mmap.PROT_READ)
private = mmap.mmap(shrinking, 8192, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
os.pread(shrinking, 8192, 0)
ask("shrink shrinking")
see("read what shrank", lambda: os.pread(shrinking, 8192, 0))
see("read behind its end", lambda: os.pread(shrinking, 10, 4096))
see("size of what shrank", lambda: os.fstat(shrinking).st_size)
see("touch what is left", lambda: in_child(lambda: mapped[0]))
see("touch what is gone", lambda: in_child(lambda: mapped[5000]) == signal.SIGBUS)
see("touch what is gone, privately", lambda: in_child(lambda: private[5000]) == signal.SIGBUS)

directory = os.open("directory", os.O_RDONLY | os.O_DIRECTORY)
ask("remove directory")
see("list a removed directory", lambda: os.listdir(directory))
see("make a file in it", lambda: os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=directory))
see("find a file in it", lambda: os.stat("file", dir_fd=directory))
see("links of it", lambda: os.fstat(directory).st_nlink)

replaced = os.open("replaced", os.O_RDONLY)
ask("replace replaced")
see("the old content", lambda: os.pread(replaced, 8, 0))
see("the new content", lambda: open("replaced").read())

