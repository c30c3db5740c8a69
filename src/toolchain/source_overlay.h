#pragma once

#include <string>
#include <vector>

namespace fb::toolchain {

// The user's files with asm escapes (asm_escapes.h). Changed files are written to `folder`, with a file for
// -ivfsoverlay that replaces the originals, so that messages and line tables name the originals. Reads the source and
// the files it includes from its own folder and from `include_dirs`. Returns the flags for clang; none if no file
// changes.
std::vector<std::string> write_overlay(const std::string& source, const std::vector<std::string>& include_dirs,
                                       const std::string& folder);

}  // namespace fb::toolchain
