#!/usr/bin/env bash
# The documentation: links and widths of all Markdown, the site built strictly and its links, and, where the release build is
# there, the outputs and counts of the pages that show them.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 tools/check_markdown.py
python3 tools/check_site.py
tool=build/release/bin/fabricbench
if [[ -x $tool ]]; then
  for page in README.md docs/index.md docs/why_is_my_all_reduce_wrong.md; do
    python3 tools/render_runs.py "$tool" "$page" --check
  done
fi
