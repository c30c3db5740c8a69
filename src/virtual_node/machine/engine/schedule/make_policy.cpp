#include "virtual_node/machine/engine/schedule/make_policy.h"

#include "common/base/check.h"
#include "virtual_node/machine/engine/schedule/by_time_policy.h"
#include "virtual_node/machine/engine/schedule/chosen_policy.h"
#include "virtual_node/machine/engine/schedule/first_come_policy.h"
#include "virtual_node/machine/engine/schedule/priority_policy.h"
#include "virtual_node/machine/engine/schedule/random_policy.h"

namespace fb::machine {

std::unique_ptr<SchedulePolicy> make_policy(ScheduleKind kind, uint64_t seed, const std::vector<uint32_t>& choices,
                                            SyncSteps& steps) {
  switch (kind) {
    case ScheduleKind::first_come:
      return std::make_unique<FirstComePolicy>();
    case ScheduleKind::random:
      if (strategy_of(seed) == Strategy::priorities) return std::make_unique<PriorityPolicy>(seed, steps);
      return std::make_unique<RandomPolicy>(seed);
    case ScheduleKind::by_time:
      return std::make_unique<ByTimePolicy>(seed);
    case ScheduleKind::chosen:
      return std::make_unique<ChosenPolicy>(choices, steps);
  }
  FB_CHECK(false);
  return nullptr;
}

}  // namespace fb::machine
