#include "virtual_node/fabric/share_ledger.h"

#include <new>

namespace fb::fabric {
namespace {

// A resource that has been busy for less than this part of the time since a period began has paused.
constexpr uint64_t kBusyPerMille = 900;

}  // namespace

void ShareLedger::begin(Time at) {
  if (!sets_) sets_.reset(static_cast<Set*>(std::calloc(size_t{1} << kLogSets, sizeof(Set))));
  if (!sets_) throw std::bad_alloc();
  active_ = true;
  begin_ = at;
  set(at, {});
}

void ShareLedger::add_served(BusyPeriod& busy, const Served& request, platform::Group group, Time in_flight) {
  const auto& [at, alone, end, work] = request;
  Shares own = find(at);
  own[static_cast<size_t>(platform::Group::in_flight)] += static_cast<int64_t>(in_flight);
  busy.work += work;
  const bool older = busy.begin >= begin_ && busy.begin <= at;
  const bool goes_on = older && (end - busy.begin) * kBusyPerMille <= busy.work * 1000;
  if (!goes_on && (at >= busy.begin || busy.begin < begin_)) busy = {at, work, own};
  if (end == at) return;
  const bool queued = goes_on && end > alone;
  Shares s = queued ? busy.shares : own;
  s[static_cast<size_t>(group)] += static_cast<int64_t>(end - (queued ? busy.begin : at));
  set(end, s);
}

}  // namespace fb::fabric
