#pragma once

// The program as a user meets it.

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace fb {

struct Output {
  int exit_code = -1;
  std::string text;  // both outputs
};

// `arguments` as one would write them in a shell.
inline Output run_tool(const std::string& arguments) {
  const std::string command = "{ " + std::string(FB_BINARY_DIR) + "/bin/fabricbench " + arguments + "\n} 2>&1";
  Output output;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  size_t got = 0;
  while ((got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) output.text.append(buffer.data(), got);
  output.exit_code = WEXITSTATUS(pclose(pipe));
  return output;
}

}  // namespace fb
