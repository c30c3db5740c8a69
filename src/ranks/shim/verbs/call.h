#pragma once

// Requests to the machine, by the calling thread's conversation (common/wire/library_link.h).

#include <cerrno>
#include <cstddef>
#include <span>
#include <vector>

#include "common/wire/library_link.h"
#include "common/wire/messages.h"

namespace fb::shim::verbs {

// False: there is no machine, or it has refused.
template <wire::Kind kKind>
bool ask(const typename wire::Message<kKind>::Request& request, typename wire::Message<kKind>::Reply& reply,
         std::span<const std::byte> blob = {}) {
  return fabricbench_request(static_cast<uint16_t>(kKind), &request, sizeof request, &reply, sizeof reply, blob.data(),
                             blob.size()) == 0;
}

// The same with a blob and a descriptor in the reply.
template <wire::Kind kKind>
bool exchange(const typename wire::Message<kKind>::Request& request, typename wire::Message<kKind>::Reply& reply,
              std::span<std::byte> reply_blob, int* descriptor = nullptr) {
  return fabricbench_ask(static_cast<uint16_t>(kKind), &request, sizeof request, &reply, sizeof reply, nullptr, 0,
                         reply_blob.data(), reply_blob.size(), descriptor) == 0;
}

// A number of errno; of a machine that has gone, EIO.
inline int end_object(wire::VerbsObject kind, uint64_t id) {
  wire::VerbsResult result;
  if (!ask<wire::Kind::verbs_end>({.kind = kind, .id = id}, result)) return EIO;
  return static_cast<int>(result.error);
}

inline int make_object(const wire::VerbsMake& request, wire::VerbsMade& made, int* descriptor = nullptr) {
  if (!exchange<wire::Kind::verbs_make>(request, made, {}, descriptor)) return EIO;
  return static_cast<int>(made.error);
}

// Null, with errno.
inline std::nullptr_t nothing(int error) {
  errno = error;
  return nullptr;
}

}  // namespace fb::shim::verbs

#define FB_VERBS extern "C" __attribute__((visibility("default")))
