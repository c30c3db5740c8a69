#pragma once

#include <string>
#include <string_view>

namespace fb::launcher {

// Passes on what one process writes, in whole lines, each with one write: lines of several processes never mix.
class LineForwarder {
 public:
  // `hold` false: everything is passed on at once, because no other output can be mixed in.
  // `tagged` true: lines begin as mpirun --tag-output writes them, "[1,3]<stdout>:", and get our prefix instead.
  LineForwarder(int to, std::string prefix, bool hold, bool tagged = false)
      : to_(to), prefix_(std::move(prefix)), hold_(hold), tagged_(tagged) {}

  void take(std::string_view text);
  // The rest, where the last line has no end; it gets one if others follow.
  void finish();

 private:
  std::string line(std::string_view text) const;
  void put(std::string_view text) const;

  int to_;
  std::string prefix_;
  bool hold_, tagged_;
  std::string pending_;
};

// Writes all of it; gives up when the reader has closed its end.
void write_all(int fd, std::string_view text);

}  // namespace fb::launcher
