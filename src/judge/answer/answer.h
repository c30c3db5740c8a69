#pragma once

// The part of an answer that is judged: the texts of the solution's regions and nothing else.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/record/verdict.h"
#include "judge/catalog/problem.h"

namespace fb::judge {

struct Answer {
  std::vector<std::pair<std::string, std::string>> regions;  // name and text, in the order of the template
  std::vector<uint32_t> first_lines;                         // first line of each region's text in the answer; 1-based
  std::vector<std::string> notes;                            // for the author of the answer
};

// Takes a whole file with its markers, Markdown with fenced code, and where the problem has one region also code that
// has no markers but a class Solution. Errors say what is missing and what an answer must look like; their lines are
// those of `text`.
Result<Answer> read_answer(const catalog::Problem& problem, std::string_view text);

// From the first to the last line of the text that the regions were taken from.
record::LineRange judged_lines(const Answer& answer);

// The sources to be compiled, each by itself.
struct Sources {
  // The template with the answer in it, and behind it the entry by which a rank uses the class, or the candidate's side
  // of the border to the driver.
  std::string candidate = {};
  std::string driver = {};  // the driver behind its side of the border, and the entry; empty: there is none
};

// Compiler messages name lines in the answer `answer_name` and the answer's own line, others driver.cu, template.cu,
// interface.cu and entry.cu.
Result<Sources> assemble(const catalog::Problem& problem, const Answer& answer,
                         std::string_view answer_name = "solution.cu");

}  // namespace fb::judge
