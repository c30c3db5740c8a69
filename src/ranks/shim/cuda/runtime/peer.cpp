#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/memory.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t can_access(int* can, int device, int peer) {
  if (!can) return cudaErrorInvalidValue;
  for (const int each : {device, peer}) {
    if (const auto e = shim::check_device(each); e != cudaSuccess) return e;
  }
  *can = shim::can_access_peer(device, peer) ? 1 : 0;
  return cudaSuccess;
}

cudaError_t p2p_attribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  int can = 0;
  if (!value) return cudaErrorInvalidValue;
  if (const auto e = can_access(&can, from, to); e != cudaSuccess) return e;
  if (from == to) return cudaErrorInvalidDevice;
  const auto& atomics = shim::Session::get().device(from).peer_atomics;
  switch (attribute) {
    case cudaDevP2PAttrPerformanceRank:
      *value = 0;
      return cudaSuccess;
    case cudaDevP2PAttrAccessSupported:
      *value = can;
      return cudaSuccess;
    case cudaDevP2PAttrNativeAtomicSupported:
      *value = static_cast<int>((atomics[static_cast<size_t>(to) / 64] >> (to % 64)) & 1);
      return cudaSuccess;
    case cudaDevP2PAttrCudaArrayAccessSupported:
      *value = 0;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

FB_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return record(can_access(can, device, peer));
}
FB_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return record(shim::enable_peer(peer, flags));
}
FB_API cudaError_t cudaDeviceDisablePeerAccess(int peer) { return record(shim::disable_peer(peer)); }
FB_API cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  return record(p2p_attribute(value, attribute, from, to));
}
