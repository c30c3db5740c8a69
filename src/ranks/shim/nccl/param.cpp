// Parameters: what the environment says now, or their defaults.

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/shim/nccl/error.h"
#include "ranks/shim/nccl/export.h"

// What ncclParamHandle_t points to; programs see its name alone.
struct ncclParamHandle {
  const char* key = "";
  std::optional<int64_t> number;  // the default; none: a text
  bool published = true;
};

using namespace fb::shim::nccl;

namespace {

constexpr std::array kParameters = {
#define NUMBER(key, value) ncclParamHandle{#key, value, true},
#define TEXT(key) ncclParamHandle{#key, std::nullopt, true},
#define PRIVATE_NUMBER(key, value) ncclParamHandle{#key, value, false},
#include "common/api/nccl_params.def"
#undef NUMBER
#undef TEXT
#undef PRIVATE_NUMBER
};

const ncclParamHandle* find(const char* key) {
  for (const ncclParamHandle& p : kParameters) {
    if (std::strcmp(p.key, key) == 0) return &p;
  }
  return nullptr;
}

bool is_handle(const ncclParamHandle* h) {
  return h >= kParameters.data() && h < kParameters.data() + kParameters.size();
}

// The environment's value, where it is a number; the default otherwise.
int64_t number_of(const ncclParamHandle& p) {
  const char* text = std::getenv(p.key);
  if (!text) return *p.number;
  const std::string_view all = text;
  if (all == "true" || all == "TRUE" || all == "T") return 1;
  if (all == "false" || all == "FALSE" || all == "F") return 0;
  int64_t value = 0;
  const auto end = std::from_chars(all.data(), all.data() + all.size(), value);
  return end.ec == std::errc() && end.ptr == all.data() + all.size() ? value : *p.number;
}

std::string text_of(const ncclParamHandle& p) {
  if (p.number) return std::to_string(number_of(p));
  const char* text = std::getenv(p.key);
  return text ? text : "";
}

template <std::integral T>
ncclResult_t get(const ncclParamHandle* h, T* out, const char* function) {
  if (!is_handle(h) || !out)
    return fail(ncclInvalidArgument, fmt::format("{}: no parameter, or out is NULL", function));
  if (!h->number) return fail(ncclInvalidArgument, fmt::format("{}: {} is a text", function, h->key));
  const int64_t value = number_of(*h);
  if (!std::in_range<T>(value)) return fail(ncclInvalidArgument, fmt::format("{}: {} is {}", function, h->key, value));
  *out = static_cast<T>(value);
  return ncclSuccess;
}

bool all_are_asked_for() { return number_of(*find("NCCL_PARAM_DUMP_ALL")) != 0; }

}  // namespace

FB_NCCL(ncclResult_t, ncclParamBind, ncclParamHandle_t* out, const char* key) {
  if (!out || !key) return fail(ncclInvalidArgument, "ncclParamBind: out or key is NULL");
  const ncclParamHandle* found = find(key);
  if (!found) return fail(ncclInvalidArgument, fmt::format("ncclParamBind: no parameter {}", key));
  *out = const_cast<ncclParamHandle_t>(found);  // opaque to programs, and read only
  return ncclSuccess;
}

#define FB_NCCL_GET(suffix, type)                                               \
  FB_NCCL(ncclResult_t, ncclParamGet##suffix, ncclParamHandle_t h, type* out) { \
    return get(h, out, "ncclParamGet" #suffix);                                 \
  }
FB_NCCL_GET(I8, int8_t)
FB_NCCL_GET(I16, int16_t)
FB_NCCL_GET(I32, int32_t)
FB_NCCL_GET(I64, int64_t)
FB_NCCL_GET(U8, uint8_t)
FB_NCCL_GET(U16, uint16_t)
FB_NCCL_GET(U32, uint32_t)
FB_NCCL_GET(U64, uint64_t)

FB_NCCL(ncclResult_t, ncclParamGetStr, ncclParamHandle_t h, const char** out) {
  if (!is_handle(h) || !out) return fail(ncclInvalidArgument, "ncclParamGetStr: no parameter, or out is NULL");
  static thread_local std::string kept;
  kept = text_of(*h);
  *out = kept.c_str();
  return ncclSuccess;
}

// Numbers as int64_t, texts with their end.
FB_NCCL(ncclResult_t, ncclParamGet, ncclParamHandle_t h, void* out, int most, int* length) {
  if (!is_handle(h) || !out || !length)
    return fail(ncclInvalidArgument, "ncclParamGet: no parameter, or out or len is NULL");
  const std::string text = text_of(*h);
  const int64_t number = h->number ? number_of(*h) : 0;
  const void* from = h->number ? static_cast<const void*>(&number) : text.c_str();
  const size_t bytes = h->number ? sizeof number : text.size() + 1;
  *length = static_cast<int>(bytes);
  if (most < 0 || static_cast<size_t>(most) < bytes)
    return fail(ncclInvalidArgument, fmt::format("ncclParamGet: {} takes {} bytes", h->key, bytes));
  std::memcpy(out, from, bytes);
  return ncclSuccess;
}

FB_NCCL(ncclResult_t, ncclParamGetParameter, const char* key, const char** value, int* length) {
  if (!key || !value || !length) return fail(ncclInvalidArgument, "ncclParamGetParameter: a pointer is NULL");
  const ncclParamHandle* found = find(key);
  if (!found) return fail(ncclInvalidArgument, fmt::format("ncclParamGetParameter: no parameter {}", key));
  static thread_local std::string kept;
  kept = text_of(*found);
  *value = kept.c_str();
  *length = static_cast<int>(kept.size());
  return ncclSuccess;
}

FB_NCCL(ncclResult_t, ncclParamGetAllParameterKeys, const char*** table, int* length) {
  if (!table || !length) return fail(ncclInvalidArgument, "ncclParamGetAllParameterKeys: a pointer is NULL");
  static thread_local std::vector<const char*> kept;
  kept.clear();
  for (const ncclParamHandle& p : kParameters) {
    if (p.published || all_are_asked_for()) kept.push_back(p.key);
  }
  *table = kept.data();
  *length = static_cast<int>(kept.size());
  return ncclSuccess;
}

FB_NCCL(void, ncclParamDumpAll, void) {
  for (const ncclParamHandle& p : kParameters) {
    if (!p.published && !all_are_asked_for()) continue;
    const std::string value = text_of(p);
    std::printf("%s=%s\n", p.key, value.empty() ? "<unset>" : value.c_str());
  }
}
