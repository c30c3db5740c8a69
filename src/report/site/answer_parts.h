#pragma once

// An answer as it came, taken apart: prose and blocks of code.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb::report::site {

struct AnswerPart {
  bool is_code = false;
  std::string language = {};  // what stands behind the fence
  std::string text = {};      // without the fences
  uint32_t first_line = 1;    // of the text, in the answer
};

// Markdown with fenced code. A fence that is never closed reaches to the end. No fence and the look of code: one block.
std::vector<AnswerPart> split_answer(std::string_view answer);

// The block that the judge takes, as far as can be told from outside: the last one with the markers of a solution, or
// else with `class Solution`, or else the longest. -1: no code at all.
int judged_part(const std::vector<AnswerPart>& parts);

}  // namespace fb::report::site
