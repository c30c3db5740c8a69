#pragma once

// Files that other processes read while this one writes: they appear whole or not at all.

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace fb::campaign {

enum class Durable : bool { no, yes };  // yes: it is on the disk when this returns, whatever happens to the machine

// Writes the file under another name and renames it. Throws std::system_error with the path in the message.
void publish(const std::string& path, std::string_view content, Durable durable = Durable::no);

// An exclusive lock on a file, made if it is missing; nothing where another process (or another open file of this one)
// has it. The lock ends with the last copy of the descriptor, which children may inherit.
std::optional<UniqueFd> try_lock(const std::string& path);
// Waits for it.
UniqueFd lock(const std::string& path);

}  // namespace fb::campaign
