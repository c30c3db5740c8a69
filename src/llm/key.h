#pragma once

// Keys: where they come from, and that they do not get out again.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fb::llm {

// The key under the first of these variables that has one: in the environment; in the file that VARIABLE_FILE names; in
// a line VARIABLE=… of the file that FABRICBENCH_KEY_FILE names. Empty: there is none. An error where a file is not the
// user's own or others may read it.
Result<std::string> find_key(const std::vector<std::string>& variables);

// A file that only this user can read, and that is no key of everybody's: its content, or a named error.
Result<std::string> read_secret_file(const std::string& path);

// Takes a key out of what is to be kept.
class Redactor {
 public:
  explicit Redactor(std::string key);

  // For answers and bodies: the key as it is, and as JSON and addresses escape it.
  std::string text(std::string_view text) const;
  // For what a server says about an error: also parts of the key, as in "sk-abc…xyz is wrong".
  std::string complaint(std::string_view text) const;

 private:
  std::string key_;
  std::vector<std::string> forms_;
};

}  // namespace fb::llm
