#pragma once

// Files that other processes read while this one writes: they appear atomically.

#include <optional>
#include <string>
#include <string_view>

#include "common/base/unique_fd.h"

namespace fb::campaign {

enum class Durable : bool { no, yes };  // yes: synced to disk before return

// Writes the file under another name and renames it. Throws std::system_error with the path in the message.
void publish(const std::string& path, std::string_view content, Durable durable = Durable::no);

// An exclusive lock on a file, which is created if missing; nothing if another process (or another open file of this
// one) holds it. The lock ends with the last copy of the descriptor, which children may inherit.
std::optional<UniqueFd> try_lock(const std::string& path);
// Waits for it.
UniqueFd lock(const std::string& path);

}  // namespace fb::campaign
