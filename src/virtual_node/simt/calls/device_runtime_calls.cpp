#include "virtual_node/simt/calls/device_runtime_calls.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "virtual_node/simt/calls/builtin_call.h"
#include "virtual_node/simt/calls/device_runtime.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/mask.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {
namespace {

// CUDA's numbers.
constexpr uint32_t kInvalidValue = 1, kOutOfMemory = 2;
constexpr uint32_t kVersion = 13000;
constexpr uint32_t kDimensions = 12;  // bytes of a dim3

DeviceRuntime& runtime_of(Warp& w, const Inst& i, std::string_view name) {
  DeviceRuntime* const runtime = w.environment().device_runtime();
  if (!runtime)
    w.trap(TrapKind::bad_call, i, first_of(w.exec),
           fmt::format("{}: kernels may not call the runtime here: launches from kernels, streams of kernels and "
                       "conditional nodes are not part of judged runs",
                       name));
  return *runtime;
}

// One call of each thread, in the order of lanes. `call` returns the result; a thread that fails remembers the error.
template <class Call>
void each_caller(Warp& w, const Inst& i, const CallSite& site, std::string_view name, std::span<const uint32_t> params,
                 Call call) {
  check_signature(w, i, site, name, params, 4);
  DeviceRuntime& runtime = runtime_of(w, i, name);
  w.note_effect();
  w.note_change();
  each_lane(w.exec, [&](uint32_t lane) {
    const DeviceCaller caller{w, lane};
    const uint32_t error = call(runtime, caller, lane);
    if (error != 0) runtime.set_last_error(caller, error);
    set_result(w, site, lane, error);
  });
}

// The same, with a value for the pointer that is the first parameter.
template <uint32_t bytes, class Call>
void each_caller_with_output(Warp& w, const Inst& i, const CallSite& site, std::string_view name,
                             std::span<const uint32_t> params, Call call) {
  uint64_t outputs[kLanes] = {};
  Mask stored = 0;
  each_caller(w, i, site, name, params, [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) -> uint32_t {
    if (argument(w, site, 0, lane) == 0) return kInvalidValue;
    const uint32_t error = call(runtime, caller, lane, outputs[lane]);
    if (error == 0) stored |= Mask{1} << lane;
    return error;
  });
  store_outputs(w, i, site, 0, bytes, outputs, stored);
}

// void cudaGraphSetConditional(handle, unsigned value)
void set_conditional(Warp& w, const Inst& i, const CallSite& site) {
  constexpr std::string_view kName = "cudaGraphSetConditional";
  check_signature(w, i, site, kName, std::array{8u, 4u}, 0);
  DeviceRuntime& runtime = runtime_of(w, i, kName);
  w.note_effect();
  w.note_change();
  each_lane(w.exec, [&](uint32_t lane) {
    const uint64_t handle = argument(w, site, 0, lane);
    if (!runtime.set_conditional(handle, argument<uint32_t>(w, site, 1, lane)))
      w.trap(TrapKind::invalid_operand, i, lane, fmt::format("{}: no graph has the handle {}", kName, handle));
  });
}

// void* GetParameterBufferV2(void* kernel, dim3 grid, dim3 block, unsigned shared)
void get_parameter_buffer(Warp& w, const Inst& i, const CallSite& site) {
  constexpr std::string_view kName = "cudaGetParameterBufferV2";
  check_signature(w, i, site, kName, std::array{8u, kDimensions, kDimensions, 4u}, 8);
  DeviceRuntime& runtime = runtime_of(w, i, kName);
  w.note_effect();
  w.note_change();
  each_lane(w.exec, [&](uint32_t lane) {
    set_result(w, site, lane,
               runtime.parameter_buffer({w, lane}, argument(w, site, 0, lane), argument<Dim3>(w, site, 1, lane),
                                        argument<Dim3>(w, site, 2, lane), argument<uint32_t>(w, site, 3, lane)));
  });
}

// cudaError_t LaunchDeviceV2(void* parameters, cudaStream_t)
void launch_device(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaLaunchDeviceV2", std::array{8u, 8u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                return runtime.launch(caller, argument(w, site, 0, lane), argument(w, site, 1, lane));
              });
}

// cudaError_t MemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t)
void copy(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaMemcpyAsync", std::array{8u, 8u, 8u, 4u, 8u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                const uint64_t bytes = argument(w, site, 2, lane);
                return runtime.copy(caller, argument(w, site, 0, lane), bytes, argument(w, site, 1, lane), bytes, bytes,
                                    1, argument(w, site, 4, lane));
              });
}

