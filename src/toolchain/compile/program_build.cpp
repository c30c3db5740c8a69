#include "toolchain/compile/program_build.h"

#include <algorithm>

namespace fb::toolchain {

bool observes(const ProgramBuild& request) {
  return request.runtime && !request.shared &&
         std::ranges::find(request.libraries, "ibverbs") != request.libraries.end();
}

}  // namespace fb::toolchain
