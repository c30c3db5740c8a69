// Races with network cards: what queue pairs, completions and flags promise, and what they do not.

#include <fmt/format.h>

#include "virtual_node/race/report/report_rules.h"

namespace fb::race {
namespace {

CardRole earlier(const RaceFacts& f) { return f.earlier_op->card.role; }
CardRole later(const RaceFacts& f) { return f.later_op->card.role; }
bool is_of_one_pair(const RaceFacts& f) {
  return f.earlier_op->of_card() && f.later_op->of_card() && f.earlier_op->card.pair == f.later_op->card.pair;
}
// A read or an atomic whose result has not arrived, and a request of the same queue pair that was posted behind it.
bool overtakes(const RaceFacts& f) {
  const auto is_fetching = [](CardRole role) {
    return role == CardRole::fetch || role == CardRole::update || role == CardRole::scatter;
  };
  if (!is_of_one_pair(f) || f.earlier_op->card.request == f.later_op->card.request) return false;
  const bool later_first = f.later_op->card.request < f.earlier_op->card.request;
  return is_fetching(later_first ? later(f) : earlier(f));
}
const std::string& posted_first(const RaceFacts& f) {
  return f.later_op->card.request < f.earlier_op->card.request ? f.later_at : f.earlier_at;
}
const std::string& posted_second(const RaceFacts& f) {
  return f.later_op->card.request < f.earlier_op->card.request ? f.earlier_at : f.later_at;
}
// The later thread has read a flag, and was ordered behind its writer.
bool has_acquired_flag(const RaceFacts& f) {
  return f.edge && f.edge->missed == MissedSync::none && f.flag_op && f.flag_op->of_card();
}
// A flag between the two, or a word that both sides take for one, explains more.
bool is_about_flags(const RaceFacts& f) {
  return (f.edge && !f.on_the_way && (f.edge->missed != MissedSync::none || f.released_to_reader)) ||
         (f.earlier.strong && f.later.strong);
}
std::string no_completion(const RaceFacts&) { return "no completion and no flag behind the request has told of it"; }

constexpr ReportRule kRulesOfCards[] = {
    {"word that a card updates",
     [](const RaceFacts& f) {
       return (earlier(f) == CardRole::update || later(f) == CardRole::update) && f.earlier.writes() &&
              f.later.writes() && !overtakes(f);
     },
     RaceClass::not_atomic,
     [](const RaceFacts&) -> std::string {
       return "atomic operations of a card are atomic among those of the same card only (IBV_ATOMIC_HCA)";
     },
     [](const RaceFacts& f) {
       return fmt::format(
           "let all that write the word go through one card (of its own host, too: a queue pair to itself), or order "
           "{} and {}",
           f.earlier_at, f.later_at);
     }},
    {"request that overtakes a read", overtakes, std::nullopt,
     [](const RaceFacts& f) {
       return fmt::format(
           "both are of one queue pair, but what comes behind a read or an atomic (posted at {}) does not wait for its "
           "result",
           posted_first(f));
     },
     [](const RaceFacts& f) {
       return fmt::format("set IBV_SEND_FENCE for the request at {}, or post it behind the completion of that at {}",
                          posted_second(f), posted_first(f));
     }},
    {"flag in the message itself",
     [](const RaceFacts& f) {
       return earlier(f) == CardRole::land && has_acquired_flag(f) && f.edge->write.block == f.earlier.block;
     },
     RaceClass::in_band_flag,
     [](const RaceFacts& f) {
       return fmt::format("{} read a word of the same message at {}: its bytes land in any order", f.flag.reader,
                          f.flag.read_at);
     },
     [](const RaceFacts& f) {
       return fmt::format(
           "write the flag by a request of its own, behind the one at {} in the same queue pair, or wait for a "
           "completion",
           f.earlier_at);
     }},
    {"flag over memory with relaxed ordering",
     [](const RaceFacts& f) {
       return earlier(f) == CardRole::land && has_acquired_flag(f) && f.flag_op->card.pair == f.earlier_op->card.pair &&
              (f.earlier_op->card.relaxed || f.flag_op->card.relaxed);
     },
     std::nullopt,
     [](const RaceFacts& f) {
       return fmt::format(
           "{} read a flag at {} that was posted behind it at {}, but the memory is registered with "
           "IBV_ACCESS_RELAXED_ORDERING: only completions order what lands there",
           f.flag.reader, f.flag.read_at, f.flag.write_at);
     },
     [](const RaceFacts& f) {
       return fmt::format(
           "register the memory without IBV_ACCESS_RELAXED_ORDERING, or wait for a completion before {} (a write with "
           "immediate instead of the flag)",
           f.later_at);
     }},
    {"flag of another queue pair",
     [](const RaceFacts& f) {
       return earlier(f) == CardRole::land && has_acquired_flag(f) && f.flag_op->card.pair != f.earlier_op->card.pair;
     },
     std::nullopt,
     [](const RaceFacts& f) {
       return fmt::format(
           "{} read a flag at {}, but another queue pair has written it (posted at {}): queue pairs are not ordered "
           "with each other",
           f.flag.reader, f.flag.read_at, f.flag.write_at);
     },
     [](const RaceFacts& f) {
       return fmt::format("post the flag at {} on the queue pair of {}, or behind the completion of {}",
                          f.flag.write_at, f.earlier_at, f.earlier_at);
     }},
    {"result of a read that has not completed",
     [](const RaceFacts& f) { return earlier(f) == CardRole::scatter || later(f) == CardRole::scatter; }, std::nullopt,
     no_completion,
     [](const RaceFacts& f) {
       const bool first = earlier(f) == CardRole::scatter;
       return fmt::format("wait for the completion of the request at {} before {}, or let it wait for that",
                          first ? f.earlier_at : f.later_at, first ? f.later_at : f.earlier_at);
     }},
    {"source that is sent", [](const RaceFacts& f) { return earlier(f) == CardRole::gather; }, RaceClass::reused_early,
     no_completion,
     [](const RaceFacts& f) {
       return fmt::format(
           "wait before {} for the completion of the request at {}, or of a later one of the same queue pair",
           f.later_at, f.earlier_at);
     }},
    {"source that its host changes",
     [](const RaceFacts& f) { return later(f) == CardRole::gather && f.earlier_op->of_host; }, RaceClass::reused_early,
     no_completion,
     [](const RaceFacts& f) {
       return fmt::format(
           "wait before {} for the completion of the request at {}, or of a later one of the same queue pair",
           f.earlier_at, f.later_at);
     }},
    {"source that is not ready",
     [](const RaceFacts& f) { return later(f) == CardRole::gather && !f.earlier_op->of_card(); }, std::nullopt,
     [](const RaceFacts&) -> std::string {
       return "the request was posted before its host knew of the end of the write";
     },
     [](const RaceFacts& f) {
       return fmt::format("let the host wait for the write at {} (cudaStreamSynchronize, an event) before it posts {}",
                          f.earlier_at, f.later_at);
     }},
    {"memory that a peer reads",
     [](const RaceFacts& f) { return earlier(f) == CardRole::fetch || later(f) == CardRole::fetch; }, std::nullopt,
     [](const RaceFacts&) -> std::string {
       return "a peer reads the memory, and no message between the two tells of it";
     },
     [](const RaceFacts& f) {
       return later(f) == CardRole::fetch
                  ? fmt::format("tell the peer behind {} (by a message or a flag), and let it post {} then",
                                f.earlier_at, f.later_at)
                  : fmt::format("let the peer tell of the completion of {} (by a message), and wait for that before {}",
                                f.earlier_at, f.later_at);
     }},
    {"message that lands",
     [](const RaceFacts& f) { return earlier(f) == CardRole::land && !f.later_op->of_card() && !is_about_flags(f); },
     std::nullopt, no_completion,
     [](const RaceFacts& f) {
       return fmt::format(
           "wait before {} for what {} completes at the receiver: a receive (send, write with immediate), or a flag "
           "that "
           "is written behind it by the same queue pair and acquired at system scope",
           f.later_at, f.earlier_at);
     }},
    {"memory into which a message lands",
     [](const RaceFacts& f) { return later(f) == CardRole::land && !f.earlier_op->of_card() && !is_about_flags(f); },
     std::nullopt, [](const RaceFacts&) -> std::string { return "the sender was not told that the memory is free"; },
     [](const RaceFacts& f) {
       return fmt::format(
           "if {} is to use what {} brings, wait for its completion or flag first; else tell the sender behind {} that "
           "the memory is free, and let it post then",
           f.earlier_at, f.later_at, f.earlier_at);
     }},
    {"access of host code",
     [](const RaceFacts& f) { return f.earlier_op->of_host != f.later_op->of_host && !is_about_flags(f); },
     std::nullopt, [](const RaceFacts&) -> std::string { return "no wait of the host and no flag orders the two"; },
     [](const RaceFacts& f) {
       return f.later_op->of_host
                  ? fmt::format("let the host wait for {} before {} (cudaStreamSynchronize, or a flag at system scope)",
                                f.earlier_at, f.later_at)
                  : fmt::format(
                        "let the host access the memory before it starts {}, or say by a flag (release, system "
                        "scope) that {} is over",
                        f.later_at, f.earlier_at);
     }},
    {"messages into the same memory",
     [](const RaceFacts& f) { return f.earlier_op->of_card() && f.later_op->of_card(); }, std::nullopt,
     [](const RaceFacts&) -> std::string { return "the requests are of different queue pairs, which are not ordered"; },
     [](const RaceFacts& f) {
       return fmt::format("post {} behind the completion of {}, on the same queue pair, or to other memory", f.later_at,
                          f.earlier_at);
     }},
};

}  // namespace

std::span<const ReportRule> rules_of_cards() { return kRulesOfCards; }

}  // namespace fb::race
