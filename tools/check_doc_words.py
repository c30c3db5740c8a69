#!/usr/bin/env python3
"""Counts the words of the pages in docs/ and fails above LIMIT. Measurements in docs/evidence don't count; everything else
does, outputs and tables included. Later work that needs more raises LIMIT in the commit that needs it.

Usage: check_doc_words.py [FOLDER] [--pages]

--pages prints each page's words, most first.
"""
import os
import pathlib
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 40_000
UNCOUNTED = "evidence"


def words_of(folder):
    """Words by page, as wc counts them."""
    pages = (page for page in pathlib.Path(folder).rglob("*.md") if page.relative_to(folder).parts[0] != UNCOUNTED)
    return {str(page.relative_to(folder)): len(page.read_text(encoding="utf-8").split()) for page in pages}


def main():
    folders = [argument for argument in sys.argv[1:] if argument != "--pages"] or [os.path.join(ROOT, "docs")]
    words = words_of(folders[0])
    if "--pages" in sys.argv:
        for page, number in sorted(words.items(), key=lambda entry: -entry[1]):
            print(f"{number:6} {page}")
    total = sum(words.values())
    print(f"words: {total} on {len(words)} pages, at most {LIMIT}")
    sys.exit(1 if total > LIMIT or not words else 0)


if __name__ == "__main__":
    main()
