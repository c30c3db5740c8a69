#pragma once

// A timeline in Chrome's trace event format, which Perfetto (ui.perfetto.dev) opens: processes are groups of rows,
// threads are rows. Times are virtual picoseconds. Spans of one row must nest or follow each other.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace fb::record {

class Trace {
 public:
  using Value = std::variant<uint64_t, double, std::string_view>;
  using Arguments = std::initializer_list<std::pair<std::string_view, Value>>;

  // What would make the file longer than `most_bytes` is left out and counted.
  explicit Trace(size_t most_bytes = size_t{256} << 20) : most_bytes_(most_bytes) {}

  // Rows appear in the order of their numbers.
  void name_process(uint32_t process, std::string_view name);
  void name_thread(uint32_t process, uint32_t thread, std::string_view name);

  void add_span(uint32_t process, uint32_t thread, std::string_view name, uint64_t begin_ps, uint64_t end_ps,
                Arguments arguments = {});
  void add_instant(uint32_t process, uint32_t thread, std::string_view name, uint64_t at_ps, Arguments arguments = {});
  // A curve of its own below the process.
  void add_counter(uint32_t process, std::string_view name, uint64_t at_ps, double value);

  uint64_t events() const { return events_; }
  uint64_t left_out() const { return left_out_; }

  std::string to_json() const;
  // Throws std::system_error where the file cannot be written.
  void write(const std::string& path) const;
  // Adds these events to a file that a Trace has written. Throws where it can't, or where it is no such file.
  void append_to(const std::string& path) const;

 private:
  void append(std::string_view event);

  size_t most_bytes_;
  std::string body_;
  uint64_t events_ = 0, left_out_ = 0;
};

}  // namespace fb::record
