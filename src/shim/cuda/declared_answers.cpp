#include "shim/cuda/core/error.h"
#include "shim/cuda/declared.h"

namespace fb::shim {

int answer_runtime(const char* function) { return record(not_supported(function)); }
int answer_driver(const char* function) { return not_supported(function); }

}  // namespace fb::shim
