#include "cli/text/style.h"

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/installed.h"
#include "common/base/output.h"
#include "common/base/terminal.h"

namespace fb::cli {
namespace {

std::string color_choice = "auto";

bool is_terminal(std::FILE* out) { return isatty(fileno(out)) == 1 && environment("TERM") != "dumb"; }

bool shows_colors(std::FILE* out) {
  if (color_choice != "auto") return color_choice == "always";
  return environment("NO_COLOR").empty() && is_terminal(out);
}

}  // namespace

void add_color_option(Command& program) {
  program
      .add_option("--color", color_choice,
                  "Coloured output: auto (on a terminal, unless NO_COLOR is set), always, never")
      .check(one_of({"auto", "always", "never"}))
      .type_name("WHEN")
      .show_default();
}

std::string paint(std::string_view text, Tone tone, std::FILE* out) {
  if (!shows_colors(out)) return std::string(text);
  constexpr const char* kCodes[] = {"32;1", "31;1", "1", "2"};
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<size_t>(tone)], text);
}

LiveLine::LiveLine(std::FILE* out) : out_(out), live_(is_terminal(out)) {}

void LiveLine::show(const std::string& text) {
  if (!live_) return;
  // A line that wraps can't be rewritten in place.
  const size_t columns = terminal_columns(fileno(out_)).value_or(1);
  print_to(out_, "\r\033[K{}", cut_to_columns(text, columns - 1));
  flush(out_);
  shown_ = true;
}

void LiveLine::clear() {
  if (!shown_) return;
  print_to(out_, "\r\033[K");
  flush(out_);
  shown_ = false;
}

}  // namespace fb::cli
