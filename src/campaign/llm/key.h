#pragma once

// Keys: where they come from, and their redaction from everything that is kept.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::llm {

// The key of the first variable that has one: in the environment; in the file named by VARIABLE_FILE; in a line
// VARIABLE=… of the file named by FABRICBENCH_KEY_FILE. Empty: none. An error if a file does not belong to the user or
// others can read it.
Result<std::string> find_key(const std::vector<std::string>& variables);

// The content of a file that belongs to this user and that no other user can read; otherwise an error.
Result<std::string> read_secret_file(const std::string& path);

// Replaces a key in everything that is kept.
class Redactor {
 public:
  explicit Redactor(std::string key);

  // For answers and bodies: the key as it is, and as JSON and addresses escape it.
  std::string text(std::string_view text) const;
  // For error messages of a server: also parts of the key, as in "sk-abc…xyz is wrong".
  std::string complaint(std::string_view text) const;

 private:
  std::string key_;
  std::vector<std::string> forms_;
};

}  // namespace fb::llm
