// Why programs that use network cards wait for ever, as reports of deadlocks have it.

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "virtual_node/machine/libraries/verbs/hang_finder.h"
#include "virtual_node/machine/libraries/verbs/verbs.h"

namespace fb::machine {

std::optional<CollectiveBlame> Verbs::blame() const {
  HangFinder finder(cards_, gone_numbers_, [this](uint32_t number) {
    for (const auto& process : node_.processes) {
      if (process->number == number) return name_of(*process);
    }
    return fmt::format("process {}", number);
  });
  for (const auto& [process, held] : held_) {
    if (!held.empty()) finder.add_posting(process);
  }
  // In an order that does not depend on which connected first.
  auto threads = node_.threads.all();
  std::ranges::sort(threads, {}, [](const auto& thread) { return std::pair(thread->process->number, thread->tie); });
  for (const auto& thread : threads) {
    if (thread->gone || thread->process->gone) continue;
    // A thread outside may look at a channel's descriptor by poll() or epoll.
    finder.add_thread(*thread, pipes_.used_channel(thread->process->number));
  }
  return finder.find();
}

std::optional<std::string> Verbs::explain_wait(const HostThread& thread) const {
  const auto at = [](std::string_view where) { return where.empty() ? "" : fmt::format(", at {}", where); };
  const std::string who = name_of(*thread.process) + ": a host thread ";
  const std::string where = at(thread.note.where);
  switch (thread.note.wait) {
    case wire::VerbsWait::channel:
      return who + "waits for an event of a completion channel (ibv_get_cq_event)" + where;
    case wire::VerbsWait::events:
      return who + "waits for an asynchronous event (ibv_get_async_event)" + where;
    case wire::VerbsWait::acknowledgements:
      return fmt::format("{}waits until {} acknowledged (ibv_destroy_…){}", who,
                         thread.note.value == 1 ? "1 event is" : fmt::format("{} events are", thread.note.value),
                         where);
    case wire::VerbsWait::connections:
      return who + "waits for an event of a connection (rdma_get_cm_event)" + where;
    case wire::VerbsWait::connection_acknowledgements:
      return fmt::format("{}waits until {} acknowledged (rdma_destroy_id){}", who,
                         thread.note.value == 1 ? "1 event is" : fmt::format("{} events are", thread.note.value),
                         where);
    case wire::VerbsWait::none:
    case wire::VerbsWait::poll:
      break;
  }
  if (thread.waiting && thread.request == wire::Kind::verbs_post)
    return who + "posts again and again to a send queue that is full (ibv_post_send)";
  const auto vain = vain_looks_.find(thread.tie);
  if (thread.request == wire::Kind::verbs_look && vain != vain_looks_.end())
    return fmt::format("{}polls a word of registered memory{}, where {} is", who,
                       at(host_accesses_.line(thread.process->number, vain->second.line)), vain->second.seen);
  if (thread.polled.empty()) return std::nullopt;
  const HangFinder finder(cards_, gone_numbers_, {});
  std::string text = who + "polls ";
  for (size_t k = 0; k < thread.polled.size(); ++k) {
    const auto found = cards_.completion_queues().find(thread.polled[k].queue);
    if (k != 0) text += " and ";
    text += found == cards_.completion_queues().end() ? "a completion queue" : finder.describe_queue(*found->second);
    text += " (ibv_poll_cq)" + at(thread.polled[k].where);
  }
  return text;
}

std::string Verbs::explain_memory(uint32_t process, uint64_t address) const {
  for (const auto& [id, region] : cards_.regions()) {
    if (region->process != process || (region->access & rdma::access::remote_write) == 0) continue;
    if (address < region->address || address - region->address >= region->bytes) continue;
    uint64_t landed = 0, under_way = 0, last = 0;
    for (const auto& [number, pair] : cards_.pairs()) {
      if (pair->process == process && pair->domain == region->domain && pair->past.plain_writes != 0) {
        landed += pair->past.plain_writes;
        last = pair->past.written_at;
      }
      under_way += static_cast<uint64_t>(
          std::ranges::count(pair->sends, region->key, [](const auto& e) { return e.work.remote_key; }));
    }
    std::string text = fmt::format("network cards may write it (rkey {:#x}): ", region->key);
    text += landed == 0
                ? "no RDMA write has landed in this process"
                : fmt::format("{} landed in this process, the last at {:#x}",
                              landed == 1 ? "1 RDMA write has" : fmt::format("{} RDMA writes have", landed), last);
    return text + (under_way == 0 ? ", and none is under way" : fmt::format(", and {} under way", under_way));
  }
  return {};
}

}  // namespace fb::machine
