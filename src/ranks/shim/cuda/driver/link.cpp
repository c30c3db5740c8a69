// Linking of device code: pieces are collected here and linked by the machine.

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "ranks/shim/cuda/core/registry.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/modules/device_image.h"
#include "ranks/shim/cuda/modules/module.h"

using namespace fb::shim;

namespace {

// What a wrapper of several images looks like (core/device_image.h).
struct ListOfImages {
  uint32_t magic = 0x466243b1, version = 2;
  const void* data = nullptr;
  const void* const* images = nullptr;
};

struct Link {
  std::vector<std::string> pieces;
  // Of cuLinkComplete.
  std::vector<const void*> images;
  ListOfImages list;
};

Registry<CUlinkState, Link>& links() {
  static auto* const all = new Registry<CUlinkState, Link>;
  return *all;
}

Error add_piece(CUlinkState state, CUjitInputType type, std::string piece) {
  const auto link = links().find(state);
  if (!link) return cudaErrorInvalidResourceHandle;
  // Machine code has no text, and libraries are made of it.
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY) return cudaErrorInvalidKernelImage;
  if (const Error e = check_image(piece.c_str()); e != cudaSuccess) return e;
  link->pieces.push_back(std::move(piece));
  return cudaSuccess;
}

// Whether the machine can link it.
Error try_image(const void* image) {
  const auto module = Module::from_copy(image);
  if (!module) return module.error();
  const auto loaded = (*module)->load();
  return loaded ? (*module)->unload() : loaded.error();
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
    // Text may have a NUL behind it, a container has many inside.
    const size_t used = type == CU_JIT_INPUT_PTX ? ::strnlen(text, bytes) : bytes;
    return add_piece(state, type, std::string(text, used));
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
    return add_piece(state, type, text.str());
  });
}

// The image belongs to the link and goes with it.
FB_API CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  return in_context([&] {
    const auto link = links().find(state);
    if (!link) return cudaErrorInvalidResourceHandle;
    if (!image || link->pieces.empty()) return cudaErrorInvalidValue;
    if (link->pieces.size() == 1) {
      *image = link->pieces[0].data();
      if (bytes) *bytes = link->pieces[0].size() + 1;
      return cudaSuccess;
    }
    link->images.clear();
    for (const std::string& piece : link->pieces) link->images.push_back(piece.c_str());
    link->images.push_back(nullptr);
    link->list.images = link->images.data();
    *image = &link->list;
    if (bytes) *bytes = sizeof link->list;
    return try_image(&link->list);
  });
}

FB_API CUresult cuLinkDestroy(CUlinkState state) {
  return in_context([&] { return links().take(state) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}
