#pragma once

#include <cstdint>
#include <string>

namespace fb::race {

struct Options {
  uint64_t seed = 0;
  bool strict = false;       // also reports code that only works by habits of hardware: flags inside vectors
  uint32_t weak_lines = 4;   // older contents are kept of one in `weak_lines` lines; 0: no weak delivery
  uint32_t weak_chance = 4;  // one in `weak_chance` loads that may return older bytes does
  // Races between weak accesses of threads are looked for in one of so many pieces of memory (looked_at.h).
  uint32_t one_piece_in = 1;
  uint64_t most_work = ~uint64_t{0};  // behind so many comparisons: in one of 16, from there on
  std::string why = {};               // "m7+0x40": record every access to this byte
  // For people who check a program of their own rather than for a judge: reports have whole paths and say what is
  // perhaps meant so (same-value stores).
  bool sanitizer = false;
  bool allow_same_value = false;  // unordered stores of bytes that are there already are not reported
  bool allow_volatile = false;    // volatile accesses, and weak stores of flags, order like release and acquire
};

}  // namespace fb::race