// cudaError_t Memcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream)
void copy_2d(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaMemcpy2DAsync", std::array{8u, 8u, 8u, 8u, 8u, 8u, 4u, 8u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                const auto at = [&](size_t k) { return argument(w, site, k, lane); };
                return runtime.copy(caller, at(0), at(1), at(2), at(3), at(4), at(5), at(7));
              });
}

// cudaError_t MemsetAsync(void* to, int value, size_t bytes, cudaStream_t)
void fill(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaMemsetAsync", std::array{8u, 4u, 8u, 8u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                const uint64_t bytes = argument(w, site, 2, lane);
                return runtime.fill(caller, argument(w, site, 0, lane), bytes, argument<uint32_t>(w, site, 1, lane),
                                    bytes, 1, argument(w, site, 3, lane));
              });
}

// cudaError_t Memset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t)
void fill_2d(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaMemset2DAsync", std::array{8u, 8u, 4u, 8u, 8u, 8u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                const auto at = [&](size_t k) { return argument(w, site, k, lane); };
                return runtime.fill(caller, at(0), at(1), static_cast<uint32_t>(at(2)), at(3), at(4), at(5));
              });
}

// cudaError_t StreamCreateWithFlags(cudaStream_t*, unsigned flags): only streams that do not wait for the default one.
void create_stream(Warp& w, const Inst& i, const CallSite& site) {
  constexpr uint32_t kNonBlocking = 1;
  each_caller_with_output<8>(
      w, i, site, "cudaStreamCreateWithFlags", std::array{8u, 4u},
      [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane, uint64_t& stream) -> uint32_t {
        if (argument<uint32_t>(w, site, 1, lane) != kNonBlocking) return kInvalidValue;
        stream = runtime.create_stream(caller);
        return stream != 0 ? 0 : kOutOfMemory;
      });
}

void destroy_stream(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaStreamDestroy", std::array{8u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                return runtime.destroy_stream(caller, argument(w, site, 0, lane));
              });
}

// cudaError_t EventCreateWithFlags(cudaEvent_t*, unsigned flags): only events without times.
void create_event(Warp& w, const Inst& i, const CallSite& site) {
  constexpr uint32_t kDisableTiming = 2;
  each_caller_with_output<8>(
      w, i, site, "cudaEventCreateWithFlags", std::array{8u, 4u},
      [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane, uint64_t& event) -> uint32_t {
        if (argument<uint32_t>(w, site, 1, lane) != kDisableTiming) return kInvalidValue;
        event = runtime.create_event(caller);
        return event != 0 ? 0 : kOutOfMemory;
      });
}

void destroy_event(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaEventDestroy", std::array{8u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                return runtime.destroy_event(caller, argument(w, site, 0, lane));
              });
}

// cudaError_t EventRecord(cudaEvent_t, cudaStream_t)
void record_event(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaEventRecord", std::array{8u, 8u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                return runtime.record_event(caller, argument(w, site, 0, lane), argument(w, site, 1, lane));
              });
}

// cudaError_t StreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags)
void wait_event(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaStreamWaitEvent", std::array{8u, 8u, 4u},
              [&](DeviceRuntime& runtime, DeviceCaller caller, uint32_t lane) {
                return runtime.wait_event(caller, argument(w, site, 0, lane), argument(w, site, 1, lane));
              });
}

// cudaError_t Malloc(void**, size_t) and Free(void*): the heap of malloc.
void allocate(Warp& w, const Inst& i, const CallSite& site) {
  each_caller_with_output<8>(w, i, site, "cudaMalloc", std::array{8u, 8u},
                             [&](DeviceRuntime&, DeviceCaller, uint32_t lane, uint64_t& address) -> uint32_t {
                               address = w.environment().heap_allocate(argument(w, site, 1, lane));
                               return address != 0 ? 0 : kOutOfMemory;
                             });
}

void release(Warp& w, const Inst& i, const CallSite& site) {
  each_caller(w, i, site, "cudaFree", std::array{8u}, [&](DeviceRuntime&, DeviceCaller, uint32_t lane) -> uint32_t {
    const mem::Address a = argument(w, site, 0, lane);
    return a == 0 || w.environment().heap_release(a) ? 0 : kInvalidValue;
  });
}

