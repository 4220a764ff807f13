"""Fetches the source archive of each requirement, with pip's own eyes and keys, and builds nothing.

`pip download` runs code of a package to learn about it, even when it is told not to install. So pip
only finds the archive here, and it is saved as it is. Arguments: a folder, then requirements. Prints
a line of JSON for each: the requirement, and the file's name.
"""

import hashlib
import json
import os
import sys

from pip._internal.commands import create_command
from pip._vendor.packaging.requirements import Requirement

# An archive of source code. Real ones have some megabytes.
MAX_BYTES = 1 << 30
ENDINGS = (".tar.gz", ".tgz", ".zip", ".tar.bz2", ".tar.xz", ".tar")


def save(session, link, folder):
    """Saves what a link leads to, and checks it against the hash that the index gives."""
    name = link.filename
    if os.path.basename(name) != name or not name.endswith(ENDINGS):
        sys.exit(f"ERROR: {name} is no source archive")
    digest = hashlib.new(link.hash_name) if link.hash_name else None
    answer = session.get(link.url.split("#", 1)[0], stream=True, headers={"Accept-Encoding": "identity"})
    answer.raise_for_status()
    length = 0
    with open(os.path.join(folder, name), "xb") as out:
        for piece in answer.raw.stream(1 << 16, decode_content=False):
            length += len(piece)
            if length > MAX_BYTES:
                sys.exit(f"ERROR: {name} is larger than {MAX_BYTES} bytes")
            out.write(piece)
            if digest is not None:
                digest.update(piece)
    if digest is not None and digest.hexdigest() != link.hash:
        sys.exit(f"ERROR: {name} does not have the hash that the index gives")
    return name


def main():
    folder, *wanted = sys.argv[1:]
    command = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(["--no-binary=:all:", "--no-cache-dir", "--no-input"])
        session = command.get_default_session(options)
        finder = command._build_package_finder(options=options, session=session)
        for text in wanted:
            requirement = Requirement(text)
            found = finder.find_best_candidate(requirement.name, specifier=requirement.specifier)
            if found.best_candidate is None:
                print(f"ERROR: No matching distribution found for {text}", file=sys.stderr)
                sys.exit(1)
            name = save(session, found.best_candidate.link, folder)
            print(json.dumps({"requirement": text, "file": name}), flush=True)


main()
