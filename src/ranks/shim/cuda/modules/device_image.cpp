#include "ranks/shim/cuda/modules/device_image.h"

#include <cstring>

#include "ranks/fatbin/choose.h"
#include "ranks/fatbin/expand.h"
#include "ranks/shim/cuda/core/error_report.h"

namespace fb::shim {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kElfMagic = 0x464c457f;

// What __cudaRegisterFatBinary gets.
struct Wrapper {
  uint32_t magic, version;
  const void* data;
  const void* const* prelinked;  // version 2: the images that `data` was linked of, up to a null pointer
};
constexpr uint32_t kLinkedVersion = 2;

uint32_t first_word(const void* image) {
  uint32_t word = 0;
  std::memcpy(&word, image, sizeof word);
  return word;
}

Wrapper read_wrapper(const void* image) {
  Wrapper wrapper{};
  std::memcpy(&wrapper, image, sizeof wrapper);
  return wrapper;
}

Expected<Unit> unit_of_container(const void* image, uint32_t capability) {
  const uint64_t bytes = fatbin::container_bytes(image);
  const auto entries = fatbin::read_container({static_cast<const std::byte*>(image), bytes});
  if (!entries) return tell_module(in_one_line(entries.error()), cudaErrorInvalidKernelImage);
  const fatbin::Choice choice = fatbin::choose_text(*entries, capability);
  if (!choice.ptx) return tell_module(choice.problem, cudaErrorNoKernelImageForDevice);
  auto text = fatbin::expand_text(*choice.ptx);
  if (!text) return tell_module(in_one_line(text.error()), cudaErrorInvalidKernelImage);
  return Unit{std::string(choice.ptx->name), std::move(*text)};
}

// Anything but a list.
Expected<Unit> unit_of(const void* image, uint32_t capability) {
  if (first_word(image) == kWrapperMagic) image = read_wrapper(image).data;
  if (!image || first_word(image) == kElfMagic)
    return tell_module("the device code is machine code without PTX, and the node runs PTX",
                       cudaErrorNoKernelImageForDevice);
  if (first_word(image) == fatbin::kContainerMagic) return unit_of_container(image, capability);
  return Unit{"", static_cast<const char*>(image)};
}

// Those of a list, which the machine links, or the image itself.
std::vector<const void*> images_of(const void* image) {
  std::vector<const void*> images;
  if (first_word(image) == kWrapperMagic) {
    const Wrapper wrapper = read_wrapper(image);
    // What the linker has made of them is machine code.
    if (wrapper.version == kLinkedVersion && wrapper.prelinked) {
      for (const void* const* one = wrapper.prelinked; *one; ++one) images.push_back(*one);
    }
  }
  if (images.empty()) images.push_back(image);
  return images;
}

}  // namespace

Error check_image(const void* image) {
  if (!image) return cudaErrorInvalidValue;
  if (first_word(image) == kWrapperMagic) {
    const Wrapper wrapper = read_wrapper(image);
    if (wrapper.version == kLinkedVersion && wrapper.prelinked) return cudaSuccess;
    if (!wrapper.data) return cudaErrorInvalidKernelImage;
    image = wrapper.data;
  }
  if (first_word(image) == fatbin::kContainerMagic) return cudaSuccess;
  return first_word(image) == kElfMagic ? cudaErrorInvalidKernelImage : cudaSuccess;
}

std::vector<const char*> plain_texts(const void* image) {
  std::vector<const char*> texts;
  for (const void* one : images_of(image)) {
    if (first_word(one) == kWrapperMagic) one = read_wrapper(one).data;
    if (one && first_word(one) != fatbin::kContainerMagic && first_word(one) != kElfMagic)
      texts.push_back(static_cast<const char*>(one));
  }
  return texts;
}

Expected<std::vector<Unit>> units_of(const void* image, uint32_t capability) {
  std::vector<Unit> units;
  for (const void* one : images_of(image)) {
    auto unit = unit_of(one, capability);
    if (!unit) return failure(unit.error());
    units.push_back(std::move(*unit));
  }
  return units;
}

std::string joined(const std::vector<Unit>& units) {
  if (units.size() == 1) return units.front().text;
  std::string all;
  for (const Unit& unit : units) {
    all.append(unit.name).push_back('\0');
    all.append(unit.text).push_back('\0');
  }
  return all;
}

}  // namespace fb::shim
