#include "shim/cuda/api_table.h"

#include <unordered_map>

// Addresses only: no header of CUDA here, so that every function may be declared without its arguments. A row that is
// marked REAL and has no body leaves a symbol undefined, and the library does not link.
extern "C" {
#define GROUP(title)
#define ALIAS(name, symbol)
#define OLDER(name, below) void name();
#define REAL(name, ...) void name##__VA_ARGS__();
#define DECLARED(name, ...) void name##__VA_ARGS__();
#include "api/cuda_driver.def"
#undef OLDER
#undef REAL
#undef DECLARED
#define REAL(name) void name();
#define DECLARED(name) void name();
#include "api/cuda_runtime.def"
#undef REAL
#undef DECLARED
#undef ALIAS
}

namespace fb::shim {
namespace {

using Function = void (*)();

// Kept so that the linker asks for every function of the runtime API; programs find them by the loader.
[[gnu::used]] const Function kRuntime[] = {
#define ALIAS(name, symbol)
#define REAL(name) &name,
#define DECLARED(name) &name,
#include "api/cuda_runtime.def"
#undef REAL
#undef DECLARED
#undef ALIAS
};

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
#include "api/cuda_driver.def"
#undef ALIAS
#undef OLDER
#undef REAL
#undef DECLARED
#define REAL(...)
#define DECLARED(...)
#define OLDER(name, version) table[#name].older = &name, table[#name].below = version;
#define ALIAS(name, symbol) table[#name].now = &symbol;
#include "api/cuda_driver.def"
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

}  // namespace fb::shim
