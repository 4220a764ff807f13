#!/usr/bin/env python3
"""Reads, merges, splits, rotates and previews PDF files."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from pypdf import PdfReader, PdfWriter
from pypdf.errors import PdfReadError


class Problem(Exception):
    """Something that the user should know, with an exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def open_pdf(path):
    if not path.is_file():
        raise Problem(1, f"there is no file '{path}'")
    try:
        reader = PdfReader(path)
        if reader.is_encrypted:
            raise Problem(1, f"'{path}' is encrypted")
        len(reader.pages)
    except (PdfReadError, ValueError) as error:
        raise Problem(1, f"cannot read '{path}': {error}") from error
    return reader


def run_program(*command):
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise Problem(3, f"the program '{command[0]}' is not there") from error
    if done.returncode != 0:
        raise Problem(3, f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def write_pdf(writer, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        writer.write(file)


def info(arguments):
    reader = open_pdf(arguments.file)
    pages = []
    for page in reader.pages:
        box = page.mediabox
        pages.append({"width": float(box.width), "height": float(box.height), "rotation": page.rotation})
    title = reader.metadata.title if reader.metadata else None
    json.dump({"pages": len(pages), "title": title, "sizes": pages}, sys.stdout, indent=2)
    print()


def text(arguments):
    count = len(open_pdf(arguments.file).pages)
    for number in range(1, count + 1):
        command = ["pdftotext", "-layout", "-f", str(number), "-l", str(number), str(arguments.file), "-"]
        page = run_program(*command).decode(errors="replace")
        print(f"--- page {number} ---")
        print(page.replace("\f", "").rstrip())


def merge(arguments):
    writer = PdfWriter()
    for path in arguments.files:
        for page in open_pdf(path).pages:
            writer.add_page(page)
    write_pdf(writer, arguments.output)
    print(f"{arguments.output}: {len(writer.pages)} pages")


def split(arguments):
    reader = open_pdf(arguments.file)
    width = len(str(len(reader.pages)))
    for number, page in enumerate(reader.pages, start=1):
        writer = PdfWriter()
        writer.add_page(page)
        target = arguments.folder / f"{arguments.file.stem}-{number:0{width}}.pdf"
        write_pdf(writer, target)
        print(target)


def rotate(arguments):
    if arguments.degrees % 90 != 0:
        raise Problem(2, "pages turn by multiples of 90 degrees")
    writer = PdfWriter()
    for page in open_pdf(arguments.file).pages:
        writer.add_page(page.rotate(arguments.degrees))
    write_pdf(writer, arguments.output)
    print(f"{arguments.output}: turned by {arguments.degrees} degrees")


def preview(arguments):
    open_pdf(arguments.file)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    stem = arguments.folder / arguments.file.stem
    run_program("pdftoppm", "-png", "-r", str(arguments.dpi), str(arguments.file), str(stem))
    for picture in sorted(arguments.folder.glob(f"{arguments.file.stem}-*.png")):
        print(picture)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)

    def command(work, *names):
        sub = commands.add_parser(work.__name__)
        sub.set_defaults(work=work)
        for name in names:
            sub.add_argument(name, type=Path)
        return sub

    command(info, "file")
    command(text, "file")
    command(merge, "output").add_argument("files", type=Path, nargs="+")
    command(split, "file", "folder")
    command(rotate, "file", "output").add_argument("degrees", type=int)
    command(preview, "file", "folder").add_argument("--dpi", type=int, default=72)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        arguments.work(arguments)
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
