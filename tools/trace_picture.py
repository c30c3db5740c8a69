#!/usr/bin/env python3
"""Draws the kernels and copies of a timeline (exec --trace) as an SVG: a row for each stream that did something.

Usage: trace_picture.py TRACE.json OUT.svg [--title TEXT] [--from NAME]     --from: begin with the first span of this name
"""
import argparse
import html
import json
import re

WIDTH, LEFT, ROW, TOP = 900, 170, 34, 44
COLOURS = ["#3f6fb5", "#c8742b", "#4b9460", "#8a5aa8", "#8c8c8c"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("out")
    parser.add_argument("--title", default="")
    parser.add_argument("--from", dest="first", default="")
    options = parser.parse_args()
    with open(options.trace, encoding="utf-8") as file:
        events = json.load(file)
    events = events if isinstance(events, list) else events["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    of_block = lambda e: names.get((e["pid"], e["tid"]), "").startswith("SM ")
    spans = sorted((e for e in events if e["ph"] == "X" and e.get("dur", 0) > 0 and not of_block(e)), key=lambda e: e["ts"])
    if options.first:
        begin = next(e["ts"] for e in spans if e["name"].startswith(options.first))
        spans = [e for e in spans if e["ts"] >= begin]
    rows = sorted({(e["pid"], e["tid"]) for e in spans})
    begin, end = min(e["ts"] for e in spans), max(e["ts"] + e["dur"] for e in spans)
    scale = (WIDTH - LEFT - 20) / (end - begin)
    short = lambda name: re.sub(r"\(.*", "", name)
    colour = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(dict.fromkeys(short(e["name"]) for e in spans))}
    height = TOP + ROW * len(rows) + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="DejaVu Sans, sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', f'<text x="12" y="24" font-size="14" fill="#222">{html.escape(options.title)}</text>']
    for k, row in enumerate(rows):
        y = TOP + ROW * k
        out.append(f'<text x="12" y="{y + 20}" fill="#222">{html.escape(names.get(row, "device %d" % row[0]).replace(", default stream", ""))}</text>')
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y + ROW - 2}" y2="{y + ROW - 2}" stroke="#ddd"/>')
    for e in spans:
        x, y = LEFT + (e["ts"] - begin) * scale, TOP + ROW * rows.index((e["pid"], e["tid"])) + 4
        width = max(e["dur"] * scale, 1.5)
        name = short(e["name"])
        out.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 10}" fill="{colour[name]}" rx="2"/>')
        if width > 7 * len(name):
            out.append(f'<text x="{x + 4:.1f}" y="{y + 16}" fill="#fff">{html.escape(name)}</text>')
    y = TOP + ROW * len(rows) + 20
    x = LEFT
    for name, fill in colour.items():
        out.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{fill}"/><text x="{x + 17}" y="{y}" fill="#222">{html.escape(name)}</text>')
        x += 40 + 7 * len(name)
    out.append(f'<text x="{WIDTH - 20}" y="{y}" text-anchor="end" fill="#555">{end - begin:.1f} µs of virtual time</text></svg>')
    with open(options.out, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
