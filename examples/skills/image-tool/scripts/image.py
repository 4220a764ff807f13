#!/usr/bin/env python3
"""Describes, resizes, converts and labels pictures."""

import argparse
import json
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps, ImageStat, UnidentifiedImageError

MOST_PIXELS = 50_000_000
CELL = 160
GAP = 8


class Problem(Exception):
    """Something that the user should know, with an exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def open_picture(path):
    try:
        picture = Image.open(path)
        if picture.width * picture.height > MOST_PIXELS:
            raise Problem(1, f"'{path}' is too large: {picture.width}x{picture.height}")
        picture.load()
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise Problem(1, f"cannot read '{path}': {error}") from error
    return ImageOps.exif_transpose(picture)


def save(picture, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() in (".jpg", ".jpeg") and picture.mode not in ("RGB", "L"):
        # JPEG knows no transparency: put the picture on white.
        flat = Image.new("RGB", picture.size, "white")
        flat.paste(picture.convert("RGBA"), mask=picture.convert("RGBA").getchannel("A"))
        picture = flat
    try:
        picture.save(path)
    except (ValueError, KeyError) as error:
        raise Problem(2, f"cannot write '{path}': {error}") from error
    print(f"{path}: {picture.width}x{picture.height}")


def info(arguments):
    rows = []
    for path in arguments.files:
        picture = open_picture(path)
        mean = [round(value) for value in ImageStat.Stat(picture.convert("RGB")).mean]
        rows.append({"file": str(path), "width": picture.width, "height": picture.height,
                     "mode": picture.mode, "mean": "#%02x%02x%02x" % tuple(mean)})
    json.dump(rows, sys.stdout, indent=2)
    print()


def size(text):
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) and int(height)):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 400x300")
    return int(width), int(height)


def resize(arguments):
    picture = open_picture(arguments.source)
    picture.thumbnail(arguments.fit, Image.Resampling.LANCZOS)
    save(picture, arguments.target)


def label(arguments):
    picture = open_picture(arguments.source).convert("RGBA")
    layer = Image.new("RGBA", picture.size)
    draw = ImageDraw.Draw(layer)
    font = ImageFont.load_default()
    left, top, right, bottom = draw.textbbox((0, 0), arguments.text, font=font)
    x = picture.width - (right - left) - 2 * GAP
    y = picture.height - (bottom - top) - 2 * GAP
    draw.rectangle((x, y, picture.width, picture.height), fill=(0, 0, 0, 160))
    draw.text((x + GAP - left, y + GAP - top), arguments.text, font=font, fill="white")
    save(Image.alpha_composite(picture, layer), arguments.target)


def sheet(arguments):
    columns = min(arguments.columns, len(arguments.files))
    rows = -(-len(arguments.files) // columns)
    step = CELL + GAP
    page = Image.new("RGB", (columns * step + GAP, rows * step + GAP), "#f4f4f4")
    for index, path in enumerate(arguments.files):
        picture = open_picture(path).convert("RGBA")
        picture.thumbnail((CELL, CELL))
        x = GAP + (index % columns) * step + (CELL - picture.width) // 2
        y = GAP + (index // columns) * step + (CELL - picture.height) // 2
        page.paste(picture, (x, y), picture)
    save(page, arguments.target)


def positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above zero")
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)

    def command(work, *paths):
        sub = commands.add_parser(work.__name__)
        sub.set_defaults(work=work)
        for name in paths:
            sub.add_argument(name, type=Path)
        return sub

    command(info).add_argument("files", type=Path, nargs="+")
    command(resize, "source", "target").add_argument("--fit", type=size, required=True)
    command(label, "source", "target").add_argument("text")
    sub = command(sheet, "target")
    sub.add_argument("files", type=Path, nargs="+")
    sub.add_argument("--columns", type=positive, default=4)
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
