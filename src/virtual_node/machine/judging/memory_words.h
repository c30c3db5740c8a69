#pragma once

// Words that stand in the memory of a judged candidate between its calls. A value that means "nothing has arrived yet"
// must be among them, however it was computed: the judge puts such values into the inputs of later calls.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "virtual_node/machine/process/services.h"

namespace fb::machine {

// Of all processes; at most some dozens, the most frequent first. The same memory gives the same words.
std::vector<uint32_t> find_words(const ProcessServices& node);

// Collects words from pieces of memory. Of small pieces all count, of large ones those that are repeated.
class WordCount {
 public:
  void add(std::span<const std::byte> memory);
  std::vector<uint32_t> most_frequent() const;

 private:
  struct Count {
    uint32_t word = 0;
    uint32_t times = 0;
  };
  std::vector<Count> counts_;
};

}  // namespace fb::machine
