// Races between threads that have not synchronised at all.

#include <fmt/format.h>

#include "virtual_node/race/report/report_rules.h"

namespace fb::race {
namespace {

// The write is the later access where both write.
const OperationInfo& writer(const RaceFacts& f) { return f.later.writes() ? *f.later_op : *f.earlier_op; }
const OperationInfo& reader(const RaceFacts& f) { return f.later.writes() ? *f.earlier_op : *f.later_op; }

std::string no_sync(const RaceFacts&) { return "no synchronisation between the two threads was seen"; }

constexpr ReportRule kRulesOfOrder[] = {
    {"threads of one block", [](const RaceFacts& f) { return same_block(f.earlier.block, f.later.block); },
     std::nullopt, [](const RaceFacts&) -> std::string { return "no __syncthreads() since"; },
     [](const RaceFacts& f) { return fmt::format("put __syncthreads() between {} and {}", f.earlier_at, f.later_at); }},
    {"operations of streams",
     [](const RaceFacts& f) {
       return (!f.earlier_op->kernel || !f.later_op->kernel) && !f.earlier_op->of_judge && !f.later_op->of_judge &&
              f.earlier_op->host == f.later_op->host;
     },
     std::nullopt,
     [](const RaceFacts&) -> std::string { return "no event and no wait of the host orders the two operations"; },
     [](const RaceFacts& f) {
       return fmt::format(
           "put both on one stream, or record an event behind {} and let the stream of {} wait for it "
           "(cudaStreamWaitEvent)",
           f.earlier_at, f.later_at);
     }},
    {"flag with a weak access",
     [](const RaceFacts& f) {
       return f.earlier.strong != f.later.strong && f.earlier_op->kernel && f.later_op->kernel &&
              f.earlier.element == f.later.element;
     },
     std::nullopt,
     [](const RaceFacts& f) {
       return fmt::format("the access at {} is strong, that at {} is weak: together they are no flag",
                          f.earlier.strong ? f.earlier_at : f.later_at, f.earlier.strong ? f.later_at : f.earlier_at);
     },
     [](const RaceFacts& f) {
       const ShadowCell& weak = f.earlier.strong ? f.later : f.earlier;
       return fmt::format("make the access at {} strong as well ({}.relaxed.{}, or {}.{}.{} where it publishes data)",
                          f.earlier.strong ? f.later_at : f.earlier_at, weak.writes() ? "st" : "ld",
                          suffix_of(f.needed), weak.writes() ? "st" : "ld", weak.writes() ? "release" : "acquire",
                          suffix_of(f.needed));
     }},
    {"buffer of the call before",
     [](const RaceFacts& f) {
       // A word that is accessed strongly is a flag, no buffer.
       if ((f.earlier.strong || f.later.strong) && !f.earlier_op->of_judge && !f.later_op->of_judge) return false;
       const bool has_read = !f.later.writes() || !f.earlier.writes();
       // What is read in the call that writes it is read too early.
       if (f.is_of_one_call()) return false;
       return has_read && &writer(f) != &reader(f) && writer(f).number > reader(f).number;
     },
     RaceClass::reused_early, no_sync,
     [](const RaceFacts& f) {
       return fmt::format(
           "synchronise all ranks at the end of the work (an exit barrier) before {} is written again, or use another "
           "buffer in every other call",
           writer(f).of_judge ? "the buffer"
           : f.later.writes() ? f.later_at
                              : f.earlier_at);
     }},
    {"flag that is not read", [](const RaceFacts& f) { return f.unread != nullptr; }, std::nullopt,
     [](const RaceFacts& f) {
       return fmt::format(
           "{} sets a flag at {} behind the first access, and others read it, but not the thread of the second",
           f.flag.writer, f.flag.write_at);
     },
     [](const RaceFacts& f) {
       return fmt::format("wait before {} for the flag that is set at {} (acquire, {} scope)", f.later_at,
                          f.flag.write_at, name_of(f.needed));
     }},
    {"before the call has begun",
     [](const RaceFacts& f) { return f.earlier_op->of_judge && f.earlier_op->host != f.later_op->host; }, std::nullopt,
     no_sync,
     [](const RaceFacts& f) {
       return fmt::format(
           "let rank {} say by a flag that it has begun its call (release, {} scope), and acquire it before {}",
           f.earlier_op->rank, name_of(f.needed), f.later_at);
     }},
    {"read too early",
     [](const RaceFacts& f) {
       return f.is_of_one_call() && f.later.writes() && !f.earlier.writes() && f.earlier_op != f.later_op &&
              !f.earlier_op->of_judge && !f.later_op->of_judge;
     },
     std::nullopt,
     [](const RaceFacts&) -> std::string {
       return "no synchronisation between the two threads was seen, and both are of one call";
     },
     [](const RaceFacts& f) {
       return fmt::format(
           "if {} is to read what {} writes, the read is too early: wait before it for a flag that is set behind the "
           "write; if it is to read what was there before, publish its end with a flag: release ({} scope) after it, "
           "acquire before {}",
           f.earlier_at, f.later_at, name_of(f.needed), f.later_at);
     }},
    {"no synchronisation", [](const RaceFacts&) { return true; }, std::nullopt, no_sync,
     [](const RaceFacts& f) {
       return fmt::format("publish {} with a flag: release ({} scope) after {}, acquire before {}",
                          f.later.writes() ? "the end of the access" : "the data", name_of(f.needed), f.earlier_at,
                          f.later_at);
     }},
};

}  // namespace

std::span<const ReportRule> rules_of_order() { return kRulesOfOrder; }

}  // namespace fb::race
