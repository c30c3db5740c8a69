// Start, errors, versions, and what holds for the whole node.

#include "ranks/shim/nvml/node.h"

#undef nvmlInit

using namespace fb::shim::nvml;

namespace {

// Of the driver that came with CUDA 13.0.
constexpr const char* kDriverVersion = "580.65.06";
constexpr const char* kLibraryVersion = "13.580.65.06";
constexpr int kCudaVersion = 13000;

struct Text {
  nvmlReturn_t result;
  const char* text;
};
constexpr Text kTexts[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {NVML_ERROR_ALREADY_INITIALIZED, "Already Initialized"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_TIMEOUT, "Timeout"},
    {NVML_ERROR_IRQ_ISSUE, "Interrupt Request Issue"},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {NVML_ERROR_CORRUPTED_INFOROM, "Corrupted infoROM"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_RESET_REQUIRED, "GPU requires restart"},
    {NVML_ERROR_OPERATING_SYSTEM, "The operating system has blocked the request."},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
    {NVML_ERROR_IN_USE, "In use by another client"},
    {NVML_ERROR_MEMORY, "Insufficient Memory"},
    {NVML_ERROR_NO_DATA, "No data"},
    {NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, "vGPU and ECC cannot be enabled together"},
    {NVML_ERROR_INSUFFICIENT_RESOURCES, "Insufficient Resources"},
    {NVML_ERROR_FREQ_NOT_SUPPORTED, "Frequency Not Supported"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
    {NVML_ERROR_DEPRECATED, "Deprecated"},
    {NVML_ERROR_NOT_READY, "Not Ready"},
    {NVML_ERROR_GPU_NOT_FOUND, "GPU not found"},
    {NVML_ERROR_INVALID_STATE, "Invalid State"},
};

}  // namespace

FB_API nvmlReturn_t nvmlInit() { return start(); }
FB_API nvmlReturn_t nvmlInit_v2() { return start(); }
FB_API nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
  const bool known = (flags & ~static_cast<unsigned int>(NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH)) == 0;
  return known ? start() : NVML_ERROR_INVALID_ARGUMENT;
}
FB_API nvmlReturn_t nvmlShutdown() { return stop(); }

FB_API const char* nvmlErrorString(nvmlReturn_t result) {
  for (const auto& [known, text] : kTexts) {
    if (known == result) return text;
  }
  return "Unknown Error";
}

// Versions are known without a start.
FB_API nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return devices() ? give_text(version, length, kDriverVersion) : NVML_ERROR_UNINITIALIZED;
}
FB_API nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return give_text(version, length, kLibraryVersion);
}
FB_API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  if (!version) return NVML_ERROR_INVALID_ARGUMENT;
  *version = kCudaVersion;
  return NVML_SUCCESS;
}
FB_API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) { return nvmlSystemGetCudaDriverVersion(version); }

FB_API nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t* off) {
  if (!devices()) return NVML_ERROR_UNINITIALIZED;
  if (!off) return NVML_ERROR_INVALID_ARGUMENT;
  *off = {NVML_CC_SYSTEM_ENVIRONMENT_UNAVAILABLE, NVML_CC_SYSTEM_FEATURE_DISABLED, NVML_CC_SYSTEM_DEVTOOLS_MODE_OFF};
  return NVML_SUCCESS;
}
FB_API nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t* off) {
  if (!devices()) return NVML_ERROR_UNINITIALIZED;
  if (!off) return NVML_ERROR_INVALID_ARGUMENT;
  if (off->version != nvmlSystemConfComputeSettings_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  *off = {off->version, NVML_CC_SYSTEM_ENVIRONMENT_UNAVAILABLE, NVML_CC_SYSTEM_FEATURE_DISABLED,
          NVML_CC_SYSTEM_DEVTOOLS_MODE_OFF, NVML_CC_SYSTEM_MULTIGPU_NONE};
  return NVML_SUCCESS;
}
