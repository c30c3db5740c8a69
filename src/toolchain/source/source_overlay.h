#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fb::toolchain {

// A file that clang reads in place of another, under the other's name.
struct Replacement {
  std::string original, contents;
};
// The text of a file for -ivfsoverlay.
std::string overlay_text(const std::vector<Replacement>& replacements);

struct OverlayForms {
  bool declared_casts = false;                // without cast_alignment.h
  bool host_lambdas = false;                  // lambdas of the device are also those of the host (see DeviceCompile)
  bool device_launches = false;               // kernels may launch kernels
  std::set<std::string> refused_places = {};  // that clang has named: "file:line:column"
};
// The user's files in a form that clang accepts (asm_escapes.h, nvcc_forms.h), and means the same to it
// (cast_alignment.h). Changed files are written to `folder`, with a file for -ivfsoverlay that replaces the originals,
// so that messages and line tables name the originals. Reads the source and the files it includes from its own folder
// and from `include_dirs`. Returns the flags for clang; none if no file changes.
std::vector<std::string> write_overlay(const std::string& source, const std::vector<std::string>& include_dirs,
                                       const std::string& folder, const OverlayForms& forms = {});

// "[=] __device__" → "[=] __host__ __device__"; attributes, which end with "]]", stay.
std::string with_host_lambdas(std::string_view text);

}  // namespace fb::toolchain
