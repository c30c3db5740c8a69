#include "toolchain/compile/diagnostics.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

struct Line {
  std::string_view file;
  Location at;
  std::string_view severity;
  std::string_view message;
};

std::optional<uint32_t> parse_number(std::string_view text) {
  uint32_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "file:line:column: severity: message", or "program: severity: message".
std::optional<Line> parse_line(std::string_view text) {
  for (const std::string_view severity : {"fatal error", "error", "warning", "note"}) {
    const size_t at = text.find(fmt::format(": {}: ", severity));
    if (at == std::string_view::npos) continue;
    Line line{text.substr(0, at), {}, severity, text.substr(at + severity.size() + 4)};
    const size_t column = line.file.rfind(':');
    const size_t row = column == std::string_view::npos ? column : line.file.rfind(':', column - 1);
    if (row == std::string_view::npos) return line;
    const auto row_number = parse_number(line.file.substr(row + 1, column - row - 1));
    const auto column_number = parse_number(line.file.substr(column + 1));
    if (row_number && column_number) {
      line.at = {*row_number, *column_number};
      line.file = line.file.substr(0, row);
    }
    return line;
  }
  return std::nullopt;
}

// A position in `source` is a location; one in another file is part of the message.
Diagnostic place(const Line& line, std::string message, std::string_view source) {
  if (line.at.line == 0 || line.file == source) return {line.at, std::move(message)};
  return {{}, fmt::format("{}:{}:{}: {}", line.file, line.at.line, line.at.column, message)};
}

}  // namespace

Errors parse_diagnostics(std::string_view output, std::string_view source) {
  Errors errors;
  bool in_error = false;  // notes follow what they explain
  for (const auto text : split(output, '\n')) {
    const auto line = parse_line(text);
    if (text.starts_with("LLVM ERROR: ")) errors.list.push_back({{}, std::string(text)});  // out of memory, mostly
    if (!line) continue;
    const bool note = line->severity == "note";
    if (!note) in_error = line->severity != "warning";
    if (!in_error) continue;
    std::string message = note ? fmt::format("note: {}", line->message) : std::string(line->message);
    if (line->message.starts_with("reference to __global__ function"))
      message += ": launches from device code need -rdc=true, and judged runs have none";
    errors.list.push_back(place(*line, std::move(message), source));
  }
  if (errors.list.empty()) errors = Errors(fmt::format("the compiler failed: {}", trim(output)));
  return errors;
}

Errors parse_nvcc_diagnostics(std::string_view output, std::string_view source) {
  Errors errors;
  for (const auto text : split(output, '\n')) {
    const size_t close = text.find("): ");
    if (close == std::string_view::npos) continue;
    const size_t open = text.rfind('(', close);
    if (open == std::string_view::npos) continue;
    const auto row = parse_number(text.substr(open + 1, close - open - 1));
    const auto said = text.substr(close + 3);
    if (!row || !(said.starts_with("error") || said.starts_with("catastrophic error"))) continue;
    errors.list.push_back(place({text.substr(0, open), {*row, 1}, "error", {}},
                                std::string(trim(said.substr(said.find(':') + 1))), source));
  }
  return errors.list.empty() ? parse_diagnostics(output, source) : errors;
}

Errors find_managed_variables(std::string_view output, std::string_view source) {
  Errors errors;
  for (const auto text : split(output, '\n')) {
    const auto line = parse_line(text);
    if (!line || line->message.find("'managed' attribute ignored") == std::string_view::npos) continue;
    errors.list.push_back(
        place(*line, "__managed__ variables are not supported; allocate with cudaMallocManaged", source));
  }
  return errors;
}

std::string place_of(const Diagnostic& message, std::string_view source) {
  if (message.at.line != 0) return fmt::format("{}:{}:{}", source, message.at.line, message.at.column);
  return message.message.substr(0, message.message.find(": "));
}

}  // namespace fb::toolchain
