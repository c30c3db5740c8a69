#pragma once

#include <cstdint>
#include <string>

namespace fb::race {

struct Options {
  uint64_t seed = 0;
  bool strict = false;       // also reports code that only works by habits of hardware: flags inside vectors
  uint32_t weak_lines = 4;   // older contents are kept of one in `weak_lines` lines; 0: no weak delivery
  uint32_t weak_chance = 4;  // one in `weak_chance` loads that may return older bytes does
  std::string why = {};      // "m7+0x40": record every access to this byte
};

}  // namespace fb::race
