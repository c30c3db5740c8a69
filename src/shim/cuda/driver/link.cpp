// Linking of device code. One piece of text is a program already; putting several together is not supported.

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "shim/cuda/core/registry.h"
#include "shim/cuda/driver/driver.h"

using namespace fb::shim;

namespace {

struct Link {
  std::string text;
  bool has_text = false;
};

Registry<CUlinkState, Link>& links() {
  static auto* const all = new Registry<CUlinkState, Link>;
  return *all;
}

Error add_text(CUlinkState state, CUjitInputType type, std::string text) {
  const auto link = links().find(state);
  if (!link) return cudaErrorInvalidResourceHandle;
  // Machine code has no text, and libraries are made of it.
  if (type != CU_JIT_INPUT_PTX) return cudaErrorInvalidKernelImage;
  if (link->has_text) return cudaErrorNotSupported;
  link->text = std::move(text);
  link->has_text = true;
  return cudaSuccess;
}

}  // namespace

FB_API CUresult cuLinkCreate(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  return in_context([&] {
    if (!state || (count > 0 && (!options || !values))) return cudaErrorInvalidValue;
    *state = links().add(std::make_shared<Link>());
    return cudaSuccess;
  });
}

FB_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*,
                              unsigned int, CUjit_option*, void**) {
  return in_context([&] {
    if (!data || bytes == 0) return cudaErrorInvalidValue;
    const auto* text = static_cast<const char*>(data);
    return add_text(state, type, std::string(text, ::strnlen(text, bytes)));
  });
}

FB_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* name, unsigned int, CUjit_option*,
                              void**) {
  return in_context([&] {
    if (!name) return cudaErrorInvalidValue;
    std::ifstream file(name, std::ios::binary);
    if (!file) return cudaErrorFileNotFound;
    std::ostringstream text;
    text << file.rdbuf();
    return add_text(state, type, text.str());
  });
}

// The image belongs to the link and goes with it.
FB_API CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  return in_context([&] {
    const auto link = links().find(state);
    if (!link) return cudaErrorInvalidResourceHandle;
    if (!image || !link->has_text) return cudaErrorInvalidValue;
    *image = link->text.data();
    if (bytes) *bytes = link->text.size() + 1;
    return cudaSuccess;
  });
}

FB_API CUresult cuLinkDestroy(CUlinkState state) {
  return in_context([&] { return links().take(state) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}
