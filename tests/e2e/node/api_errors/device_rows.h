// Devices, peers, attributes.
#pragma once
#include "row.h"

// Whether device 0 can access the memory of device 1.
inline bool peer_reachable() {
  int can = 0;
  if (device_count() > 1) cudaDeviceCanAccessPeer(&can, 0, 1);
  return can != 0;
}

inline Rows device_rows() {
  return {
      {"cudaSetDevice of a negative ordinal", []() -> Code { return cudaSetDevice(-1); }, 101},
      {"cudaSetDevice beyond the last device", []() -> Code { return cudaSetDevice(device_count()); }, 101},
      {"cudaGetDeviceProperties of no device",
       []() -> Code {
         cudaDeviceProp properties;
         return cudaGetDeviceProperties(&properties, 999);
       },
       101},
      {"cudaDeviceGetAttribute of no device",
       []() -> Code {
         int value = 0;
         return cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 999);
       },
       101},
      {"cudaDeviceGetAttribute of no attribute",
       []() -> Code {
         int value = 0;
         return cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(100000), 0);
       },
       1},
      {"cudaDeviceCanAccessPeer of no device",
       []() -> Code {
         int can = 0;
         return cudaDeviceCanAccessPeer(&can, 0, 999);
       },
       101},
      {"peer access to itself", []() -> Code { return cudaDeviceEnablePeerAccess(0, 0); }, 101},
      {"peer access to no device", []() -> Code { return cudaDeviceEnablePeerAccess(999, 0); }, 101},
      {"peer access enabled twice",
       []() -> Code {
         if (!peer_reachable()) return kNotApplicable;
         cudaDeviceEnablePeerAccess(1, 0);
         const cudaError_t error = cudaDeviceEnablePeerAccess(1, 0);
         cudaDeviceDisablePeerAccess(1);
         return error;
       },
       704},
      {"peer access with flags",
       []() -> Code { return peer_reachable() ? cudaDeviceEnablePeerAccess(1, 1) : kNotApplicable; }, 1},
      {"peer access disabled without having been enabled",
       []() -> Code { return device_count() > 1 ? cudaDeviceDisablePeerAccess(1) : kNotApplicable; }, 705},
      {"peer access where there is no way",
       []() -> Code {
         if (device_count() < 2 || peer_reachable()) return kNotApplicable;
         return cudaDeviceEnablePeerAccess(1, 0);
       },
       217},
  };
}
