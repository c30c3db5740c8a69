#pragma once

// CUDA arrays: texels in device memory, row after row, as common/abi/texture.h lays them out. The memory is an ordinary
// allocation, so that copies of arrays are ordinary copies of boxes.

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "common/abi/texture.h"
#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

// An array, or one level of a mipmapped array.
struct Array {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  // as the program gave it: 0 for dimensions that are not there
  unsigned int flags = 0;
  abi::Texture image;  // one level; format, size and place
  bool is_level = false;

  size_t row_bytes() const { return size_t{image.width} * image.texel_bytes(); }
};
using ArrayPtr = std::shared_ptr<Array>;

struct MipmappedArray {
  Array all;  // image has all levels
  std::vector<cudaArray_t> levels;
};
using MipmappedArrayPtr = std::shared_ptr<MipmappedArray>;

// The channels that a format describes; cudaErrorInvalidChannelDescriptor if textures can't have them.
struct Channels {
  uint8_t count = 1, bytes = 4;
  abi::ChannelKind kind = abi::ChannelKind::floating;
  bool normalized = false;  // read as floats, whatever the texture says
};
Expected<Channels> channels_of(const cudaChannelFormatDesc& format);
void set_channels(abi::Texture& image, const Channels& channels);

// On the current device.
Expected<cudaArray_t> make_array(const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned int flags);
Expected<cudaMipmappedArray_t> make_mipmapped_array(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                                                    unsigned int levels, unsigned int flags);
Error free_array(cudaArray_t array);
Error free_mipmapped_array(cudaMipmappedArray_t array);
// cudaErrorInvalidResourceHandle: there is none.
Expected<ArrayPtr> find_array(cudaArray_const_t array);
Expected<MipmappedArrayPtr> find_mipmapped_array(cudaMipmappedArray_const_t array);

// One end of a copy.
struct BoxEnd {
  std::byte* first = nullptr;
  size_t pitch = 0, plane = 0;
};
// The bytes of an array from x (in bytes), y and z on, if a box of this size fits there.
Expected<BoxEnd> box_in_array(const Array& array, size_t x, size_t y, size_t z, size_t width, size_t height,
                              size_t depth);

}  // namespace fb::shim
