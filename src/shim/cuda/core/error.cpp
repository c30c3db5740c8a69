#include "shim/cuda/core/error.h"

#include <cstdio>
#include <cstring>

#include "shim/cuda/core/session.h"

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

namespace {

// What programs ask for as a question, or handle as a matter of course, is no failure.
bool is_worth_telling(Error error) {
  return error != cudaSuccess && error != cudaErrorNotReady && error != cudaErrorPeerAccessAlreadyEnabled &&
         error != cudaErrorPeerAccessNotEnabled && error != cudaErrorHostMemoryAlreadyRegistered &&
         error != cudaErrorNotSupported && !is_sticky(error);
}

// False: it has been told before, or cannot be.
bool tell(const std::string& what, Error error) {
  Session& session = Session::get();
  if (thread().in_callback || session.connect() != cudaSuccess || !session.first_report_of(what.c_str())) return false;
  const char* const name = error_name(error);
  const std::string text = what + ": " + (name ? name : "an error") + " (" + error_text(error) + ")";
  thread().channel.call<wire::Kind::report_unsupported>({.failed = 1}, nullptr,
                                                        {reinterpret_cast<const std::byte*>(text.data()), text.size()});
  return true;
}

}  // namespace

Error record_launch(Error error, const std::string& launch) {
  if (is_worth_telling(error)) tell(launch, error);
  return record(error, nullptr);
}

std::unexpected<Error> tell_problem(const std::string& problem, Error error) {
  if (tell(problem, error)) std::fprintf(stderr, "fabricbench: %s\n", problem.c_str());
  return failure(error);
}

Error record(Error error, const char* function) {
  if (function != nullptr && is_worth_telling(error)) tell(function, error);
  ThreadState& mine = thread();
  // The runtime makes a context current by being used; the driver API wants it said.
  mine.has_context = true;
  if (error != cudaSuccess) mine.last_error = error;
  return error;
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
#include "shim/cuda/core/error_texts.def"
#undef TEXT
    default:
      return error_name(error);
  }
}

Error not_supported(const char* function) {
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return e;
  if (session.first_report_of(function)) {
    const std::span name(reinterpret_cast<const std::byte*>(function), std::strlen(function));
    thread().channel.call<wire::Kind::report_unsupported>({}, nullptr, name);
  }
  return cudaErrorNotSupported;
}

}  // namespace fb::shim
