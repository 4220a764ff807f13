#!/usr/bin/env python3
"""Takes a picture of a local web page with headless Chromium."""

import argparse
import html.parser
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
TIMEOUT_SECONDS = 100


class Problem(Exception):
    """Something that the user should know, with an exit code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Handler(SimpleHTTPRequestHandler):
    """Serves files and writes down what was asked for."""

    def __init__(self, *args, requests, **more):
        self.requests = requests
        super().__init__(*args, **more)

    def log_request(self, code="-", size="-"):
        self.requests.append({"path": self.path, "status": int(code)})

    def log_message(self, *args):
        pass


class TextOf(html.parser.HTMLParser):
    """Collects the text of a page without scripts and styles."""

    def __init__(self):
        super().__init__()
        self.parts, self.hidden = [], 0

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden and data.strip():
            self.parts.append(" ".join(data.split()))


def find_browser():
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise Problem(3, f"none of these is there: {', '.join(BROWSERS)}")


def run_browser(browser, url, *more):
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-extensions", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--hide-scrollbars",
            "--force-device-scale-factor=1", "--virtual-time-budget=5000",
            f"--user-data-dir={profile}", *more, url,
        ]
        try:
            return subprocess.run(command, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        except subprocess.TimeoutExpired as error:
            raise Problem(1, f"Chromium took longer than {TIMEOUT_SECONDS} s") from error


def picture_size(path):
    head = path.read_bytes()[:24]
    if head[:8] != b"\x89PNG\r\n\x1a\n":
        raise Problem(1, "Chromium wrote something that is not a PNG picture")
    return struct.unpack(">II", head[16:24])


def take(arguments, url):
    browser = find_browser()
    target = arguments.picture.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    width, height = arguments.size
    done = run_browser(browser, url, f"--screenshot={target}", f"--window-size={width},{height}")
    if not target.is_file():
        words = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise Problem(1, "Chromium made no picture: " + " / ".join(words))
    if arguments.text:
        page = run_browser(browser, url, "--dump-dom").stdout.decode(errors="replace")
        parser = TextOf()
        parser.feed(page)
        arguments.text.write_text("\n".join(parser.parts) + "\n", encoding="utf-8")
    return picture_size(target)


def size(text):
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 800x600")
    return int(width), int(height)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder with the page")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--page", default="index.html")
    parser.add_argument("--size", type=size, default=(800, 600))
    parser.add_argument("--text", type=Path, help="a file for the text of the page")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        if not (arguments.folder / arguments.page).is_file():
            raise Problem(1, f"there is no '{arguments.folder / arguments.page}'")
        requests = []
        handler = partial(Handler, directory=str(arguments.folder), requests=requests)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/{quote(arguments.page)}"
            width, height = take(arguments, url)
            server.shutdown()
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.code
    seen = sorted({(row["path"], row["status"]) for row in requests if "favicon" not in row["path"]})
    result = {"width": width, "height": height, "requests": [f"{status} {path}" for path, status in seen]}
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
