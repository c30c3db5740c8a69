#pragma once

// Approved prompts; `FABRICBENCH_APPROVE=1 ctest --preset dev -R Prompt` writes them anew.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/base/strings.h"

namespace fb::prompts {

inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(FB_SOURCE_DIR) + "/tests/unit/prompts/golden/" + name;
  if (std::getenv("FABRICBENCH_APPROVE") != nullptr) write_file(path, text);
  EXPECT_EQ(text, read_file(path)) << path;
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "" : to_string(result.error(), "");
}

}  // namespace fb::prompts
