#!/usr/bin/env python3
"""The pages of a run as files, without a browser and without plots: every link leads somewhere, every element is closed, nothing points
to a network, nothing that a model wrote became markup, and the same run gives the same bytes.

  pages_test.py FABRICBENCH RUN OUT"""

import html.parser
import os
import pathlib
import shutil
import subprocess
import sys

VOID = {"meta", "link", "input", "hr", "br", "wbr", "img", "line", "polygon"}
ALLOWED = {"html", "head", "title", "script", "body", "header", "main", "footer", "nav", "section", "article", "aside", "div", "p", "span", "a", "b",
           "i", "em", "strong", "small", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr",
           "th", "td", "form", "label", "select", "option", "optgroup", "button", "figure", "figcaption", "details", "summary", "blockquote", "svg", "text"} | VOID


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path, self.open, self.ids, self.links, self.errors, self.policy = path, [], set(), [], [], ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        if self.open:
            self.errors.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in ALLOWED:
            self.errors.append(f"unexpected element {tag}")
        if any(name.startswith("on") for name in values):
            self.errors.append(f"code in an attribute of {tag}")
        if tag == "script" and "src" not in values and values.get("type") != "application/json":
            self.errors.append("code in the page")
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if "id" in values:
            if values["id"] in self.ids:
                self.errors.append(f"id {values['id']} twice")
            self.ids.add(values["id"])
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> closes nothing, at {self.getpos()}")


def write_site(tool, run, out, *options):
    shutil.rmtree(out, ignore_errors=True)
    environment = dict(os.environ, FABRICBENCH_WEB="/nowhere")
    done = subprocess.run([tool, "report", run, "--html", str(out), *options], env=environment, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"FAILED: {done.stdout}{done.stderr}")


def check_pages(out):
    pages = {path: Page(path) for path in sorted(out.rglob("*.html"))}
    errors = []
    for path, page in pages.items():
        errors += [f"{path.relative_to(out)}: {error}" for error in page.errors]
        if "default-src 'none'" not in page.policy:
            errors.append(f"{path.relative_to(out)}: no policy")
        for link in page.links:
            if link.startswith("data:"):
                continue
            target, _, anchor = link.partition("#")
            if ":" in target or target.startswith("/"):
                errors.append(f"{path.relative_to(out)}: leads out of the site: {link}")
                continue
            file = pathlib.Path(os.path.normpath(path.parent / target)) if target else path
            if not file.is_file():
                errors.append(f"{path.relative_to(out)}: leads nowhere: {link}")
            elif anchor and file in pages and anchor not in pages[file].ids:
                errors.append(f"{path.relative_to(out)}: no such place: {link}")
    return pages, errors


def contents(out):
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def main():
    tool, run, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    all_pages = ("--attempt-pages", "10000")
    write_site(tool, run, out, *all_pages)
    pages, errors = check_pages(out)
    attempts = len(list(pathlib.Path(run).rglob("*.attempt.json")))
    problems = len(list(pathlib.Path(run).glob("problems/*.json")))
    if len(pages) != 1 + problems + attempts:
        errors.append(f"{len(pages)} pages for {problems} problems and {attempts} attempts")
    # Attempts with a profile show it, others do not; its lines lead to the code (check_pages follows all links).
    profiles = [path for path, page in pages.items() if "profile" in page.ids]
    linked = [path for path in profiles if '">line ' in path.read_text(encoding="utf-8")]
    with_profile = sum(1 for path in pathlib.Path(run).rglob("*.attempt.json") if '"profile"' in path.read_text(encoding="utf-8"))
    if with_profile == 0 or len(profiles) != with_profile or len(linked) < 0.9 * with_profile:
        errors.append(f"{len(profiles)} pages with a profile, {len(linked)} with links, for {with_profile} attempts that have one")
    index = (out / "index.html").read_text(encoding="utf-8")
    if index.count("configure FabricBench with <code>-DFB_WEB=ON</code>") == 0:
        errors.append("index.html does not say how to get plots")
    if "plots.js" in "".join(link for page in pages.values() for link in page.links):
        errors.append("a page loads plots that are not there")
    first = contents(out)
    write_site(tool, run, out, *all_pages)
    if contents(out) != first:
        errors.append("the same run gives other pages")
    write_site(tool, run, out, "--attempt-pages", "50", "--title", "Fifty")
    fewer, more_errors = check_pages(out)
    errors += more_errors
    if len(fewer) != 1 + problems + 50:
        errors.append(f"{len(fewer)} pages where 50 attempts may have one")
    for error in errors[:20]:
        print(error)
    if errors:
        sys.exit(f"FAILED: {len(errors)} errors")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links")


if __name__ == "__main__":
    main()
