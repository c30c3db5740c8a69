#pragma once

// Colour and live lines on a terminal; plain text everywhere else.

#include <cstdio>
#include <string>
#include <string_view>

#include "cli/arguments.h"

namespace fb::cli {

// --color auto|always|never. `auto`: a terminal, NO_COLOR unset and TERM not "dumb".
void add_color_option(Command& program);

enum class Tone { good, bad, strong, faint };
// `text` in the tone's colour if `out` shows colours, else as it is.
std::string paint(std::string_view text, Tone tone, std::FILE* out);

// One line at the bottom of a terminal that is rewritten in place and cleared at the end. Writes nothing where `out` is
// no terminal.
class LiveLine {
 public:
  explicit LiveLine(std::FILE* out);
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;
  ~LiveLine() { clear(); }

  void show(const std::string& text);
  void clear();

 private:
  std::FILE* out_;
  bool live_;
  bool shown_ = false;
};

}  // namespace fb::cli
