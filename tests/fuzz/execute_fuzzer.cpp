#include "tests/fuzz/execute_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fb::fuzz::execute_input({reinterpret_cast<const char*>(data), size}, 1);
  return 0;
}
