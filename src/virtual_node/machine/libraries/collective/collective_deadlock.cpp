// Why collectives do not end: from a call that waits to the rank that does not come, and on to what that rank waits
// for.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/text_limits.h"
#include "common/wire/collectives.h"
#include "virtual_node/machine/deadlock/causes.h"
#include "virtual_node/machine/libraries/collective/collectives.h"

namespace fb::machine {
namespace {

using wire::CollectiveKind;

constexpr size_t kMostBlamedCalls = 16;
constexpr size_t kMostFollowed = 4096;

// The operation `later` must wait for `op`.
bool leads_to(const Operation* op, const Operation* later) {
  std::set<const Operation*> seen;
  std::vector<const Operation*> todo{op};
  while (!todo.empty() && seen.size() < kMostFollowed) {
    const Operation* at = todo.back();
    todo.pop_back();
    if (at == later) return true;
    if (!seen.insert(at).second) continue;
    for (const OperationPtr& next : at->after) todo.push_back(next.get());
  }
  return false;
}

struct Waiting {
  std::shared_ptr<Communicator> comm;
  const CollectiveLaunch* launch = nullptr;
  const Exchange* exchange = nullptr;  // null: it waits for signals
  const CollectivePart* part = nullptr;
  uint32_t rank = 0, missing = 0;
};

std::string rank_name(const Communicator& comm, uint32_t rank) {
  const Process* process = comm.members[rank].process;
  const bool same = process && process->rank == static_cast<int32_t>(rank);
  if (!process) return fmt::format("rank {}", rank);
  return same ? fmt::format("rank {}", rank)
              : fmt::format("rank {} ({}, device {})", rank, name_of(*process), comm.members[rank].local_device);
}

std::string numbered(const Communicator& comm, const Exchange& e) {
  return e.message ? fmt::format("message {} from rank {} to rank {} of communicator {}", e.number, e.ranks[0],
                                 e.ranks[1], comm.number)
                   : fmt::format("collective {} of communicator {}", e.number, comm.number);
}

// A call that ends when all ranks have made it.
struct Assembly {
  std::string call;
  uint64_t number = 0;  // of the communicator; 0: it is being made
  std::vector<bool> came;
};

class Finder {
 public:
  Finder(std::vector<std::shared_ptr<Communicator>> comms, const std::vector<std::shared_ptr<HostThread>>& threads,
         std::vector<Assembly> assemblies)
      : comms_(std::move(comms)), threads_(threads), assemblies_(std::move(assemblies)) {
    for (const auto& comm : comms_) {
      for (const auto& [number, e] : comm->collectives) add(comm, *e);
      for (const auto& [ends, exchanges] : comm->messages) {
        for (const auto& [number, e] : exchanges) add(comm, *e);
      }
      for (uint32_t r = 0; r < comm->ranks(); ++r) {
        for (const PostedPart& p : comm->members[r].waits) {
          if (!p.launch->over)
            waiting_.push_back({comm, p.launch.get(), nullptr, &p.part(), r, static_cast<uint32_t>(p.call().peer)});
        }
      }
    }
  }

  std::optional<CollectiveBlame> find() {
    if (auto blame = mismatch()) return blame;
    if (waiting_.empty()) return unfinished();
    std::vector<const Waiting*> path;
    const Waiting* at = &waiting_.front();
    while (at) {
      const auto seen = std::ranges::find(path, at);
      if (seen != path.end()) return circle({seen, path.end()});
      path.push_back(at);
      const Waiting* next = nullptr;
      bool victim = false;
      if (!follow(*at, next, victim)) return missing(*at, victim);
      at = next;
    }
    return std::nullopt;
  }

 private:
  void add(const std::shared_ptr<Communicator>& comm, const Exchange& e) {
    // What all ranks have given up is history.
    const bool held = std::ranges::any_of(e.posts, [](const PostedPart& p) { return p && !p.launch->over; });
    if (e.running || !held) return;
    exchanges_.emplace_back(comm.get(), &e);
    for (size_t k = 0; k < e.posts.size(); ++k) {
      if (!e.posts[k] || e.posts[k].launch->over) continue;
      for (size_t other = 0; other < e.posts.size(); ++other) {
        if (!e.posts[other])
          waiting_.push_back({comm, e.posts[k].launch.get(), &e, &e.posts[k].part(), e.ranks[k], e.ranks[other]});
      }
    }
  }

