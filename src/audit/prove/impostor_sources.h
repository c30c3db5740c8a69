#pragma once

// Impostors as candidates, to be judged for real.

#include <string>
#include <vector>

#include "judge/catalog/problem.h"

namespace fb::prove {

struct ImpostorSource {
  std::string name;
  std::string answer;
  bool of_baseline = false;  // judged by the rules of the baseline
};

// Empty for problems with a driver: their class has an interface of its own.
std::vector<ImpostorSource> impostor_sources(const catalog::Problem& problem);

}  // namespace fb::prove
