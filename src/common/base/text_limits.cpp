#include "common/base/text_limits.h"

#include <cstdint>

namespace fb {
namespace {

bool cuts_nothing = false;

}  // namespace

void cut_nothing() { cuts_nothing = true; }

size_t at_most(size_t usual) { return cuts_nothing ? SIZE_MAX : usual; }

}  // namespace fb
