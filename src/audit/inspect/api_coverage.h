#pragma once

// How much of the CUDA APIs the drop-in libraries implement, from the tables that make their symbols.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb::inspect {

// The list kept in src/audit/inspect/cuda_calls.tsv: name, call sites, where; lines that begin with # are comments.
std::string_view kept_cuda_calls();

struct ApiFunction {
  std::string name, group;
  bool real = false;
  uint64_t calls = 0;  // call sites in the kept list
};

struct ApiCount {
  uint32_t real = 0, total = 0;
};

struct Api {
  std::string key, title;              // "cuda_runtime", "CUDA runtime"
  std::vector<ApiFunction> functions;  // in the table's order
  ApiCount count;
};

// A row of the kept list.
struct ApiCall {
  std::string name;
  uint64_t calls = 0;
  std::string where;  // "host", "header", "device"
  bool real = false;
};

struct ApiCoverage {
  std::vector<Api> apis;
  std::vector<ApiCall> calls;  // most used first
  uint64_t calls_real = 0, calls_total = 0;
};

ApiCoverage measure_api_coverage();

std::string to_json(const ApiCoverage& coverage);
std::string to_text(const ApiCoverage& coverage);
// The page docs/evidence/api.md.
std::string to_markdown(const ApiCoverage& coverage);

}  // namespace fb::inspect