  std::optional<CollectiveBlame> mismatch() const {
    for (const auto& [comm, e] : exchanges_) {
      if (e->mismatch.empty()) continue;
      std::vector<size_t> there;
      for (size_t k = 0; k < e->posts.size(); ++k) {
        if (e->posts[k]) there.push_back(k);
      }
      CollectiveBlame blame;
      blame.cause = static_cast<uint8_t>(Cause::calls_do_not_match);
      add_calls(*comm, blame);
      if (e->mismatch.starts_with("rank ")) {
        blame.cause = static_cast<uint8_t>(Cause::rank_does_not_call);
        blame.sentence = fmt::format("{} can't end: {}", numbered(*comm, *e), e->mismatch);
        blame.look_at = "the ranks that still wait: each of them has to abort the communicator too";
        return blame;
      }
      const auto& first = e->posts[there.front()].call();
      const auto other = std::ranges::find_if(there, [&](size_t k) {
        const auto& c = e->posts[k].call();
        return c.kind != first.kind || c.count != first.count || c.type != first.type || c.op != first.op ||
               c.peer != first.peer;
      });
      const size_t second = other == there.end() ? there.back() : *other;
      const bool order = e->mismatch == "kind";
      blame.sentence =
          fmt::format("{} has different {} on its ranks: {} calls {}, {} calls {}", numbered(*comm, *e),
                      order ? "calls" : e->mismatch + "s", rank_name(*comm, e->ranks[there.front()]), describe(first),
                      rank_name(*comm, e->ranks[second]), describe(e->posts[second].call()));
      blame.look_at = order
                          ? "the order in which ranks call collectives of one communicator: it must be the same on all"
                          : fmt::format("the {} that the ranks give: it must be the same on all", e->mismatch);
      return blame;
    }
    return std::nullopt;
  }

  // The launch of the missing rank with the call that would match; null: not issued.
  const CollectiveLaunch* issued(const Waiting& w) const {
    const CommMember& member = w.comm->members[w.missing];
    for (const LaunchPtr& launch : member.queue) {
      for (const CollectivePart& part : launch->parts) {
        if (!w.exchange) {
          const bool signals = is_one_sided(part.call.kind) && part.call.kind != CollectiveKind::wait_signal;
          if (signals && !part.done && static_cast<uint32_t>(part.call.peer) == w.rank) return launch.get();
          continue;
        }
        if (is_one_sided(part.call.kind)) continue;
        if (part.number != w.part->number || part.posted) continue;
        const bool message = is_message(part.call.kind);
        if (message != w.exchange->message) continue;
        if (!message) return launch.get();
        const bool sends = part.call.kind == CollectiveKind::send;
        const auto peer = static_cast<uint32_t>(part.call.peer);
        if (sends == (w.part->call.kind == CollectiveKind::receive) && peer == w.rank) return launch.get();
      }
    }
    return nullptr;
  }

  // What the missing rank waits for itself. False: it is no collective; `victim`: something else keeps it.
  bool follow(const Waiting& w, const Waiting*& next, bool& victim) const {
    const CommMember& member = w.comm->members[w.missing];
    if (!member.process || member.gone) return false;
    const CollectiveLaunch* there = issued(w);
    const OperationPtr op = there ? there->op.lock() : nullptr;
    for (const Waiting& other : waiting_) {
      const CommMember& its = other.comm->members[other.rank];
      if (its.process != member.process) continue;
      const OperationPtr blocking = other.launch->op.lock();
      if (!blocking) continue;
      const bool before = there && (leads_to(blocking.get(), op.get()) ||
                                    (other.comm == w.comm && other.rank == w.missing && other.launch != there));
      const bool host = !there && host_waits_for(*member.process, *blocking);
      if (before || host) {
        next = &other;
        return true;
      }
    }
    victim = there != nullptr;
    return false;
  }

  bool host_waits_for(const Process& process, const Operation& op) const {
    return std::ranges::any_of(threads_, [&](const auto& t) {
      return t->process == &process && t->waiting && std::ranges::any_of(t->waits_for, [&](const OperationPtr& w) {
               return !w->has_ended && leads_to(&op, w.get());
             });
    });
  }

