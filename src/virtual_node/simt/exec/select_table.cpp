#include "virtual_node/simt/exec/select.h"

#include "virtual_node/simt/exec/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/select_table.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

#define FORM(id, tier, syntax, traits) Exec select_##id(const Selection&);
#include "common/ptx/forms.def"
#undef FORM

const SelectTable* table() {
  static constexpr SelectTable kTable = {
#define FORM(id, tier, syntax, traits) &select_##id,
#include "common/ptx/forms.def"
#undef FORM
  };
  return &kTable;
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
// Highway's library measures the resolution of the processor's timer when it is loaded, 4 ms in every start of a
// program, for benchmarks that are not run here. This definition comes before its own.
namespace hwy::platform {
uint64_t TimerResolution() { return 1; }
}  // namespace hwy::platform

namespace fb::simt {

HWY_EXPORT(table);

const SelectTable& select_table() { return *HWY_DYNAMIC_DISPATCH(table)(); }

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    names.emplace_back(hwy::TargetName(left & -left));
  }
  return names;
}

bool use_simd_target(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  int64_t wanted = hwy::SupportedTargets();
  if (!name.empty()) {
    for (int64_t left = wanted & HWY_TARGETS; left != 0; left &= left - 1) {
      if (name == hwy::TargetName(left & -left)) wanted = left & -left;
    }
    if ((wanted & (wanted - 1)) != 0) return false;
    hwy::SetSupportedTargetsForTest(wanted);
  }
  hwy::GetChosenTarget().Update(wanted);
  return true;
}

}  // namespace fb::simt
#endif
