#pragma once

// The rules of causes.cpp, one function each. A rule returns its finding, or nothing if it does not apply.

#include <cstdint>
#include <optional>
#include <string>

#include "virtual_node/machine/deadlock/finding.h"
#include "virtual_node/machine/deadlock/wait_graph.h"

namespace fb::machine::rules {

using Found = std::optional<Finding>;

// What collective operations wait for (virtual_node/machine/libraries/collective, which knows).
Found collective(const WaitGraph& g);
// What network cards and their users wait for (virtual_node/machine/libraries/verbs).
Found cards(const WaitGraph& g);
// A word that a network card should write.
Found flag_of_card(const WaitGraph& g);

// Barriers, work that can't begin, and ranks that do not take part (rules_of_order.cpp).
Found counted_barrier(const WaitGraph& g);
Found barrier(const WaitGraph& g);
Found mbarrier(const WaitGraph& g);
Found surely_not_resident(const WaitGraph& g);
Found perhaps_not_resident(const WaitGraph& g);
Found stream_order(const WaitGraph& g);
Found host_and_device(const WaitGraph& g);
Found missing_rank(const WaitGraph& g);
Found different_collectives(const WaitGraph& g);

// Values that were written, seen and needed (rules_of_values.cpp).
Found overwritten(const WaitGraph& g);
Found taken_for_empty(const WaitGraph& g);
Found lost_count(const WaitGraph& g);
Found not_cleared(const WaitGraph& g);
Found epochs_differ(const WaitGraph& g);
Found elsewhere(const WaitGraph& g);
Found left_out(const WaitGraph& g);
Found waits_ahead(const WaitGraph& g);

// Cycles, agents that have ended, and the last resorts (rules_of_ends.cpp).
Found cycle(const WaitGraph& g);
Found early_exit_of_blocks(const WaitGraph& g);
Found self_cycle(const WaitGraph& g);
Found early_exit(const WaitGraph& g);
Found rank_has_left(const WaitGraph& g);
Found never_signalled(const WaitGraph& g);
Found endless_loop(const WaitGraph& g);
Found barriers_at_last(const WaitGraph& g);
Found hosts(const WaitGraph& g);

// Parts of sentences.
std::string kernel_of(const WaitGraph& g, const Wait& w);
std::string mangled_kernel_of(const WaitGraph& g, const Wait& w);
std::string at_location(const Wait& w);               // " at file:line"
std::string needs(const Wait& w);                     // "needs 1 and sees 0"
uint64_t part_of_word(const Wait& w, uint64_t word);  // the number that is compared
std::string written_by(const PastWrite& w);

}  // namespace fb::machine::rules
