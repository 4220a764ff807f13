#!/usr/bin/env python3
"""Adds up a column of a CSV file by group and draws the result."""

import argparse
import csv
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="CSV file with a header line")
    parser.add_argument("--group", required=True, help="column to group by")
    parser.add_argument("--value", required=True, help="column to add up")
    parser.add_argument("--out", type=Path, default=Path("report"), help="output folder")
    return parser.parse_args()


def read_groups(path, group, value):
    """Returns the numbers of each group and how many rows had none."""
    groups = defaultdict(list)
    skipped = 0
    with path.open(newline="", encoding="utf-8-sig") as file:
        sample = file.read(4096)
        file.seek(0)
        try:
            dialect = csv.Sniffer().sniff(sample, delimiters=",;\t")
        except csv.Error:
            dialect = csv.excel
        reader = csv.DictReader(file, dialect=dialect)
        for name in (group, value):
            if name not in (reader.fieldnames or []):
                known = ", ".join(reader.fieldnames or [])
                sys.exit(fail(2, f"there is no column '{name}'; the columns are: {known}"))
        for row in reader:
            text = (row[value] or "").strip().replace(" ", "")
            try:
                groups[(row[group] or "").strip() or "(none)"].append(float(text))
            except ValueError:
                skipped += 1
                print(f"line {reader.line_num}: '{text}' is not a number", file=sys.stderr)
    return groups, skipped


def fail(code, message):
    print(f"error: {message}", file=sys.stderr)
    return code


def summarise(numbers):
    return {
        "count": len(numbers),
        "sum": round(sum(numbers), 2),
        "mean": round(statistics.fmean(numbers), 2),
        "median": round(statistics.median(numbers), 2),
        "min": min(numbers),
        "max": max(numbers),
    }


def write_report(path, title, summaries, total):
    columns = ["count", "sum", "mean", "median", "min", "max"]
    lines = [f"# {title}", "", "| group | " + " | ".join(columns) + " |"]
    lines.append("|---|" + "--:|" * len(columns))
    for name, summary in [*summaries.items(), ("**all**", total)]:
        cells = " | ".join(f"{summary[column]:g}" for column in columns)
        lines.append(f"| {name} | {cells} |")
    lines += ["", "![chart](chart.png)", ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def draw_chart(path, title, summaries):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(summaries)
    figure, axes = pyplot.subplots(figsize=(6, 4), dpi=100)
    bars = axes.bar(names, [summaries[name]["sum"] for name in names], color="#3b6ea5")
    axes.bar_label(bars, fmt="%g")
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})


def main():
    arguments = parse_arguments()
    if not arguments.table.is_file():
        return fail(2, f"there is no file '{arguments.table}'")
    groups, skipped = read_groups(arguments.table, arguments.group, arguments.value)
    numbers = [number for group in groups.values() for number in group]
    if not numbers:
        return fail(1, f"the column '{arguments.value}' has no numbers")
    ordered = sorted(groups.items(), key=lambda item: -sum(item[1]))
    summaries = {name: summarise(values) for name, values in ordered}
    total = summarise(numbers)
    title = f"{arguments.value} by {arguments.group}"
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_report(arguments.out / "report.md", title, summaries, total)
    draw_chart(arguments.out / "chart.png", title, summaries)
    json.dump({"groups": summaries, "all": total, "skipped": skipped}, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
