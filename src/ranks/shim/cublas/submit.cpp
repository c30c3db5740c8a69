#include "ranks/shim/cublas/submit.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "common/wire/library_link.h"
#include "ranks/shim/cublas/not_modelled.h"
#include "ranks/shim/where/where.h"

namespace fb::shim::cublas {
namespace {

size_t bytes_of(wire::ElementType type) {
  switch (type) {
    case wire::ElementType::f64:
      return 8;
    case wire::ElementType::f16:
    case wire::ElementType::bf16:
      return 2;
    default:
      return 4;
  }
}

}  // namespace

cublasStatus_t status_of(int cuda_error) {
  switch (static_cast<wire::Status>(cuda_error)) {
    case wire::Status::ok:
      return CUBLAS_STATUS_SUCCESS;
    case wire::Status::invalid_value:
    case wire::Status::invalid_handle:
    case wire::Status::invalid_device:
      return CUBLAS_STATUS_INVALID_VALUE;
    case wire::Status::out_of_memory:
      return CUBLAS_STATUS_ALLOC_FAILED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

wire::BlasScalar scalar_at(const void* pointer, wire::ElementType type, bool on_device) {
  wire::BlasScalar s;
  s.type = type;
  s.from = on_device ? wire::ScalarFrom::device : wire::ScalarFrom::request;
  if (on_device) {
    s.value = address_of(pointer);
  } else {
    std::memcpy(&s.value, pointer, bytes_of(type));
  }
  return s;
}

namespace {

cublasStatus_t put_on_stream(wire::Blas& request, cudaStream_t stream) {
  int captures = 0;
  if (const int e = fabricbench_stream(stream, &request.stream.stream, &request.stream.device, &captures); e != 0)
    return status_of(e);
  if (captures == 2) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (captures == 1) return status_of(fabricbench_capture_blas(stream, &request));
  wire::Empty reply;
  return status_of(fabricbench_request(static_cast<uint16_t>(wire::Kind::blas), &request, sizeof request, &reply,
                                       sizeof reply, nullptr, 0));
}

}  // namespace

cublasStatus_t submit(wire::Blas& request, cudaStream_t stream, const Caller& caller) {
  request.stream = {};
  std::snprintf(request.name, sizeof request.name, "%s", caller.name);
  line_of(caller.address, request.where);
  const cublasStatus_t status = put_on_stream(request, stream);
  if (status != CUBLAS_STATUS_SUCCESS) {
    const std::string what = std::string(caller.name) + ": " + cublasGetStatusName(status);
    fabricbench_work_failed(what.c_str(), request.where);
  }
  return status;
}

int not_modelled(const char* function) {
  const wire::ReportUnsupported message;
  fabricbench_request(static_cast<uint16_t>(wire::Kind::report_unsupported), &message, sizeof message, nullptr, 0,
                      function, std::strlen(function));
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace fb::shim::cublas
