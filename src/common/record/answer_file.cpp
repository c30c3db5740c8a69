#include "common/record/answer_file.h"

#include <algorithm>
#include <array>

namespace fb::record {

bool is_answer_file(std::string_view file) {
  constexpr auto kOurs = std::to_array<std::string_view>({"driver.cu", "template.cu", "entry.cu"});
  constexpr auto kEndings = std::to_array<std::string_view>({".cu", ".md", ".cuh", ".cpp", ".txt"});
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  return std::ranges::find(kOurs, file) == kOurs.end() && std::ranges::any_of(kEndings, [&](auto ending) {
           return file.size() > ending.size() && file.ends_with(ending);
         });
}

}  // namespace fb::record
