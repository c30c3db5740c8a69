#pragma once

// How far a long command has come: one line at the bottom of the terminal behind standard error, erased at the end.
// Where that is no terminal, nothing is written.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "cli/text/style.h"

namespace fb::cli {

class Progress {
 public:
  // `command` begins the line: "mutate".
  explicit Progress(std::string command) : command_(std::move(command)) {}

  // "mutate: all_reduce_ring: 12 of 72 mutants (34 s)"; 0 planned: parts can't be counted.
  void show(std::string_view what, size_t done = 0, size_t planned = 0, std::string_view unit = "");
  // Before other output: it would begin behind the line.
  void clear() { line_.clear(); }

 private:
  std::string command_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  LiveLine line_{stderr};
};

}  // namespace fb::cli
