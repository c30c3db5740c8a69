#include "common/ptx/traits.h"

#include <string_view>

namespace fb::ptx {
namespace {

// How a form accesses memory is stated if and only if its syntax names some.
constexpr bool states_access(std::string_view syntax, const Traits& t) {
  const bool addressed = syntax.contains('[');
  const bool descriptor = syntax.contains("desc:");
  const bool stated = t.reads || t.writes || t.mbarrier || t.no_access || t.tensor_memory;
  if (t.no_access && (t.reads || t.writes || t.mbarrier)) return false;
  return addressed ? stated : !stated || (descriptor && t.reads && !t.writes);
}

// Orders and asynchrony belong to accesses, barriers and fences.
constexpr bool is_consistent(const Traits& t) {
  const bool memory = t.reads || t.writes || t.mbarrier;
  if (t.asynchronous && !memory) return false;
  if (t.scoped_order && !memory) return false;
  return !(t.jumps && (memory || t.computes));
}

using namespace trait_words;  // NOLINT(google-build-using-namespace): the words of the column
#define FORM(id, tier, syntax, traits)                                                                   \
  static_assert(states_access(syntax, traits), "forms.def, " #id ": say how it accesses its [address]"); \
  static_assert(is_consistent(traits), "forms.def, " #id ": traits that contradict each other");
#include "common/ptx/forms.def"
#undef FORM

}  // namespace

MemoryOrder order_of(const Instruction& instruction) {
  if (instruction.has(Mod::sc)) return MemoryOrder::sc;
  if (instruction.has(Mod::acq_rel)) return MemoryOrder::acq_rel;
  if (instruction.has(Mod::acquire)) return MemoryOrder::acquire;
  if (instruction.has(Mod::release)) return MemoryOrder::release;
  if (instruction.has(Mod::relaxed)) return MemoryOrder::relaxed;
  if (instruction.has(Mod::volatile_)) return MemoryOrder::volatile_;
  return traits(instruction).order;
}

Scope scope_of(const Instruction& instruction) {
  if (instruction.has(Mod::sys)) return Scope::sys;
  if (instruction.has(Mod::gpu) || instruction.has(Mod::gl)) return Scope::gpu;
  if (instruction.has(Mod::cluster)) return Scope::cluster;
  if (instruction.has(Mod::cta)) return Scope::cta;
  if (instruction.has(Mod::volatile_)) return Scope::sys;
  return traits(instruction).scope;
}

}  // namespace fb::ptx
