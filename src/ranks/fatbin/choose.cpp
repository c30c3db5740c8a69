#include "ranks/fatbin/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fb::fatbin {
namespace {

bool same_family(uint32_t a, uint32_t b) { return a / 10 == b / 10; }

bool runs(const Entry& entry, uint32_t capability) {
  if (entry.architecture > capability) return false;
  if (entry.variant == Variant::exact) return entry.architecture == capability;
  const bool bound = entry.kind == Kind::machine_code || entry.variant == Variant::family;
  return !bound || same_family(entry.architecture, capability);
}

// Later architectures first, of one those that may use more of it.
bool is_better(const Entry& a, const Entry& b) {
  if (a.architecture != b.architecture) return a.architecture > b.architecture;
  return a.variant > b.variant;
}

std::vector<std::string> names_of(std::span<const Entry> entries, Kind kind) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    if (entry.kind != kind) continue;
    std::string name = architecture_name(entry);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::string explain(std::span<const Entry> entries, uint32_t capability) {
  const auto text = names_of(entries, Kind::ptx);
  const auto code = names_of(entries, Kind::machine_code);
  const std::string device = fmt::format("compute capability {}.{}", capability / 10, capability % 10);
  if (text.empty() && code.empty()) return "the device code is empty";
  if (text.empty())
    return fmt::format(
        "the device code is machine code for {} without PTX, and the node runs PTX: compile with -gencode "
        "arch=compute_{},code=compute_{}",
        fmt::join(code, ", "), capability, capability);
  return fmt::format(
      "the device code is PTX for {}, which no device of {} runs: compile with -gencode "
      "arch=compute_{},code=compute_{}",
      fmt::join(text, ", "), device, capability, capability);
}

}  // namespace

Choice choose_text(std::span<const Entry> entries, uint32_t capability) {
  Choice choice;
  const Entry* later = nullptr;
  bool has_code = false;
  for (const Entry& entry : entries) {
    const bool fits = runs(entry, capability);
    has_code |= entry.kind == Kind::machine_code && fits;
    if (entry.kind != Kind::ptx) continue;
    const Entry*& best = fits ? choice.ptx : later;
    if (!best || is_better(entry, *best) == fits) best = &entry;
  }
  if (!choice.ptx && has_code) choice.ptx = later;
  if (!choice.ptx) choice.problem = explain(entries, capability);
  return choice;
}

}  // namespace fb::fatbin
