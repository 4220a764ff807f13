"""Says what each source archive needs to be built, by its `pyproject.toml`, without running anything of it.

Arguments: archives. Prints one line of JSON for each, which is a list of requirements.
"""

import json
import sys
import tarfile
import zipfile

try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib

# What pip uses for a package that does not say.
USUAL = ["setuptools>=40.8.0", "wheel"]
MAX_BYTES = 1 << 20


def read(archive):
    """The text of the `pyproject.toml` in an archive's only folder, if there is one."""
    if archive.endswith(".zip"):
        with zipfile.ZipFile(archive) as files:
            for entry in files.infolist():
                if is_at_the_top(entry.filename):
                    with files.open(entry) as file:
                        return file.read(MAX_BYTES)
        return None
    with tarfile.open(archive) as files:
        for entry in files:
            if entry.isfile() and is_at_the_top(entry.name):
                return files.extractfile(entry).read(MAX_BYTES)
    return None


def is_at_the_top(name):
    parts = name.removeprefix("./").split("/")
    return len(parts) == 2 and parts[1] == "pyproject.toml"


def needs(archive):
    text = read(archive)
    project = tomllib.loads(text.decode("utf-8")) if text else {}
    wanted = project.get("build-system", {}).get("requires", USUAL)
    # The usual way of building needs them even if nobody says so.
    if "build-backend" not in project.get("build-system", {}):
        wanted = [*wanted, *USUAL]
    return [text for text in wanted if isinstance(text, str)]


for argument in sys.argv[1:]:
    print(json.dumps(needs(argument)))
