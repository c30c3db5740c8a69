// Races after a flag was read: the synchronisation was missed, or it was by other threads.

#include <fmt/format.h>

#include "virtual_node/race/report/report_rules.h"

namespace fb::race {
namespace {

template <MissedSync Why>
bool missed(const RaceFacts& f) {
  return f.edge && f.edge->missed == Why;
}

std::string flag_was_read(const RaceFacts& f, const std::string& but) {
  return fmt::format("{} set a flag at {}, which {} read at {}, but {}", f.flag.writer, f.flag.write_at, f.flag.reader,
                     f.flag.read_at, but);
}

// The scope of the writer's side is that of its release, or of its store where that is narrower.
std::string writer_scope(const RaceFacts& f) {
  const Scope scope = f.reader_in_write_scope ? f.edge->release_scope : f.edge->write.reach();
  return flag_was_read(f, fmt::format("the writer's side has {} scope only ({})", name_of(scope),
                                      f.reader_in_write_scope ? f.flag.release_at : f.flag.write_at));
}

// What the reader's side lacks besides; empty: nothing that is known.
std::string and_acquire(const RaceFacts& f) {
  if (!f.read_is_relaxed) return {};
  return fmt::format("; the load at {} is relaxed, too: make it an acquire (ld.acquire.{}), or put {} after it",
                     f.flag.read_at, suffix_of(f.needed), fence_of(f.needed));
}
std::string and_scope_of_read(const RaceFacts& f) {
  return f.writer_in_read_scope ? "" : fmt::format(", and at {}, where the flag is read", f.flag.read_at);
}

constexpr ReportRule kRulesOfFlags[] = {
    {"flag without release", missed<MissedSync::not_released>, RaceClass::not_released,
     [](const RaceFacts& f) {
       return flag_was_read(f, "neither that store nor a fence before it releases the earlier writes");
     },
     [](const RaceFacts& f) {
       return fmt::format("make the store at {} a release (st.release.{}), or put {} before it{}", f.flag.write_at,
                          suffix_of(f.needed), fence_of(f.needed), and_acquire(f));
     }},
    {"flag without acquire", missed<MissedSync::not_acquired>, RaceClass::not_acquired,
     [](const RaceFacts& f) { return flag_was_read(f, "neither that load nor a fence after it acquires"); },
     [](const RaceFacts& f) {
       return fmt::format("make the load at {} an acquire (ld.acquire.{}), or put {} after it", f.flag.read_at,
                          suffix_of(f.needed), fence_of(f.needed));
     }},
    {"scope of the fence before a flag",
     [](const RaceFacts& f) { return missed<MissedSync::writer_scope>(f) && f.reader_in_write_scope; },
     RaceClass::narrow_scope, writer_scope,
     [](const RaceFacts& f) {
       return fmt::format("use {} scope at {} ({} instead of {}){}", name_of(f.needed), f.flag.release_at,
                          fence_of(f.needed), fence_of(f.edge->release_scope), and_scope_of_read(f));
     }},
    {"scope of the write of a flag", missed<MissedSync::writer_scope>, RaceClass::narrow_scope, writer_scope,
     [](const RaceFacts& f) {
       return fmt::format("use {} scope at {} (.{}){}", name_of(f.needed), f.flag.write_at, suffix_of(f.needed),
                          and_scope_of_read(f));
     }},
    {"scope of the read of a flag", missed<MissedSync::reader_scope>, RaceClass::narrow_scope,
     [](const RaceFacts& f) {
       return flag_was_read(
           f, fmt::format("the reader's side has {} scope only ({})", name_of(f.edge->acquire_scope), f.flag.read_at));
     },
     [](const RaceFacts& f) {
       return fmt::format("use {} scope at {} (.{}; a fence after it: {})", name_of(f.needed), f.flag.read_at,
                          suffix_of(f.needed), fence_of(f.needed));
     }},
    {"flag of different sizes", missed<MissedSync::size>, RaceClass::mixed_size,
     [](const RaceFacts& f) { return flag_was_read(f, "with accesses of different sizes, which do not synchronise"); },
     [](const RaceFacts& f) { return fmt::format("use the same size at {} and {}", f.flag.write_at, f.flag.read_at); }},
    {"acquire by another thread", [](const RaceFacts& f) { return f.edge && f.released_to_reader; },
     RaceClass::not_acquired,
     [](const RaceFacts& f) {
       return fmt::format(
           "{} acquired at {} what {} released at {}, but this thread has not synchronised with that one "
           "since (no __syncthreads)",
           f.flag.reader, f.flag.read_at, f.flag.writer, f.flag.write_at);
     },
     [](const RaceFacts& f) {
       return fmt::format("put __syncthreads() between {} and {} (or let every thread acquire)", f.flag.read_at,
                          f.later_at);
     }},
    {"release before the access", [](const RaceFacts& f) { return f.edge && f.released_before; },
     RaceClass::not_released,
     [](const RaceFacts& f) {
       return flag_was_read(f, fmt::format("the last release before that store, at {}, comes before the access at {}",
                                           f.flag.release_at, f.earlier_at));
     },
     [](const RaceFacts& f) {
       return fmt::format("make the store at {} a release (st.release.{}), or put {} between {} and it",
                          f.flag.write_at, suffix_of(f.needed), fence_of(f.needed), f.earlier_at);
     }},
    {"release by another thread", [](const RaceFacts& f) { return f.edge != nullptr; }, RaceClass::foreign_fence,
     [](const RaceFacts& f) {
       return fmt::format(
           "{} released at {} and {} acquired at {}, but another thread made the access at {} and did not "
           "synchronise with the releasing thread before its fence (no __syncthreads)",
           f.flag.writer, f.flag.release_at, f.flag.reader, f.flag.read_at, f.earlier_at);
     },
     [](const RaceFacts& f) {
       return fmt::format("put __syncthreads() (or __syncwarp()) between {} and the fence or release at {}",
                          f.earlier_at, f.flag.release_at);
     }},
};

}  // namespace

std::span<const ReportRule> rules_of_flags() { return kRulesOfFlags; }

}  // namespace fb::race
