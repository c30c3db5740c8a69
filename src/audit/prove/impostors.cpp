#include "audit/prove/impostors.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>

#include "judge/data/compare.h"
#include "judge/data/elements.h"

namespace fb::prove {
namespace {

using judge::CallData;
using judge::Layout;

bool is_output(const Layout& layout, size_t tensor) { return layout.problem->tensors[tensor].output; }

// Calls edit(rank, tensor, bytes) for every output.
Outputs edited(const Layout& layout, Outputs outputs,
               const std::function<void(int, size_t, std::vector<std::byte>&)>& edit) {
  for (int rank = 0; rank < layout.world; ++rank) {
    for (size_t t = 0; t < layout.tensors(); ++t) {
      if (is_output(layout, t)) edit(rank, t, outputs[static_cast<size_t>(rank)][t]);
    }
  }
  return outputs;
}

void clear(std::vector<std::byte>& bytes) { std::ranges::fill(bytes, std::byte{0}); }

// The right outputs for changed inputs; nothing where the oracle does not take them.
std::optional<Outputs> outputs_for(const Layout& layout, const judge::Oracle& oracle, CallData call,
                                   const std::function<void(CallData&)>& change) {
  try {
    change(call);
    call.expect_again(oracle);
    return right_outputs(layout, call);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Each rank's result if only its own data existed: the others' inputs are its own.
std::optional<Outputs> local_only(const Layout& layout, const judge::Oracle& oracle, const CallData& call) {
  Outputs all(static_cast<size_t>(layout.world));
  for (int rank = 0; rank < layout.world; ++rank) {
    const auto alone = outputs_for(layout, oracle, call, [&](CallData& changed) {
      for (int other = 0; other < layout.world; ++other) {
        for (size_t t = 0; t < layout.tensors(); ++t) {
          if (is_output(layout, t) || changed.input(rank, t).size() != changed.input(other, t).size()) continue;
          std::ranges::copy(call.input(rank, t), changed.writable_input(other, t).begin());
        }
      }
    });
    if (!alone) return std::nullopt;
    all[static_cast<size_t>(rank)] = (*alone)[static_cast<size_t>(rank)];
  }
  return all;
}

// Everything but the last rank's contribution, whose numbers are those of rank 0.
std::optional<Outputs> one_rank_missing(const Layout& layout, const judge::Oracle& oracle, const CallData& call) {
  return outputs_for(layout, oracle, call, [&](CallData& changed) {
    const int last = layout.world - 1;
    for (size_t t = 0; t < layout.tensors(); ++t) {
      if (is_output(layout, t) || changed.input(0, t).size() != changed.input(last, t).size()) continue;
      std::ranges::copy(call.input(0, t), changed.writable_input(last, t).begin());
    }
  });
}

// Groups of ranks that are apart from each other instead of adjacent: the other dimension of the grid is taken for the
// group's. Nothing where there is one dimension only.
std::optional<Outputs> transposed_groups(const Layout& layout, const judge::Oracle& oracle, const CallData& call) {
  const auto& name = layout.problem->group;
  const int ranks = name.empty() ? 1 : static_cast<int>(layout.size->values.find(name)->second);
  const int groups = layout.world / ranks;
  if (ranks == 1 || groups == 1) return std::nullopt;
  const auto rank_at = [&](int place) { return place % ranks * groups + place / ranks; };
  auto outputs = outputs_for(layout, oracle, call, [&](CallData& changed) {
    for (int place = 0; place < layout.world; ++place) {
      for (size_t t = 0; t < layout.tensors(); ++t) {
        const auto& tensor = layout.problem->tensors[t];
        if (tensor.output || tensor.replicated) continue;
        const auto from = call.input(rank_at(place), t);
        if (from.size() != call.input(place, t).size()) throw std::invalid_argument("ranks have other shapes");
        std::ranges::copy(from, changed.writable_input(place, t).begin());
      }
    }
  });
  if (!outputs) return std::nullopt;
  Outputs placed(outputs->size());
  for (int place = 0; place < layout.world; ++place)
    placed[static_cast<size_t>(rank_at(place))] = std::move((*outputs)[static_cast<size_t>(place)]);
  return placed;
}

// Every output is what an input of its rank begins with.
Outputs inputs_returned(const Layout& layout, const CallData& call, const Outputs& right) {
  return edited(layout, right, [&](int rank, size_t, std::vector<std::byte>& bytes) {
    clear(bytes);
    for (size_t t = 0; t < layout.tensors(); ++t) {
      if (is_output(layout, t)) continue;
      const auto input = call.input(rank, t);
      std::memcpy(bytes.data(), input.data(), std::min(input.size(), bytes.size()));
      return;
    }
  });
}

// The last element that counts, of the last rank, is another one.
Outputs one_element_missing(const Layout& layout, const CallData& call, const Outputs& right) {
  Outputs outputs = right;
  for (int rank = layout.world; rank-- > 0;) {
    for (size_t t = layout.tensors(); t-- > 0;) {
      if (!is_output(layout, t)) continue;
      const auto& expected = call.expected(rank, t);
      const size_t width = catalog::size_of(layout.problem->tensors[t].dtype);
      for (size_t i = expected.bound.size(); i-- > 0;) {
        if (expected.bound[i] > 1e30) continue;
        std::byte* at = outputs[static_cast<size_t>(rank)][t].data() + i * width;
        at[width - 1] ^= std::byte{0x40};
        return outputs;
      }
    }
  }
  return outputs;
}

}  // namespace

Outputs right_outputs(const Layout& layout, const CallData& call) {
  Outputs outputs(static_cast<size_t>(layout.world));
  for (int rank = 0; rank < layout.world; ++rank) {
    for (size_t t = 0; t < layout.tensors(); ++t) {
      auto& bytes = outputs[static_cast<size_t>(rank)].emplace_back();
      if (!is_output(layout, t)) continue;
      bytes.resize(layout.at(rank, t).bytes());
      const auto& expected = call.expected(rank, t);
      const catalog::DType type = layout.problem->tensors[t].dtype;
      for (size_t i = 0; i < expected.value.size(); ++i)
        judge::write_element(type, bytes.data() + i * catalog::size_of(type), expected.value[i]);
    }
  }
  return outputs;
}

std::vector<Impostor> make_impostors(const Layout& layout, const judge::Oracle& oracle, const CallData& call,
                                     const CallData& before) {
  const Outputs right = right_outputs(layout, call);
  std::vector<Impostor> impostors;
  impostors.push_back({"zeros", edited(layout, right, [](int, size_t, auto& bytes) { clear(bytes); })});
  impostors.push_back(
      {"constant", edited(layout, right, [](int, size_t, auto& bytes) { std::ranges::fill(bytes, std::byte{0x3F}); })});
  impostors.push_back({"inputs returned", inputs_returned(layout, call, right)});
  impostors.push_back({"one element missing", one_element_missing(layout, call, right)});
  impostors.push_back({"result of the call before", right_outputs(layout, before)});
  if (layout.world > 1) {
    impostors.push_back({"rank 0 right only", edited(layout, right, [](int rank, size_t, auto& bytes) {
                           if (rank != 0) clear(bytes);
                         })});
    impostors.push_back({"last rank did nothing", edited(layout, right, [&](int rank, size_t, auto& bytes) {
                           if (rank == layout.world - 1) clear(bytes);
                         })});
    if (auto outputs = local_only(layout, oracle, call))
      impostors.push_back({"local result only", std::move(*outputs)});
    if (auto outputs = one_rank_missing(layout, oracle, call))
      impostors.push_back({"one rank's data missing", std::move(*outputs)});
    if (auto outputs = transposed_groups(layout, oracle, call))
      impostors.push_back({"groups transposed", std::move(*outputs)});
  }
  return impostors;
}

std::optional<std::string> refusal(const Layout& layout, const CallData& call, const Outputs& outputs) {
  for (int rank = 0; rank < layout.world; ++rank) {
    for (size_t t = 0; t < layout.tensors(); ++t) {
      if (!is_output(layout, t)) continue;
      const auto& got = outputs[static_cast<size_t>(rank)][t];
      const auto mismatch = judge::compare(layout.at(rank, t), rank, t, call.expected(rank, t), got, got);
      if (mismatch) return judge::summarize(*mismatch, layout);
    }
  }
  return std::nullopt;
}

}  // namespace fb::prove
