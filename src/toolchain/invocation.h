#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fb::toolchain {

// A program to run, and the files it needs besides those of the system.
struct Invocation {
  std::vector<std::string> command;
  std::vector<std::string> reads;   // files and folders
  std::vector<std::string> writes;  // folders
};

// Returns the command that runs the program where it sees only those files. Empty: the command itself.
using Wrapper = std::function<std::vector<std::string>(const Invocation&)>;

inline std::vector<std::string> wrapped(const Wrapper& wrapper, const Invocation& invocation) {
  return wrapper ? wrapper(invocation) : invocation.command;
}

}  // namespace fb::toolchain
