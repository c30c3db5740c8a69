#pragma once

#include <string>

#include "common/base/result.h"

namespace fb::cli {

// The text of an answer to `problem`; "-" is standard input. Errors say how a file is begun.
Result<std::string> read_answer_file(const std::string& problem, const std::string& file);

}  // namespace fb::cli
