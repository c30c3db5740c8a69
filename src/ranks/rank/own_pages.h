#pragma once

namespace fb::rank {

// Replaces every page of this process that comes from a file, of programs and of libraries, by a copy in private
// memory, at its place. Processes that are forked afterwards have no page of a file in common, as which one could wake
// what waits in another. The process must have one thread. Throws std::system_error, or std::runtime_error if a page is
// left.
void own_all_pages();

}  // namespace fb::rank
