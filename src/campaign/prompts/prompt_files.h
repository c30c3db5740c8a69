#pragma once

// The folder of prompts: $FABRICBENCH_PROMPTS, else ../share/fabricbench/prompts beside the running program, else the
// source tree this program was built from.

#include <string>
#include <string_view>

#include "campaign/prompts/text_template.h"
#include "common/base/result.h"

namespace fb::prompts {

// The text of a file of the folder: "parts/judging.md".
Result<std::string> read_prompt_file(std::string_view file);

// The same as a filled template, without the last newline.
Result<std::string> fill_prompt_file(std::string_view file, const Values& values);

}  // namespace fb::prompts
