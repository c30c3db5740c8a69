#pragma once

#include <string>
#include <vector>

namespace fb::toolchain {

// The user's files as clang must see them (asm_escapes.h). Those that need a change are written to `folder`, with a
// file for -ivfsoverlay that puts them in the place of the originals, so that messages and line tables name the
// originals. Looks at the source and at what it includes from its own folder and from `include_dirs`. Returns the flags
// for clang: none where nothing needs a change.
std::vector<std::string> write_overlay(const std::string& source, const std::vector<std::string>& include_dirs,
                                       const std::string& folder);

}  // namespace fb::toolchain
