"""Hooks of mkdocs.yml: what makes the repository's Markdown, which is written for GitHub's renderer, right for MkDocs.

- Files outside docs/ that are part of the site become pages of it (PAGES), and links to them are adapted.
- Links to other files of the repository become text: the site is whole without the repository.
- Python-Markdown wants an empty line before a list.
"""
import os
import posixpath
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Path in the repository → path in the site.
PAGES = {"ARCHITECTURE.md": "ARCHITECTURE.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md",
         "SECURITY.md": "SECURITY.md", "examples/README.md": "examples.md", "README.md": "index.md"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
ITEM = re.compile(r" {0,3}([-*+]|\d+[.)]) +\S")


class OutsidePage(File):
    """A page of the site from a file outside docs/."""

    def __init__(self, source, path, config):
        super().__init__(path, config["docs_dir"], config["site_dir"], config["use_directory_urls"])
        self.abs_src_path = os.path.join(ROOT, source)


def source_of(page):
    """The page's path in the repository."""
    for source, path in PAGES.items():
        if path == page.file.src_uri and path != "index.md":
            return source
    return "docs/" + page.file.src_uri


def adapted_link(source, here, match):
    image, text, target = match.groups()
    if re.match(r"[a-z]+:|#", target):
        return match[0]
    path, mark, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if path in PAGES:
        there = PAGES[path]
    elif path.startswith("docs/"):
        there = path.removeprefix("docs/")
    else:
        named = text.startswith("`") or posixpath.splitext(posixpath.basename(path))[0] in text
        return text if named else f"{text} (`{path}`)"
    return f"{image}[{text}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{mark}{anchor})"


def with_lines_before_lists(text):
    lines = text.split("\n")
    out, in_list = [], False
    for line in lines:
        if ITEM.match(line):
            if out and out[-1].strip() and not in_list:
                out.append("")
            in_list = True
        elif not line.strip():
            in_list = False
        out.append(line)
    return "\n".join(out)


def outside_fences(text, change):
    """The text with `change` made to all that is not in a fenced block."""
    out, part, fence = [], [], None
    for line in text.split("\n"):
        mark = FENCE.match(line.lstrip())
        was_inside = fence is not None
        if mark:
            fence = mark[1] if fence is None else None if mark[1].startswith(fence) else fence
        if was_inside or mark:
            if part:
                out.append(change("\n".join(part)))
                part = []
            out.append(line)
        else:
            part.append(line)
    if part:
        out.append(change("\n".join(part)))
    return "\n".join(out)


def on_files(files, config):
    for source, path in PAGES.items():
        if path != "index.md":
            files.append(OutsidePage(source, path, config))
    return files


def on_page_markdown(markdown, page, config, files):
    source, here = source_of(page), page.file.src_uri

    def adapt(text):
        return with_lines_before_lists(LINK.sub(lambda match: adapted_link(source, here, match), text))

    return outside_fences(markdown, adapt)
