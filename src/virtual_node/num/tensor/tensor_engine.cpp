#include "virtual_node/num/tensor/tensor_engine.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "virtual_node/num/tensor/engines_x86.h"
#include "virtual_node/num/tensor/portable_engine.h"

namespace fb::num::tensor {
namespace {

std::vector<const Engine*> find_engines() {
  std::vector<const Engine*> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && request_tiles()) found.push_back(&kAmxEngine);
  if (avx512) found.push_back(&kAvx512Engine);
  if (avx2) found.push_back(&kAvx2Engine);
#endif
  found.push_back(&kPortableEngine);
  return found;
}

const Engine* find_engine(std::string_view name) {
  if (name.empty()) return engines().front();
  for (const Engine* e : engines()) {
    if (name == e->name) return e;
  }
  return nullptr;
}

const Engine* first_engine() {
  const char* name = std::getenv("FABRICBENCH_TENSOR");
  const Engine* wanted = find_engine(name ? name : "");
  if (wanted) return wanted;
  std::string message = "FABRICBENCH_TENSOR names no engine of tensor cores that this CPU has: ";
  message.append(name).append("; there are");
  for (const Engine* e : engines()) message.append(e == engines().front() ? " " : ", ").append(e->name);
  throw std::invalid_argument(message);
}

const Engine*& chosen() {
  static const Engine* engine = first_engine();
  return engine;
}

}  // namespace

const Engine& engine() { return *chosen(); }

const std::vector<const Engine*>& engines() {
  static const std::vector<const Engine*> all = find_engines();
  return all;
}

bool use_engine(std::string_view name) {
  const Engine* wanted = find_engine(name);
  if (wanted) chosen() = wanted;
  return wanted != nullptr;
}

}  // namespace fb::num::tensor
