"""Goes through a tree again and again. "ask X" lets the host do X in the directory that comes next."""
import os, sys, time

os.chdir(sys.argv[1])


def ask(what):
    print("ask", what, flush=True)
    sys.stdin.readline()


ask("make a tree")
# Directories that have just changed are not remembered.
time.sleep(0.15)
for _ in range(3):
    expected = [f"file{number}" for number in range(5)]
    for name in [entry.name for entry in os.scandir(".")]:
        for what, names in [
            ("create", expected + ["new"]),
            ("rename", expected + ["other"]),
            ("remove", expected),
        ]:
            ask(f"{what} in {name}")
            found = sorted(os.listdir(name))
            assert found == names, (what, name, found)
    time.sleep(0.15)
    for name in [entry.name for entry in os.scandir(".")]:
        assert sorted(os.listdir(name)) == expected
print("all was seen")
