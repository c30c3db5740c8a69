#pragma once

// Object files (ELF, x86-64) and static libraries, as far as a device link must know them. Files are the user's: a
// damaged one is an error, never a fault.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::toolchain {

// With a module's id behind it: the function by which an object registers code that a device link puts together.
inline constexpr std::string_view kRegisterLinkedBinary = "__cudaRegisterLinkedBinary_";

struct ObjectFile {
  std::string name;                         // "b.o", or "libx.a(b.o)"
  std::vector<std::string> defines, needs;  // global symbols
  // The device code that it carries for a device link: PTX text; empty: none, or no text.
  std::string device_code;
  // What __fatbinwrap_ID and __cudaRegisterLinkedBinary_ID call it; empty: it has no code to be linked.
  std::string module_id;
};

// One for an object, one for each member of a library; none for a shared object or a linker script.
Result<std::vector<ObjectFile>> read_objects(const std::string& path);
// Likewise, of a file's content. The members of a thin library are files beside `path`.
Result<std::vector<ObjectFile>> objects_in(const std::string& path, std::string_view bytes);

}  // namespace fb::toolchain
