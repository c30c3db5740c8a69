#!/usr/bin/env python3
"""Builds the documentation with mkdocs and checks the pages as files: every link and anchor leads somewhere, and no page
loads anything from a network.

Usage: check_site.py [OUT]      (default: build/docs)
"""
import html.parser
import os
import subprocess
import sys
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in LOADS and values.get(LOADS[tag]) and values.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(values[LOADS[tag]])


def is_remote(address):
    return address.startswith("//") or urllib.parse.urlsplit(address).scheme in ("http", "https")


def wrong_link(path, link, pages, folder):
    address, _, anchor = urllib.parse.unquote(link).partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(path), address)) if address else path
    if address.startswith("/"):
        file = os.path.join(folder, address.lstrip("/"))
    if os.path.isdir(file):
        file = os.path.join(file, "index.html")
    if not os.path.isfile(file):
        return "leads nowhere"
    if anchor and anchor != "__top" and file in pages and anchor not in pages[file].ids:
        return "has no such anchor"
    return None


def check(folder):
    pages = {}
    for where, _, names in os.walk(folder):
        pages.update({os.path.join(where, name): Page(os.path.join(where, name)) for name in names if name.endswith(".html")})
    errors, links = [], 0
    for path, page in sorted(pages.items()):
        if os.path.basename(path) == "404.html":  # its links are those of a server's root
            continue
        name = os.path.relpath(path, folder)
        errors += [f"{name}: loads {address}" for address in page.loads if is_remote(address)]
        for link in page.links + [address for address in page.loads if not address.startswith("data:")]:
            if is_remote(link) or link.startswith(("mailto:", "javascript:", "data:")):
                continue
            links += 1
            wrong = wrong_link(path, link, pages, folder)
            if wrong:
                errors.append(f"{name}: {link} {wrong}")
    return pages, links, errors


def main():
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "docs"))
    subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--clean", "--site-dir", folder], cwd=ROOT, check=True)
    pages, links, errors = check(folder)
    print("\n".join(errors + [f"site: {len(pages)} pages, {links} links, {len(errors)} errors"]))
    sys.exit(1 if errors or len(pages) < 20 else 0)


if __name__ == "__main__":
    main()
