#pragma once

// What is true of each call of NCCL that moves data (collectives.def).

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/wire/messages.h"

namespace fb::wire {

enum class CollectiveFamily : uint8_t { all_ranks, message, one_sided };
enum class CollectivePeer : uint8_t { none, root, to, from };
// Elements of a buffer.
enum class CollectiveSpan : uint8_t { none, one, all, root_one, root_all };

struct CollectiveFacts {
  CollectiveKind kind;
  std::string_view function;  // "ncclAllReduce"
  CollectiveFamily family;
  CollectivePeer peer;
  bool reduces;
  CollectiveSpan send, receive;
};

// By kind.
inline constexpr auto kCollectives = std::to_array<CollectiveFacts>({
#define COLLECTIVE(name, function, family, peer, reduces, send, receive, model)                                      \
  {CollectiveKind::name,   #function, CollectiveFamily::family, CollectivePeer::peer, reduces, CollectiveSpan::send, \
   CollectiveSpan::receive},
#include "common/wire/collectives.def"
});

constexpr bool is_known(CollectiveKind kind) { return static_cast<size_t>(kind) < kCollectives.size(); }
constexpr const CollectiveFacts& facts_of(CollectiveKind kind) { return kCollectives[static_cast<size_t>(kind)]; }

constexpr bool has_peer(CollectiveKind kind) { return facts_of(kind).peer != CollectivePeer::none; }
constexpr bool has_root(CollectiveKind kind) { return facts_of(kind).peer == CollectivePeer::root; }
constexpr bool is_message(CollectiveKind kind) { return facts_of(kind).family == CollectiveFamily::message; }
// A put, a signal or a wait for signals: calls that no other rank has to match.
constexpr bool is_one_sided(CollectiveKind kind) { return facts_of(kind).family == CollectiveFamily::one_sided; }

}  // namespace fb::wire
