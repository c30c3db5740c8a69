#pragma once

// Findings that are known and not to be reported: the lines of a file, as other sanitizers have them.
//
//   CLASS:function:GLOB         a kernel or device function of one of the accesses
//   CLASS:file:GLOB             a source file of one of the accesses; its last folders are enough
//   CLASS:line:FILE:N           a line, or FILE:N-M
//   CLASS:flag:GLOB or FILE:N   the function or the line that sets or reads the flag which ordered nothing
//
// CLASS is race (all races), * (everything), or one class, as not-released. A # and what follows is a comment.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/incident.h"

namespace fb::machine {

struct Suppression {
  enum class Subject : uint8_t { function, file, line, flag };

  std::string finding = {};  // Incident::finding, or "race", or "*"
  Subject subject = Subject::function;
  std::string pattern = {};      // a glob: of functions or files
  uint32_t first = 0, last = 0;  // lines; 0: any
  std::string text = {};         // as it is in the file
  uint32_t line = 0;             // of the file
};

// Every wrong line is an error, with its number.
Result<std::vector<Suppression>> parse_suppressions(std::string_view text);

bool matches(const Suppression& suppression, const record::Incident& finding);

}  // namespace fb::machine
