#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

bool is_sticky(Error error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

const char* error_name(Error error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
#define FABRICBENCH_ERROR(name, number) \
  case cudaError##name:                 \
    return "cudaError" #name;
#include <fabricbench/runtime/errors.def>
  }
  return nullptr;
}

const char* error_text(Error error) {
  switch (static_cast<int>(error)) {
#define TEXT(number, text) \
  case number:             \
    return text;
#include "ranks/shim/cuda/core/error_texts.def"
#undef TEXT
    default:
      return error_name(error);
  }
}

}  // namespace fb::shim