  CollectiveBlame circle(std::vector<const Waiting*> path) const {
    CollectiveBlame blame;
    const bool messages =
        std::ranges::all_of(path, [](const Waiting* w) { return !w->exchange || w->exchange->message; });
    const bool one = std::ranges::all_of(path, [&](const Waiting* w) { return w->comm == path.front()->comm; });
    std::string text;
    for (const Waiting* w : path) {
      text += fmt::format("{}{} waits in {} for {}", text.empty() ? "" : "; ", rank_name(*w->comm, w->rank),
                          describe(w->part->call), rank_name(*w->comm, w->missing));
      if (!one) text += fmt::format(" (communicator {})", w->comm->number);
    }
    if (messages) {
      blame.cause = static_cast<uint8_t>(Cause::messages_in_a_circle);
      const bool behind = std::ranges::all_of(path, [&](const Waiting* w) { return issued(*w) != nullptr; });
      blame.sentence = text + (behind ? ": each waits for the other's call, which comes behind its own"
                                      : ": each waits for a call that the other has not come to");
      blame.look_at = "the order of sends and receives: between ncclGroupStart and ncclGroupEnd they progress together";
    } else if (!one) {
      blame.cause = static_cast<uint8_t>(Cause::communicators_in_a_circle);
      blame.sentence = text;
      blame.look_at =
          "the order in which ranks use communicators on one stream: it must be the same on all of them, or the calls "
          "belong into one group";
    } else {
      blame.cause = static_cast<uint8_t>(Cause::calls_do_not_match);
      blame.sentence = text;
      blame.look_at = "the order of calls on this communicator: it must be the same on all ranks";
    }
    for (const Waiting* w : path) add_calls(*w->comm, blame);
    return blame;
  }

  CollectiveBlame missing(const Waiting& w, bool victim) const {
    const CommMember& member = w.comm->members[w.missing];
    CollectiveBlame blame;
    blame.cause = static_cast<uint8_t>(Cause::rank_does_not_call);
    blame.is_victim = victim;
    if (!w.exchange && !victim) return unsignalled(w, blame);
    std::string why = member.gone ? member.gone_why + " and " : "";
    if (victim) {
      why = "has issued its call, and what comes before it in its stream does not end";
    } else if (w.exchange->message) {
      const bool receives = w.part->call.kind == CollectiveKind::send;
      why += fmt::format("called no {} for it", receives ? "ncclRecv" : "ncclSend");
    } else {
      why += fmt::format("issued {} collective{} on it and no more", member.collectives,
                         member.collectives == 1 ? "" : "s");
    }
    blame.sentence =
        fmt::format("{} waits in {}, {}, and {} {}", rank_name(*w.comm, w.rank), describe(w.part->call),
                    w.exchange ? numbered(*w.comm, *w.exchange) : fmt::format("communicator {}", w.comm->number),
                    rank_name(*w.comm, w.missing), why);
    blame.look_at = victim ? "what keeps that rank's stream"
                           : fmt::format(
                                 "why rank {} does not make this call: an early return, an error that is not "
                                 "passed on, or a condition that depends on the rank",
                                 w.missing);
    add_calls(*w.comm, blame);
    return blame;
  }

  CollectiveBlame unsignalled(const Waiting& w, CollectiveBlame& blame) const {
    const CommMember& member = w.comm->members[w.missing];
    const auto& signals = w.comm->members[w.rank].signals;
    const auto box = signals.find(w.missing);
    const uint64_t sent = box == signals.end() ? 0 : box->second.sent;
    blame.cause = static_cast<uint8_t>(Cause::never_signalled);
    blame.sentence = fmt::format("{} waits in {}, up to signal {} on communicator {}, and {} {}has sent {}",
                                 rank_name(*w.comm, w.rank), describe(w.part->call), w.part->number, w.comm->number,
                                 rank_name(*w.comm, w.missing), member.gone ? member.gone_why + " and " : "", sent);
    blame.look_at =
        fmt::format("the ncclSignal and ncclPutSignal of rank {} to rank {}: each counts once", w.missing, w.rank);
    add_calls(*w.comm, blame);
    return blame;
  }

  // Ranks that wait for a communicator.
  std::optional<CollectiveBlame> unfinished() const {
    for (const Assembly& a : assemblies_) {
      std::string there, missing;
      for (uint32_t r = 0; r < a.came.size(); ++r) {
        std::string& list = a.came[r] ? there : missing;
        list += fmt::format("{}{}", list.empty() ? "" : ", ", r);
      }
      if (there.empty() || missing.empty()) continue;
      CollectiveBlame blame;
      blame.cause = static_cast<uint8_t>(Cause::rank_does_not_call);
      blame.sentence =
          fmt::format("{} waits for all {} ranks: rank {} called it{}, and rank {} did not", a.call, a.came.size(),
                      there, a.number == 0 ? "" : fmt::format(" on communicator {}", a.number), missing);
      blame.look_at = a.number == 0 ? "the number of ranks and the id that each rank gives: all must call with the same"
                                    : "why not all ranks of the communicator make this call";
      return blame;
    }
    return std::nullopt;
  }

