// Names of statuses, and the log that nothing is written to.

#include <cublasLt.h>

#include <atomic>

#include "ranks/shim/cublas/export.h"

namespace {

struct StatusText {
  cublasStatus_t status;
  const char* name;
  const char* text;
};
constexpr StatusText kTexts[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality requested is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the functionality requested requires some license"},
};

const StatusText* find(cublasStatus_t status) {
  for (const StatusText& t : kTexts) {
    if (t.status == status) return &t;
  }
  return nullptr;
}

const char* name_of(cublasStatus_t status) {
  const StatusText* t = find(status);
  return t ? t->name : "CUBLAS_STATUS_UNKNOWN";
}
const char* text_of(cublasStatus_t status) {
  const StatusText* t = find(status);
  return t ? t->text : "unknown status";
}

std::atomic<cublasLogCallback> log_callback = nullptr;

}  // namespace

FB_API const char* cublasGetStatusName(cublasStatus_t status) { return name_of(status); }
FB_API const char* cublasGetStatusString(cublasStatus_t status) { return text_of(status); }
FB_API const char* cublasLtGetStatusName(cublasStatus_t status) { return name_of(status); }
FB_API const char* cublasLtGetStatusString(cublasStatus_t status) { return text_of(status); }

FB_API cublasStatus_t cublasLoggerConfigure(int, int, int, const char*) { return CUBLAS_STATUS_SUCCESS; }
FB_API cublasStatus_t cublasSetLoggerCallback(cublasLogCallback callback) {
  log_callback = callback;
  return CUBLAS_STATUS_SUCCESS;
}
FB_API cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* callback) {
  if (!callback) return CUBLAS_STATUS_INVALID_VALUE;
  *callback = log_callback;
  return CUBLAS_STATUS_SUCCESS;
}
FB_API void cublasXerbla(const char*, int) {}

FB_API size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
FB_API size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }
FB_API cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  return cublasGetProperty(type, value);
}
FB_API cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) { return CUBLAS_STATUS_SUCCESS; }
FB_API cublasStatus_t cublasLtLoggerSetFile(FILE*) { return CUBLAS_STATUS_SUCCESS; }
FB_API cublasStatus_t cublasLtLoggerOpenFile(const char*) { return CUBLAS_STATUS_SUCCESS; }
FB_API cublasStatus_t cublasLtLoggerSetLevel(int) { return CUBLAS_STATUS_SUCCESS; }
FB_API cublasStatus_t cublasLtLoggerSetMask(int) { return CUBLAS_STATUS_SUCCESS; }
FB_API cublasStatus_t cublasLtLoggerForceDisable() { return CUBLAS_STATUS_SUCCESS; }
