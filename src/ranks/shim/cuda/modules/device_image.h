#pragma once

// Device code as programs hand it over: PTX text, the container of NVIDIA's tools, a wrapper around one of them or
// around the list of what is to be linked.

#include <string>
#include <vector>

#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

// One text; several are linked by the machine.
struct Unit {
  std::string name;
  std::string text;
};

// cudaErrorInvalidKernelImage unless it is one of the above. Machine code that stands alone has no text.
Error check_image(const void* image);

// The texts of an image, as far as they are PTX that is not in a container.
std::vector<const char*> plain_texts(const void* image);

// The texts for a device of compute capability `capability` (90: 9.0). cudaErrorNoKernelImageForDevice: there is none;
// the run's record says what there is.
Expected<std::vector<Unit>> units_of(const void* image, uint32_t capability);

// As a module_load message carries it: one text as it is, several as name, NUL, text, NUL and so on.
std::string joined(const std::vector<Unit>& units);

}  // namespace fb::shim
