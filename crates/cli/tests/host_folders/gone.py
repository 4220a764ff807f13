"""A directory that its user is still in when it goes. Says what is left of it."""
import os
import sys


def tries(name, what):
    try:
        print(name, what())
    except OSError as error:
        print(name, error.strerror)


os.chdir(sys.argv[1])
os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
tries("links", lambda: os.stat(".").st_nlink)
tries("above", lambda: os.stat("..").st_ino == os.stat(sys.argv[1]).st_ino)
tries("names", lambda: os.listdir("."))
tries("file", lambda: os.open("file", os.O_CREAT | os.O_WRONLY))
tries("directory", lambda: os.mkdir("directory"))
tries("path", os.getcwd)
sys.stdout.flush()
if os.fork() == 0:
    tries("links of a child", lambda: os.stat(".").st_nlink)
    sys.stdout.flush()
    os._exit(0)
os.wait()
