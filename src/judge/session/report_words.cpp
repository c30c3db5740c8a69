#include "judge/session/report_words.h"

#include <fmt/format.h>

#include <charconv>
#include <regex>

namespace fb::judge {

std::string in_words_of(const catalog::Problem& problem, const std::string& text) {
  static const std::regex kTensor(R"(tensor (\d+) of rank (\d+) #\d+( of (rank \d+, )?device \d+)?)");
  std::string said;
  auto from = text.cbegin();
  for (std::sregex_iterator found(text.begin(), text.end(), kTensor), end; found != end; ++found) {
    const std::smatch& match = *found;
    said.append(from, text.cbegin() + match.position());
    from = text.cbegin() + match.position() + match.length();
    size_t number = 0;
    const std::string digits = match[1];
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    said += number < problem.tensors.size()
                ? fmt::format("`{}` of rank {}", problem.tensors[number].name, match[2].str())
                : match.str();
  }
  return said.append(from, text.cend());
}

}  // namespace fb::judge
