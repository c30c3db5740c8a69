// Races that the two accesses explain by themselves: sizes, lanes of one warp, proxies, scopes, updates.

#include <fmt/format.h>

#include "virtual_node/race/report/report_rules.h"

namespace fb::race {
namespace {

bool in_one_warp(const RaceFacts& f) { return f.earlier.block == f.later.block && f.earlier.warp == f.later.warp; }
bool both_strong(const RaceFacts& f) { return f.earlier.strong && f.later.strong; }

// Of two strong accesses, the one whose scope does not include the other thread.
const ShadowCell& narrow(const RaceFacts& f) { return f.earlier_in_scope ? f.later : f.earlier; }
const std::string& narrow_at(const RaceFacts& f) { return f.earlier_in_scope ? f.later_at : f.earlier_at; }

constexpr ReportRule kRulesOfAccesses[] = {
    {"flag in a vector", [](const RaceFacts& f) { return f.morally_strong; }, RaceClass::in_band_flag,
     [](const RaceFacts&) -> std::string {
       return "the flag is one element of the vector and the data are others: PTX performs elements in any order";
     },
     [](const RaceFacts&) -> std::string {
       return "publish the data with a release and read the flag with an acquire, or put both in one scalar of up to 8 "
              "bytes";
     }},
    {"strong accesses of different sizes",
     [](const RaceFacts& f) {
       const bool asynchronous = f.earlier.through() == Proxy::async || f.later.through() == Proxy::async;
       return both_strong(f) && !asynchronous && !f.earlier.of_card() && !f.later.of_card() &&
              f.earlier.element != f.later.element;
     },
     RaceClass::mixed_size,
     [](const RaceFacts& f) {
       return fmt::format(
           "one access has {} bytes, the other {}: they are not morally strong, so neither orders the "
           "other",
           1 << f.earlier.element, 1 << f.later.element);
     },
     [](const RaceFacts&) -> std::string {
       return "access the word with the same size on both sides, one word for each writer";
     }},
    {"lanes of one store",
     [](const RaceFacts& f) {
       return in_one_warp(f) && f.earlier.site == f.later.site && f.earlier.epoch == f.later.epoch &&
              f.earlier.writes();
     },
     RaceClass::in_one_warp,
     [](const RaceFacts&) -> std::string { return "both are lanes of the same store instruction"; },
     [](const RaceFacts&) -> std::string { return "let one lane write, or give every lane an address of its own"; }},
    {"slot that the host takes",
     [](const RaceFacts& f) {
       return f.host_memory && f.earlier.writes() && f.later.writes() && !both_strong(f) && !f.earlier_op->of_judge &&
              !f.later_op->of_judge;
     },
     RaceClass::not_released,
     [](const RaceFacts& f) {
       return fmt::format(
           "the bytes are memory of the host: it takes what {} has stored before they are written again, but what is "
           "handed to it was not released at system scope",
           f.earlier_at);
     },
     [](const RaceFacts& f) {
       return fmt::format(
           "put __threadfence_system() between the data stored at {} and the store that tells the host of it (or make "
           "that one st.release.sys), and acquire (ld.acquire.sys, or a __threadfence_system() after the load) where "
           "the host says that the place is free",
           f.earlier_at);
     }},
    {"lanes of one warp", in_one_warp, RaceClass::in_one_warp,
     [](const RaceFacts&) -> std::string { return "lanes of a warp are ordered by __syncwarp only"; },
     [](const RaceFacts& f) {
       // What a block shares, other warps access as well: lanes of one are only the first that were seen.
       return f.shared_memory
                  ? fmt::format(
                        "put __syncthreads() between {} and {} (__syncwarp() where only this warp accesses them)",
                        f.earlier_at, f.later_at)
                  : fmt::format("put __syncwarp() between {} and {}", f.earlier_at, f.later_at);
     }},
    {"no proxy fence", [](const RaceFacts& f) { return f.threads_ordered; }, RaceClass::proxy_crossed,
     [](const RaceFacts&) -> std::string {
       return "the threads are ordered, but the copy goes through the asynchronous proxy, which need not see generic "
              "stores";
     },
     [](const RaceFacts& f) {
       return fmt::format("put fence.proxy.async after the store at {}, before the barrier or the copy", f.earlier_at);
     }},
    {"scope of a strong access", both_strong, RaceClass::narrow_scope,
     [](const RaceFacts& f) {
       if (!f.earlier_in_scope && !f.later_in_scope && f.earlier_at != f.later_at)
         return fmt::format("both are strong, but the access at {} has {} scope only, and that at {} {} scope",
                            f.earlier_at, name_of(f.earlier.reach()), f.later_at, name_of(f.later.reach()));
       return fmt::format("both are strong, but the access at {} has {} scope only", narrow_at(f),
                          name_of(narrow(f).reach()));
     },
     [](const RaceFacts& f) {
       if (!f.earlier_in_scope && !f.later_in_scope && f.earlier_at != f.later_at)
         return fmt::format("give the accesses at {} and {} {} scope (.{})", f.earlier_at, f.later_at,
                            name_of(f.needed), suffix_of(f.needed));
       return fmt::format("give the access at {} {} scope (.{})", narrow_at(f), name_of(f.needed), suffix_of(f.needed));
     }},
    {"update that is not atomic",
     [](const RaceFacts& f) {
       const bool one_line = f.earlier_at == f.later_at;
       return (f.earlier.update && f.later.update) || (f.earlier.update && !f.later.writes() && one_line) ||
              (f.later.update && !f.earlier.writes() && one_line);
     },
     RaceClass::not_atomic,
     [](const RaceFacts&) -> std::string {
       return "both load the value, change it and store it: one of the changes can be lost";
     },
     [](const RaceFacts& f) {
       return fmt::format("use atomicAdd{} (or another atomic operation) at {}",
                          f.earlier_op->device == f.later_op->device ? "" : "_system", f.later_at);
     }},
};

}  // namespace

std::span<const ReportRule> rules_of_accesses() { return kRulesOfAccesses; }

}  // namespace fb::race
