#include "virtual_node/machine/process/suppressions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "common/base/demangle.h"
#include "common/base/strings.h"
#include "virtual_node/race/report/report.h"

namespace fb::machine {
namespace {

constexpr std::string_view kAllRaces = "race", kEverything = "*";

using Subject = Suppression::Subject;
struct SubjectName {
  std::string_view name;
  Subject subject;
};
constexpr std::array kSubjects = {SubjectName{"function", Subject::function}, SubjectName{"file", Subject::file},
                                  SubjectName{"line", Subject::line}, SubjectName{"flag", Subject::flag}};

std::vector<std::string> classes() {
  std::vector<std::string> all = {std::string(kEverything), std::string(kAllRaces)};
  for (const std::string_view id : race::all_ids()) all.emplace_back(id);
  return all;
}

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

// "FILE:12" or "FILE:12-20"; false: it is neither.
bool read_lines(std::string_view text, Suppression& s) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view range = text.substr(colon + 1);
  const size_t dash = range.find('-');
  const auto first = number(range.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
  if (!first || !last || *last < *first) return false;
  s.pattern = text.substr(0, colon);
  s.first = *first;
  s.last = *last;
  return true;
}

Result<Suppression> parse_line(std::string_view text, uint32_t line) {
  const auto wrong = [&](const std::string& message) { return error(message, {line, 1}); };
  Suppression s;
  s.text = text;
  s.line = line;
  const size_t colon = text.find(':');
  const size_t second = colon == std::string_view::npos ? colon : text.find(':', colon + 1);
  if (second == std::string_view::npos)
    return wrong(
        fmt::format("'{}' is no suppression: CLASS:function:GLOB, CLASS:file:GLOB, CLASS:line:FILE:N or "
                    "CLASS:flag:GLOB",
                    text));
  s.finding = trim(text.substr(0, colon));
  const std::vector<std::string> known = classes();
  if (std::ranges::find(known, s.finding) == known.end())
    return wrong(fmt::format("there is no class '{}': {}", s.finding, fmt::join(known, ", ")));
  const std::string_view subject = trim(text.substr(colon + 1, second - colon - 1));
  const auto row = std::ranges::find(kSubjects, subject, &SubjectName::name);
  if (row == kSubjects.end()) return wrong(fmt::format("'{}' is none of function, file, line, flag", subject));
  s.subject = row->subject;
  const std::string_view pattern = trim(text.substr(second + 1));
  if (pattern.empty()) return wrong("the pattern is empty");
  if (s.subject == Subject::line && !read_lines(pattern, s))
    return wrong(fmt::format("'{}' names no line: FILE:12 or FILE:12-20", pattern));
  if (s.subject == Subject::flag && read_lines(pattern, s)) return s;
  if (s.subject != Subject::line) s.pattern = pattern;
  return s;
}

bool fits(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// As it is named, or its last folders.
bool fits_file(const std::string& pattern, const std::string& path) {
  if (path.empty()) return false;
  if (fits(pattern, path)) return true;
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (fits(pattern, path.substr(slash + 1))) return true;
  }
  return false;
}

// With its parameters, without them, or without its namespaces and template arguments.
bool fits_function(const std::string& pattern, const std::string& function) {
  if (function.empty()) return false;
  if (fits(pattern, function)) return true;
  std::string name = short_function_name(function);
  if (fits(pattern, name)) return true;
  name.erase(std::min(name.find('<'), name.size()));
  const size_t scope = name.rfind("::");
  return fits(pattern, scope == std::string::npos ? name : name.substr(scope + 2));
}

bool fits_line(const Suppression& s, const record::SourceFrame& frame) {
  return frame.line >= s.first && frame.line <= s.last && fits_file(s.pattern, frame.file);
}

bool fits_site(const Suppression& s, const record::IncidentSite& site) {
  const bool of_flag = site.role.starts_with("flag");
  if (of_flag != (s.subject == Subject::flag)) return false;
  const bool by_function = s.subject == Subject::function || (of_flag && s.first == 0);
  if (by_function && fits_function(s.pattern, site.kernel)) return true;
  return std::ranges::any_of(site.frames, [&](const record::SourceFrame& frame) {
    if (by_function) return fits_function(s.pattern, frame.function);
    return s.subject == Subject::file ? fits_file(s.pattern, frame.file) : fits_line(s, frame);
  });
}

}  // namespace

Result<std::vector<Suppression>> parse_suppressions(std::string_view text) {
  std::vector<Suppression> found;
  Errors errors;
  uint32_t line_number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    // A comment begins the line or follows a space.
    for (size_t hash = line.find('#'); hash != std::string_view::npos; hash = line.find('#', hash + 1)) {
      if (hash != 0 && line[hash - 1] != ' ' && line[hash - 1] != '\t') continue;
      line = line.substr(0, hash);
      break;
    }
    line = trim(line);
    if (line.empty()) continue;
    auto one = parse_line(line, line_number);
    if (one) {
      found.push_back(std::move(*one));
    } else {
      errors.list.push_back(std::move(one.error().list[0]));
    }
  }
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return found;
}

bool matches(const Suppression& suppression, const record::Incident& finding) {
  const bool of_class = suppression.finding == kEverything || suppression.finding == finding.finding ||
                        (suppression.finding == kAllRaces && finding.kind == record::IncidentKind::race);
  return of_class && std::ranges::any_of(finding.sites, [&](const auto& site) { return fits_site(suppression, site); });
}

}  // namespace fb::machine
