#pragma once

// What kernels call of CUDA's runtime: launches, streams, events and copies of their own, and values of conditional
// nodes. Numbers are CUDA's: errors (0: none) and handles of streams and events.

#include <cstdint>
#include <string_view>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/inst.h"

namespace fb::simt {

class Warp;

// The thread that calls.
struct DeviceCaller {
  Warp& warp;
  uint32_t lane = 0;
};

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  // False: there is no such handle.
  virtual bool set_conditional(uint64_t handle, uint32_t value) = 0;

  // Memory for the parameters of a launch; 0: it can't be launched, and last_error() says why.
  virtual mem::Address parameter_buffer(DeviceCaller caller, uint64_t function, Dim3 grid, Dim3 block,
                                        uint32_t shared_bytes) = 0;
  virtual uint32_t launch(DeviceCaller caller, mem::Address parameters, uint64_t stream) = 0;

  virtual uint32_t copy(DeviceCaller caller, mem::Address to, uint64_t to_pitch, mem::Address from, uint64_t from_pitch,
                        uint64_t width, uint64_t height, uint64_t stream) = 0;
  virtual uint32_t fill(DeviceCaller caller, mem::Address to, uint64_t pitch, uint32_t value, uint64_t width,
                        uint64_t height, uint64_t stream) = 0;

  virtual uint64_t create_stream(DeviceCaller caller) = 0;
  virtual uint32_t destroy_stream(DeviceCaller caller, uint64_t stream) = 0;
  virtual uint64_t create_event(DeviceCaller caller) = 0;
  virtual uint32_t destroy_event(DeviceCaller caller, uint64_t event) = 0;
  virtual uint32_t record_event(DeviceCaller caller, uint64_t event, uint64_t stream) = 0;
  virtual uint32_t wait_event(DeviceCaller caller, uint64_t stream, uint64_t event) = 0;

  // Of the calling thread; `take`: it is none from now on.
  virtual uint32_t last_error(DeviceCaller caller, bool take) = 0;
  virtual void set_last_error(DeviceCaller caller, uint32_t error) = 0;

  // The address of its name.
  virtual mem::Address error_text(uint32_t error) = 0;
  virtual uint32_t device() = 0;
  virtual uint32_t device_count() = 0;
  // -1: unknown.
  virtual int64_t device_attribute(uint32_t attribute) = 0;
};

}  // namespace fb::simt
