#pragma once

// What a race is called and what would repair it: rules over plain facts. The first rule that applies decides.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/agents/sync_log.h"
#include "virtual_node/race/report/report.h"
#include "virtual_node/race/shadow/shadow_cell.h"

namespace fb::race {

// The last flag between the two accesses, as reports name it.
struct FlagNames {
  std::string writer, reader;                 // agents
  std::string write_at, read_at, release_at;  // lines
};

struct RaceFacts {
  ShadowCell earlier, later;
  uint32_t earlier_lane = 0, later_lane = 0;  // kLanes: not known which
  std::string earlier_at, later_at;           // lines
  const OperationInfo* earlier_op = nullptr;
  const OperationInfo* later_op = nullptr;
  bool morally_strong = false;
  bool earlier_in_scope = false;  // the later thread is in the scope of the earlier access
  bool later_in_scope = false;    // … and the other way round
  bool host_memory = false;       // the bytes are memory of the host, which takes part between device threads
  bool shared_memory = false;     // … of a block
  // The narrowest scope that includes both threads: those of the flag where there is one between them.
  Scope needed = Scope::sys;
  bool threads_ordered = false;  // an asynchronous copy whose issuing thread is ordered after the earlier access
  // The last flag that was read between the two.
  const SyncEdge* edge = nullptr;      // null: none
  bool released_to_reader = false;     // … carried a release that covers the earlier access
  bool released_before = false;        // … came after the earlier access, but its last release before it
  bool reader_in_write_scope = false;  // … was written with a scope that includes its reader
  bool writer_in_read_scope = false;   // … was read with a scope that includes its writer
  bool read_is_relaxed = false;        // … by a load that does not acquire, and no fence has come behind it
  // The edge is not between the two threads but on the way: a flag that was set after the first access, or read before
  // the second, and ordered nothing.
  bool on_the_way = false;
  // A flag that carries a release behind the earlier access, and that only others have read.
  const SyncEdge* unread = nullptr;
  const OperationInfo* flag_op = nullptr;  // that wrote the flag of `edge`
  FlagNames flag;                          // of `edge`, or else of `unread`; filled in after the rule has been chosen

  // Both are work of the same call of run.
  bool is_of_one_call() const { return earlier_op->call != 0 && earlier_op->call == later_op->call; }
};

struct ReportRule {
  std::string_view name;  // Report::rule
  bool (*applies)(const RaceFacts& f);
  std::optional<RaceClass> kind;                 // none: by the kinds of the two accesses
  std::string (*last_sync)(const RaceFacts& f);  // what was last synchronised, or why nothing was
  std::string (*change)(const RaceFacts& f);     // the smallest change that orders the two
};

// In this order. A network card made one of the accesses (rules_of_cards.cpp), the two accesses decide
// (rules_of_accesses.cpp), the flag between them (rules_of_flags.cpp), or the
// lack of any synchronisation (rules_of_order.cpp). The last rule of the last table always applies.
std::span<const ReportRule> rules_of_cards();
std::span<const ReportRule> rules_of_accesses();
std::span<const ReportRule> rules_of_flags();
std::span<const ReportRule> rules_of_order();

const ReportRule& first_rule(const RaceFacts& f);
// A flag that ordered nothing is the cause.
bool is_of_flag(const ReportRule& rule);
RaceClass class_of(const ReportRule& rule, const RaceFacts& f);

// "block", "device", …
std::string_view name_of(Scope scope);
// "__threadfence_system()", and the suffix of ld.acquire and st.release: "sys".
std::string_view fence_of(Scope scope);
std::string_view suffix_of(Scope scope);

}  // namespace fb::race