template <bool take>
void last_error(Warp& w, const Inst& i, const CallSite& site) {
  constexpr std::string_view kName = take ? "cudaGetLastError" : "cudaPeekAtLastError";
  check_signature(w, i, site, kName, {}, 4);
  DeviceRuntime& runtime = runtime_of(w, i, kName);
  each_lane(w.exec, [&](uint32_t lane) { set_result(w, site, lane, runtime.last_error({w, lane}, take)); });
}

void get_device(Warp& w, const Inst& i, const CallSite& site) {
  each_caller_with_output<4>(w, i, site, "cudaGetDevice", std::array{8u},
                             [](DeviceRuntime& runtime, DeviceCaller, uint32_t, uint64_t& device) -> uint32_t {
                               device = runtime.device();
                               return 0;
                             });
}

void get_device_count(Warp& w, const Inst& i, const CallSite& site) {
  each_caller_with_output<4>(w, i, site, "cudaGetDeviceCount", std::array{8u},
                             [](DeviceRuntime& runtime, DeviceCaller, uint32_t, uint64_t& count) -> uint32_t {
                               count = runtime.device_count();
                               return 0;
                             });
}

void get_version(Warp& w, const Inst& i, const CallSite& site) {
  each_caller_with_output<4>(w, i, site, "cudaRuntimeGetVersion", std::array{8u},
                             [](DeviceRuntime&, DeviceCaller, uint32_t, uint64_t& version) -> uint32_t {
                               version = kVersion;
                               return 0;
                             });
}

// cudaError_t DeviceGetAttribute(int*, cudaDeviceAttr, int device)
void get_attribute(Warp& w, const Inst& i, const CallSite& site) {
  each_caller_with_output<4>(w, i, site, "cudaDeviceGetAttribute", std::array{8u, 4u, 4u},
                             [&](DeviceRuntime& runtime, DeviceCaller, uint32_t lane, uint64_t& value) -> uint32_t {
                               const int64_t found = runtime.device_attribute(argument<uint32_t>(w, site, 1, lane));
                               value = static_cast<uint64_t>(found);
                               return found >= 0 ? 0 : kInvalidValue;
                             });
}

template <bool name>
void error_text(Warp& w, const Inst& i, const CallSite& site) {
  constexpr std::string_view kName = name ? "cudaGetErrorName" : "cudaGetErrorString";
  check_signature(w, i, site, kName, std::array{4u}, 8);
  DeviceRuntime& runtime = runtime_of(w, i, kName);
  each_lane(w.exec, [&](uint32_t lane) {
    set_result(w, site, lane, runtime.error_text(argument<uint32_t>(w, site, 0, lane)));
  });
}

struct NamedCall {
  std::string_view name;  // behind __cudaCDP2
  Builtin call;
};

constexpr NamedCall kCalls[] = {
    {"DeviceGetAttribute", get_attribute},
    {"EventCreateWithFlags", create_event},
    {"EventDestroy", destroy_event},
    {"EventRecord", record_event},
    {"Free", release},
    {"GetDevice", get_device},
    {"GetDeviceCount", get_device_count},
    {"GetErrorName", error_text<true>},
    {"GetErrorString", error_text<false>},
    {"GetLastError", last_error<true>},
    {"GetParameterBufferV2", get_parameter_buffer},
    {"LaunchDeviceV2", launch_device},
    {"Malloc", allocate},
    {"Memcpy2DAsync", copy_2d},
    {"MemcpyAsync", copy},
    {"Memset2DAsync", fill_2d},
    {"MemsetAsync", fill},
    {"PeekAtLastError", last_error<false>},
    {"RuntimeGetVersion", get_version},
    {"StreamCreateWithFlags", create_stream},
    {"StreamDestroy", destroy_stream},
    {"StreamWaitEvent", wait_event},
};

}  // namespace

// The default stream of a device is each block's own in any case: _ptsz changes nothing.
Builtin find_device_runtime_call(std::string_view name) {
  constexpr std::string_view kPrefix = "__cudaCDP2", kOwnStream = "_ptsz";
  if (name == "cudaGraphSetConditional") return set_conditional;
  if (!name.starts_with(kPrefix)) return nullptr;
  name.remove_prefix(kPrefix.size());
  if (name.ends_with(kOwnStream)) name.remove_suffix(kOwnStream.size());
  for (const NamedCall& row : kCalls) {
    if (row.name == name) return row.call;
  }
  return nullptr;
}

}  // namespace fb::simt
