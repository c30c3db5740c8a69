#pragma once

#include <string_view>

namespace fb::record {

// Whether a file that the judge names, with or without its folder, is the answer: its own files and headers are not.
bool is_answer_file(std::string_view file);

}  // namespace fb::record
