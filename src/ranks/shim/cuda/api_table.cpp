#include "ranks/shim/cuda/api_table.h"

#include <unordered_map>

#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/redirected.h"

// Addresses only: no header of CUDA here, so that every function may be declared without its arguments. A row that is
// marked REAL and has no body leaves a symbol undefined, and the library does not link.
extern "C" {
#define GROUP(title)
#define ALIAS(name, symbol)
#define OLDER(name, below) void name();
#define REAL(name, ...) void name##__VA_ARGS__();
#define DECLARED(name, ...) void name##__VA_ARGS__();
#include "common/api/cuda_driver.def"
#undef OLDER
#undef REAL
#undef DECLARED
#define REAL(name) void name();
#define DECLARED(name) void name();
#include "common/api/cuda_runtime.def"
#undef REAL
#undef DECLARED
#undef ALIAS
#define COMPILER_CALL(name) void name();
#include "ranks/shim/cuda/compiler_calls.def"
#undef COMPILER_CALL
#define PER_THREAD(name, ending) void name##ending();
#include "ranks/shim/cuda/per_thread.def"
#undef PER_THREAD
}

namespace fb::shim {
namespace {

using Function = void (*)();

// The linker asks for every function of the runtime API because of this.
std::unordered_map<std::string_view, Function> read_runtime() {
  std::unordered_map<std::string_view, Function> table;
#define ALIAS(name, symbol) table[#name] = &symbol;
#define REAL(name) table[#name] = &name;
#define DECLARED(name) REAL(name)
#define COMPILER_CALL(name) REAL(name)
#include "common/api/cuda_runtime.def"
#include "ranks/shim/cuda/compiler_calls.def"
#define PER_THREAD(name, ending) table[#name #ending] = &name##ending;
#include "ranks/shim/cuda/per_thread.def"
#undef PER_THREAD
#undef COMPILER_CALL
#undef REAL
#undef DECLARED
#undef ALIAS
  return table;
}

struct Versions {
  Function now = nullptr, older = nullptr;
  int below = 0;  // versions that get `older`
};

std::unordered_map<std::string_view, Versions> read_table() {
  std::unordered_map<std::string_view, Versions> table;
#define ALIAS(name, symbol)
#define OLDER(name, below)
#define REAL(name, ...) table[#name].now = table[#name #__VA_ARGS__].now = &name##__VA_ARGS__;
#define DECLARED(name, ...) REAL(name, __VA_ARGS__)
#include "common/api/cuda_driver.def"
#undef ALIAS
#undef OLDER
#undef REAL
#undef DECLARED
#define REAL(...)
#define DECLARED(...)
#define OLDER(name, version) table[#name].older = &name, table[#name].below = version;
#define ALIAS(name, symbol) table[#name].now = &symbol;
#include "common/api/cuda_driver.def"
#undef ALIAS
#undef OLDER
#undef REAL
#undef DECLARED
#undef GROUP
  return table;
}

}  // namespace

void* find_driver_function(std::string_view name, int version) {
  static const auto* const table = new std::unordered_map<std::string_view, Versions>(read_table());
  const auto found = table->find(name);
  if (found == table->end()) return nullptr;
  const Versions& versions = found->second;
  const Function function = versions.older && version < versions.below ? versions.older : versions.now;
  return reinterpret_cast<void*>(function);
}

void* find_runtime_function(std::string_view name) {
  static const auto* const table = new std::unordered_map<std::string_view, Function>(read_runtime());
  const auto found = table->find(name);
  return found == table->end() ? nullptr : reinterpret_cast<void*>(found->second);
}

}  // namespace fb::shim

FB_API void* fabricbench_runtime_function(const char* name) { return fb::shim::find_runtime_function(name); }
