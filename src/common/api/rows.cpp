#include "common/api/rows.h"

#include <vector>

namespace fb::api {
namespace {

// Rows come between GROUP lines; a group's title is kept for the rows that follow it.
class Table {
 public:
  void begin_group(std::string_view title) { group_ = title; }
  void add(std::string_view name, std::string_view symbol, bool real) { rows_.push_back({name, symbol, group_, real}); }
  std::span<const Row> rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::string_view group_;
};

Table read_cuda_runtime() {
  Table table;
#define GROUP(title) table.begin_group(title);
#define REAL(name) table.add(#name, #name, true);
#define DECLARED(name) table.add(#name, #name, false);
#define ALIAS(name, symbol)
#include "common/api/cuda_runtime.def"
#undef ALIAS
#undef DECLARED
#undef REAL
  return table;
}

// Libraries whose tables have only names.
#define REAL(name) table.add(#name, #name, true);
#define DECLARED(name) table.add(#name, #name, false);
#define DECLARED_POINTER(name) DECLARED(name)

Table read_nvml() {
  Table table;
#include "common/api/nvml.def"
  return table;
}

Table read_nccl() {
  Table table;
#include "common/api/nccl.def"
  return table;
}

Table read_verbs() {
  Table table;
#include "common/api/verbs.def"
  return table;
}

Table read_rdmacm() {
  Table table;
#include "common/api/rdmacm.def"
  return table;
}

Table read_cublas() {
  Table table;
#include "common/api/cublas.def"
  return table;
}

Table read_cublaslt() {
  Table table;
#include "common/api/cublaslt.def"
  return table;
}

#undef DECLARED_POINTER
#undef DECLARED
#undef REAL

Table read_cuda_driver() {
  Table table;
#define REAL(name, ...) table.add(#name, #name #__VA_ARGS__, true);
#define DECLARED(name, ...) table.add(#name, #name #__VA_ARGS__, false);
#define OLDER(name, below)
#define ALIAS(name, symbol)
#include "common/api/cuda_driver.def"
#undef ALIAS
#undef OLDER
#undef DECLARED
#undef REAL
#undef GROUP
  return table;
}

#define GROUP(title)
#define REAL(...)
#define DECLARED(...)
#define OLDER(name, below)
#define ALIAS(name, symbol) {#name, #symbol},
constexpr Alias kRuntimeAliases[] = {
#include "common/api/cuda_runtime.def"
};
constexpr Alias kDriverAliases[] = {
#include "common/api/cuda_driver.def"
};
#undef ALIAS
#undef OLDER
#undef DECLARED
#undef REAL
#undef GROUP

}  // namespace

std::span<const Row> cuda_runtime() {
  static const Table table = read_cuda_runtime();
  return table.rows();
}

std::span<const Row> cuda_driver() {
  static const Table table = read_cuda_driver();
  return table.rows();
}

std::span<const Row> nvml() {
  static const Table table = read_nvml();
  return table.rows();
}

std::span<const Row> nccl() {
  static const Table table = read_nccl();
  return table.rows();
}

std::span<const Row> verbs() {
  static const Table table = read_verbs();
  return table.rows();
}

std::span<const Row> rdmacm() {
  static const Table table = read_rdmacm();
  return table.rows();
}

std::span<const Row> cublas() {
  static const Table table = read_cublas();
  return table.rows();
}

std::span<const Row> cublaslt() {
  static const Table table = read_cublaslt();
  return table.rows();
}

std::span<const Alias> cuda_runtime_aliases() { return kRuntimeAliases; }
std::span<const Alias> cuda_driver_aliases() { return kDriverAliases; }

}  // namespace fb::api
