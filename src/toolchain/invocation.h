#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fb::toolchain {

// A program that is about to run, and what it must see besides the system's own files.
struct Invocation {
  std::vector<std::string> command;
  std::vector<std::string> reads;   // files and folders
  std::vector<std::string> writes;  // folders
};

// What to run in its place: the same program where it sees nothing else. Empty: the command as it is.
using Wrapper = std::function<std::vector<std::string>(const Invocation&)>;

inline std::vector<std::string> wrapped(const Wrapper& wrapper, const Invocation& invocation) {
  return wrapper ? wrapper(invocation) : invocation.command;
}

}  // namespace fb::toolchain
