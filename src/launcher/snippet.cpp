#include "launcher/snippet.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <vector>

namespace fb::launcher {
namespace {

constexpr uint32_t kAround = 2;           // lines before and after
constexpr size_t kMostLines = 1'000'000;  // of a file
constexpr size_t kWidest = 160;           // bytes of a line

using Marks = std::map<uint32_t, std::string>;  // line → what happens there

// Files in the order in which the finding names them.
std::vector<std::pair<std::string, Marks>> marks_of(const record::Incident& incident) {
  std::vector<std::pair<std::string, Marks>> files;
  for (const record::IncidentSite& site : incident.sites) {
    if (site.frames.empty() || site.frames[0].line == 0) continue;
    const record::SourceFrame& at = site.frames[0];
    auto file = std::ranges::find(files, at.file, &std::pair<std::string, Marks>::first);
    if (file == files.end()) file = files.insert(file, {at.file, {}});
    std::string& mark = file->second[at.line];
    if (mark.empty()) {
      mark = site.role;
    } else if (mark != site.role) {
      mark += ", " + site.role;
    }
  }
  return files;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; lines.size() < kMostLines && std::getline(file, line);) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.size() > kWidest) line = line.substr(0, kWidest) + "…";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::string snippet_of(const record::Incident& incident) {
  std::string text;
  for (const auto& [path, marks] : marks_of(incident)) {
    const std::vector<std::string> lines = lines_of(path);
    if (lines.empty() || marks.rbegin()->first > lines.size()) continue;
    size_t width = 0;
    for (const auto& [line, mark] : marks) width = std::max(width, mark.size());
    text += fmt::format("  {}\n", path);
    uint32_t shown = 0;  // the last line
    for (auto mark = marks.begin(); mark != marks.end(); ++mark) {
      const uint32_t first = std::max(shown + 1, mark->first > kAround ? mark->first - kAround : 1);
      uint32_t last = std::min(mark->first + kAround, static_cast<uint32_t>(lines.size()));
      // The next one is shown by itself.
      if (const auto next = std::next(mark); next != marks.end()) last = std::min(last, next->first - 1);
      if (shown != 0 && first > shown + 1) text += fmt::format("  {:>{}}\n", "…", width + 8);
      for (uint32_t line = first; line <= last; ++line) {
        const auto own = marks.find(line);
        text += fmt::format("  {:>{}} {} {:>5} | {}\n", own == marks.end() ? "" : own->second, width,
                            own == marks.end() ? " " : ">", line, lines[line - 1]);
      }
      shown = last;
    }
  }
  return text;
}

}  // namespace fb::launcher
