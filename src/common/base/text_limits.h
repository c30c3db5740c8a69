#pragma once

// Lists in explanations are cut to what a person reads at once. A process that was asked to be verbose cuts nothing.

#include <cstddef>

namespace fb {

void cut_nothing();
// `usual`, or no limit.
size_t at_most(size_t usual);

}  // namespace fb
