#pragma once

// What a word that a network card has written releases: found by the write itself, in whatever message it came.

#include <cstdint>

#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/shadow/flag.h"
#include "virtual_node/race/shadow/shadow.h"

namespace fb::race {

// The release that a card's write carries to an agent that reads a word of it; false: it is no write of a card.
bool release_of_card(const Agents& agents, const ShadowCell& write, Release& release);

// What a reader of these bytes would acquire, by the last write of a thread or a card; null: nothing.
ReleasesRef releases_in(const Agents& agents, const Line& line, uint32_t begin, uint32_t end);

}  // namespace fb::race
