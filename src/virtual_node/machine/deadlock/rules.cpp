#include "virtual_node/machine/deadlock/rules.h"

#include <fmt/format.h>

namespace fb::machine::rules {

std::string kernel_of(const WaitGraph& g, const Wait& w) {
  return w.run == Wait::kNone ? "" : short_name(g.facts.runs[w.run].run->grid.kernel->name);
}

std::string mangled_kernel_of(const WaitGraph& g, const Wait& w) {
  return w.run == Wait::kNone ? "" : g.facts.runs[w.run].run->grid.kernel->name;
}

std::string at_location(const Wait& w) { return w.run == Wait::kNone ? "" : " at " + short_location(w.location); }

std::string needs(const Wait& w) {
  return w.need_text.empty() ? fmt::format("sees {}", w.seen)
                             : fmt::format("needs {} and sees {}", w.need_text, part_of_word(w, w.seen));
}

uint64_t part_of_word(const Wait& w, uint64_t word) { return w.need ? w.need->part(word) : word; }

std::string written_by(const PastWrite& w) {
  return w.where.empty() ? w.writer : fmt::format("{}, at {}", w.writer, w.where);
}

}  // namespace fb::machine::rules
