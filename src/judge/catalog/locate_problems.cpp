#include "common/base/installed.h"
#include "judge/catalog/pack.h"

namespace fb::catalog {

Result<std::string> locate_problems() {
  return locate({.variable = "FABRICBENCH_PROBLEMS",
                 .name = "problems",
                 .source = FB_SOURCE_PROBLEMS,
                 .sign = "pack.toml",
                 .kind = "pack of problems",
                 .them = "the problems"});
}

}  // namespace fb::catalog
