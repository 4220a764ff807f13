#!/usr/bin/env python3
"""Builds workbooks with formulas and recalculates them with LibreOffice."""

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

TIMEOUT_SECONDS = 150


class Problem(Exception):
    """Something that the user should know, with an exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def convert(source, kind, target):
    """Lets LibreOffice load a file, compute it and save it as another kind."""
    if shutil.which("soffice") is None:
        raise Problem(3, "LibreOffice (soffice) is not there")
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "profile").as_uri()
        done = subprocess.run(
            ["soffice", f"-env:UserInstallation={profile}", "--headless", "--norestore",
             "--convert-to", kind, "--outdir", folder, str(source.resolve())],
            capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        made = Path(folder, source.stem + "." + kind.split(":")[0])
        # LibreOffice ends with 0 even when it has written nothing.
        if done.returncode != 0 or not made.is_file():
            words = done.stderr.decode(errors="replace").strip()
            raise Problem(3, f"LibreOffice wrote nothing: {words}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, target)


def read_rows(path):
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise Problem(2, f"'{path}' needs a header, a row and two columns")
    return rows


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def build_workbook(rows):
    header, body = rows[0], rows[1:]
    book = Workbook()
    sheet = book.active
    sheet.title = "Data"
    sheet.append([*header, "Total"])
    last_letter = get_column_letter(len(header))
    for index, row in enumerate(body, start=2):
        sheet.append([row[0], *map(number, row[1:]), f"=SUM(B{index}:{last_letter}{index})"])
    end = len(body) + 1
    columns = [get_column_letter(at) for at in range(2, len(header) + 2)]
    sheet.append(["Total", *(f"=SUM({letter}2:{letter}{end})" for letter in columns)])
    sheet.append(["Average", *(f"=AVERAGE({letter}2:{letter}{end})" for letter in columns)])
    bold = Font(bold=True)
    for row_number in (1, end + 1, end + 2):
        for cell in sheet[row_number]:
            cell.font = bold
    sheet.freeze_panes = "B2"
    for at in range(1, len(header) + 2):
        sheet.column_dimensions[get_column_letter(at)].width = 14
    return book


def inspect(path):
    """Counts formulas and finds errors in a workbook that was computed."""
    formulas, errors = 0, {}
    for sheet in load_workbook(path):
        for row in sheet.iter_rows():
            formulas += sum(1 for cell in row if cell.data_type == "f")
    values = load_workbook(path, data_only=True)
    for sheet in values:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "e" or str(cell.value).startswith("#"):
                    errors[f"{sheet.title}!{cell.coordinate}"] = str(cell.value)
    last_rows = [list(row) for row in values.active.iter_rows(values_only=True)][-2:]
    return {"formulas": formulas, "last_rows": last_rows, "errors": errors}


def report(path):
    result = inspect(path)
    json.dump(result, sys.stdout, indent=2, default=str)
    print()
    return 1 if result["errors"] else 0


def existing(path):
    if not path.is_file():
        raise Problem(2, f"there is no file '{path}'")
    return path


def build(source, target):
    book = build_workbook(read_rows(existing(source)))
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "raw.xlsx")
        book.save(raw)
        convert(raw, "xlsx:Calc MS Excel 2007 XML", target)
    return report(target)


def recalc(source, target):
    convert(existing(source), "xlsx:Calc MS Excel 2007 XML", target)
    return report(target)


def pdf(source, target):
    convert(existing(source), "pdf", target)
    print(target)
    return 0


def main():
    commands = {"build": build, "recalc": recalc, "pdf": pdf}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=commands)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    try:
        return commands[arguments.command](arguments.source, arguments.target)
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.code
    except subprocess.TimeoutExpired:
        print(f"error: LibreOffice took longer than {TIMEOUT_SECONDS} s", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
