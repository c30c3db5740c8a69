#!/usr/bin/env bash
# The documentation: links and widths of all Markdown, the number of words, counts, the version wherever it is stated, the commands that CI takes from
# pages, the site built strictly and its links, and, where a build folder is named, the outputs and counts of the pages
# that show them.
#
# Usage: check_docs.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
python3 tools/check_markdown.py
python3 tools/check_doc_words.py
python3 tools/render_runs.py --counts --check README.md docs/*.md docs/*/*.md
python3 tools/check_version.py
python3 tools/readme_commands.py --list README.md docs/install.md
python3 tools/check_site.py
if [[ $# -gt 0 ]]; then
  tool=$1/bin/fabricbench
  python3 tools/check_version.py "$tool"
  for page in README.md docs/index.md docs/install.md docs/guide/deadlocks.md docs/guide/check_your_program.md docs/guide/profile.md \
    docs/guide/why_is_my_all_reduce_wrong.md; do
    python3 tools/render_runs.py "$tool" "$page" --check
  done
fi
