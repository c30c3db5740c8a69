// cudaCreateChannelDesc<T>: the format of an element of an array.
#ifndef __CHANNEL_DESCRIPTOR_H__
#define __CHANNEL_DESCRIPTOR_H__
#pragma GCC system_header
#include "driver_types.h"

#if defined(__cplusplus)
template <class T>
inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc() {
  return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

// A vector of up to four elements of `bytes` each.
#define FABRICBENCH_CHANNELS(type, bytes, count, kind)                                                      \
  template <>                                                                                               \
  inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc<type>() {                                     \
    return cudaCreateChannelDesc(8 * (bytes), (count) > 1 ? 8 * (bytes) : 0, (count) > 2 ? 8 * (bytes) : 0, \
                                 (count) > 3 ? 8 * (bytes) : 0, cudaChannelFormatKind##kind);               \
  }
#define FABRICBENCH_CHANNEL_VECTORS(scalar, base, kind)  \
  FABRICBENCH_CHANNELS(scalar, sizeof(scalar), 1, kind)  \
  FABRICBENCH_CHANNELS(base##1, sizeof(scalar), 1, kind) \
  FABRICBENCH_CHANNELS(base##2, sizeof(scalar), 2, kind) \
  FABRICBENCH_CHANNELS(base##4, sizeof(scalar), 4, kind)
FABRICBENCH_CHANNEL_VECTORS(signed char, char, Signed)
FABRICBENCH_CHANNEL_VECTORS(unsigned char, uchar, Unsigned)
FABRICBENCH_CHANNEL_VECTORS(short, short, Signed)
FABRICBENCH_CHANNEL_VECTORS(unsigned short, ushort, Unsigned)
FABRICBENCH_CHANNEL_VECTORS(int, int, Signed)
FABRICBENCH_CHANNEL_VECTORS(unsigned int, uint, Unsigned)
FABRICBENCH_CHANNEL_VECTORS(float, float, Float)
FABRICBENCH_CHANNELS(char, sizeof(char), 1, Signed)
#undef FABRICBENCH_CHANNEL_VECTORS
#undef FABRICBENCH_CHANNELS

#define FABRICBENCH_HALF_CHANNELS(name, y, z, w)                           \
  inline __host__ cudaChannelFormatDesc name() {                           \
    return cudaCreateChannelDesc(16, y, z, w, cudaChannelFormatKindFloat); \
  }
FABRICBENCH_HALF_CHANNELS(cudaCreateChannelDescHalf, 0, 0, 0)
FABRICBENCH_HALF_CHANNELS(cudaCreateChannelDescHalf1, 0, 0, 0)
FABRICBENCH_HALF_CHANNELS(cudaCreateChannelDescHalf2, 16, 0, 0)
FABRICBENCH_HALF_CHANNELS(cudaCreateChannelDescHalf4, 16, 16, 16)
#undef FABRICBENCH_HALF_CHANNELS
#endif
#endif
