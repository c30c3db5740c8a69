#include "ranks/shim/nccl/error.h"

#include <fmt/format.h>

#include <cstring>
#include <mutex>

#include "common/wire/library_link.h"
#include "common/wire/messages.h"
#include "ranks/shim/nccl/export.h"
#include "ranks/shim/nccl/not_modelled.h"

namespace fb::shim::nccl {
namespace {

std::mutex& mutex() {
  static auto* const made = new std::mutex;
  return *made;
}
std::string& last() {
  static auto* const text = new std::string;
  return *text;
}

}  // namespace

ncclResult_t fail(ncclResult_t result, std::string what) {
  const std::lock_guard lock(mutex());
  last() = std::move(what);
  return result;
}

void tell_failed(ncclResult_t result, const char* where) {
  std::string what;
  {
    const std::lock_guard lock(mutex());
    what = fmt::format("{} ({})", last(), ncclGetErrorString(result));
  }
  fabricbench_work_failed(what.c_str(), where);
}

ncclResult_t from_cuda(int error, const char* what) {
  switch (static_cast<wire::Status>(error)) {
    case wire::Status::ok:
      return ncclSuccess;
    case wire::Status::invalid_value:
    case wire::Status::invalid_handle:
    case wire::Status::invalid_device:
      return fail(ncclInvalidArgument, fmt::format("{}: invalid argument", what));
    case wire::Status::illegal_state:
    case wire::Status::not_permitted:
    case wire::Status::not_found:
      return fail(ncclInvalidUsage, fmt::format("{}: invalid usage", what));
    case wire::Status::out_of_memory:
    case wire::Status::unknown:
      return fail(ncclSystemError, fmt::format("{}: the machine has no memory left, or has ended", what));
    default:
      return fail(ncclUnhandledCudaError, fmt::format("{}: Cuda failure {}", what, error));
  }
}

int not_modelled(const char* function) {
  const wire::ReportUnsupported message;
  fabricbench_request(static_cast<uint16_t>(wire::Kind::report_unsupported), &message, sizeof message, nullptr, 0,
                      function, std::strlen(function));
  return fail(ncclInvalidUsage, fmt::format("{} is not modelled on the virtual node", function));
}

}  // namespace fb::shim::nccl

using namespace fb::shim::nccl;

FB_NCCL(ncclResult_t, ncclGetVersion, int* version) {
  if (!version) return fail(ncclInvalidArgument, "ncclGetVersion: version is NULL");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

FB_NCCL(const char*, ncclGetErrorString, ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclTimeout:
      return "NCCL operation timed out";
    default:
      return "unknown result code";
  }
}

FB_NCCL(const char*, ncclGetLastError, ncclComm_t) {
  const std::lock_guard lock(mutex());
  static thread_local std::string kept;
  kept = last();
  return kept.c_str();
}

FB_NCCL(void, ncclResetDebugInit, void) {}
