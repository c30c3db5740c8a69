#pragma once

// The foreign APIs that shims implement, as tables: which functions they have and which of them are real here. Shims
// make their symbols from the tables, inspect counts them; no other layer needs a foreign name.

#include <span>
#include <string_view>

namespace fb::api {

struct Row {
  std::string_view name;    // as programs write it: "cuMemAlloc"
  std::string_view symbol;  // as libraries export it: "cuMemAlloc_v2"
  std::string_view group;
  bool real = false;  // false: declared, answers "not supported"
};

// In the order of the tables, chapter by chapter.
std::span<const Row> cuda_runtime();
std::span<const Row> cuda_driver();
std::span<const Row> nvml();
std::span<const Row> nccl();
std::span<const Row> verbs();
std::span<const Row> rdmacm();
std::span<const Row> cublas();
std::span<const Row> cublaslt();

// One more name of a symbol.
struct Alias {
  std::string_view name, symbol;
};
std::span<const Alias> cuda_runtime_aliases();
std::span<const Alias> cuda_driver_aliases();

}  // namespace fb::api
