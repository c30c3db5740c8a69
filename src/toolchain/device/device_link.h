#pragma once

// nvcc -dlink: links the device code of objects and libraries, and makes the object that registers it.

#include <chrono>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace fb::toolchain {

struct DeviceLink {
  std::vector<std::string> files = {};  // objects, static libraries; others are passed over
  // Where -lNAME is looked for, and NAMEs; what is found as libNAME.a counts as a file.
  std::vector<std::string> library_dirs = {};
  std::vector<std::string> libraries = {};
  std::string compiler = {};  // clang++
  std::chrono::seconds time_limit{120};
};

// Writes the object to `output`. Members of libraries take part as a linker takes them: if something that takes part
// needs a symbol of them, on the host or on the device. False: no file has device code to be linked (or it has been
// linked already), and nothing was written. Errors: duplicate and missing symbols of the device, with their objects.
Result<bool> link_device_code(const DeviceLink& request, const std::string& output);

}  // namespace fb::toolchain
