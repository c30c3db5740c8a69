#pragma once

// The files of a rank: copies, of which no other rank has one. A file that two ranks can open is a channel between
// them, read-only or not: by locks, by waiting on its pages, by what is in the page cache.

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/sandbox.h"

namespace fb::judge {

struct RankFiles {
  std::vector<sandbox::Bind> binds = {};
  std::string library_path = {};  // for LD_LIBRARY_PATH, inside
};

// A file of ours, and its path inside.
struct PlacedFile {
  std::string from, to;
};

// Copies `program_files` and the system's libraries that programs are linked with into `folder`, which is made, and
// places them. Throws std::system_error.
RankFiles copy_rank_files(const std::string& folder, const std::vector<PlacedFile>& program_files);

}  // namespace fb::judge