  void add_calls(const Communicator& comm, CollectiveBlame& blame) const {
    for (uint32_t r = 0; r < comm.ranks(); ++r) {
      const CommMember& m = comm.members[r];
      std::string line = fmt::format("communicator {}, {}:", comm.number, rank_name(comm, r));
      if (m.gone) line += " " + m.gone_why + ";";
      size_t named = 0;
      for (const LaunchPtr& launch : m.queue) {
        for (const CollectivePart& part : launch->parts) {
          if (part.done || ++named > at_most(4)) continue;
          line += fmt::format("{} {} {}", named == 1 ? "" : ",", part.posted ? "in" : "behind it", describe(part.call));
        }
      }
      if (named > at_most(4)) line += fmt::format(" and {} more", named - at_most(4));
      if (named == 0) line += fmt::format(" in no call; {} collectives issued", m.collectives);
      if (std::ranges::find(blame.calls, line) == blame.calls.end() && blame.calls.size() < at_most(kMostBlamedCalls))
        blame.calls.push_back(std::move(line));
    }
  }

  std::vector<std::shared_ptr<Communicator>> comms_;
  const std::vector<std::shared_ptr<HostThread>>& threads_;
  std::vector<Assembly> assemblies_;
  std::vector<std::pair<const Communicator*, const Exchange*>> exchanges_;
  std::vector<Waiting> waiting_;
};

}  // namespace

std::optional<CollectiveBlame> Collectives::blame() const {
  std::vector<std::shared_ptr<Communicator>> comms;
  for (const auto& weak : all_) {
    if (auto comm = weak.lock()) comms.push_back(std::move(comm));
  }
  std::ranges::sort(comms, {}, [](const auto& c) { return std::pair(c->number, c->token); });
  std::vector<Assembly> assemblies;
  for (const auto& comm : comms) {
    Assembly init{"ncclCommInitRank", 0, {}}, windows{"ncclCommWindowRegister", comm->number, {}};
    Assembly rests{"", comm->number, {}};
    uint64_t rounds = 0, rest = 0;
    for (const CommMember& m : comm->members) {
      rounds = std::max(rounds, m.window_rounds);
      rest = std::max(rest, m.suspend_rounds);
    }
    rests.call = rest % 2 == 1 ? "ncclCommSuspend" : "ncclCommResume";
    for (const CommMember& m : comm->members) {
      init.came.push_back(m.process && !m.gone);
      windows.came.push_back(m.window_rounds == rounds);
      rests.came.push_back(m.suspend_rounds == rest);
    }
    if (!comm->made && comm->token != 0) assemblies.push_back(std::move(init));
    assemblies.push_back(std::move(windows));
    assemblies.push_back(std::move(rests));
  }
  const auto add_round = [&](const Communicator* comm, const SplitRound& round, const char* call,
                             const std::vector<int32_t>& excluded) {
    Assembly a{call, comm->number, {}};
    for (uint32_t r = 0; r < round.handles.size(); ++r)
      a.came.push_back(round.handles[r] || std::ranges::binary_search(excluded, static_cast<int32_t>(r)));
    assemblies.push_back(std::move(a));
  };
  for (const auto& [key, round] : splits_) add_round(key.first, round, "ncclCommSplit", {});
  for (const auto& [key, round] : shrinks_) add_round(std::get<0>(key), round, "ncclCommShrink", std::get<1>(key));
  for (const auto& [key, round] : growths_) {
    Assembly a{"ncclCommGrow", key.first->number, {}};
    for (const CommMember& m : round.members) a.came.push_back(m.process != nullptr);
    assemblies.push_back(std::move(a));
  }
  return Finder(std::move(comms), node_.threads.all(), std::move(assemblies)).find();
}

std::optional<std::string> Collectives::explain_wait(const HostThread& thread) const {
  for (const auto& [id, handle] : thread.process->comms) {
    const bool waits = std::ranges::any_of(handle->waiting, [&](const auto& t) { return t.get() == &thread; });
    if (waits)
      return fmt::format("{}: a host thread waits in {} for other ranks", name_of(*thread.process), handle->about);
  }
  return std::nullopt;
}

}  // namespace fb::machine
