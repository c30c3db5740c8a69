#pragma once

// Impostors: outputs that look plausible and are wrong. Here they are made without running anything: from the oracle
// and the inputs of a call. Whatever the judge compares must refuse each of them.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "judge/data/call_data.h"

namespace fb::prove {

// All output bytes of all ranks: [rank][tensor], empty for inputs.
using Outputs = std::vector<std::vector<std::vector<std::byte>>>;

struct Impostor {
  std::string name;
  Outputs outputs;
};

// The right answer in the outputs' formats.
Outputs right_outputs(const judge::Layout& layout, const judge::CallData& call);

// Those that make sense for the problem. `before` is another call.
std::vector<Impostor> make_impostors(const judge::Layout& layout, const judge::Oracle& oracle,
                                     const judge::CallData& call, const judge::CallData& before);

// The judge's answer: nothing where it accepts.
std::optional<std::string> refusal(const judge::Layout& layout, const judge::CallData& call, const Outputs& outputs);

}  // namespace fb::prove
