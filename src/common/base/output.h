#pragma once

// Standard output and standard error, where writing neither throws nor ends the program: what could not be written is
// remembered, and finish_output() says so at the end. fmt::print throws instead, in the midst of other work, and a full
// standard error then leaves no way to say anything.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace fb {

void print_text(std::FILE* out, std::string_view text);
void flush(std::FILE* out);

template <class... T>
void print_to(std::FILE* out, fmt::format_string<T...> format, T&&... values) {
  print_text(out, fmt::format(format, std::forward<T>(values)...));
}
template <class... T>
void print_out(fmt::format_string<T...> format, T&&... values) {
  print_text(stdout, fmt::format(format, std::forward<T>(values)...));
}
template <class... T>
void print_error(fmt::format_string<T...> format, T&&... values) {
  print_text(stderr, fmt::format(format, std::forward<T>(values)...));
}

// For those that write to descriptors: writing to `fd` failed for this reason. Others than 1 and 2 are not counted.
void note_lost_output(int fd, int reason);

// Reasons (errno) for which output was lost; 0: all of it arrived.
struct LostOutput {
  int out = 0, error = 0;
};
// Flushes and closes standard output: nothing may be printed there afterwards.
LostOutput finish_output();
LostOutput lost_output();

// Descriptors 0 to 2 that were closed when the program was started stay unusable: no file that is opened later becomes
// one of them.
void occupy_standard_descriptors();

}  // namespace fb
