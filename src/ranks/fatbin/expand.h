#pragma once

#include <string>

#include "ranks/fatbin/container.h"

namespace fb::fatbin {

// The text of a PTX entry, without the padding behind it.
Result<std::string> expand_text(const Entry& entry);

}  // namespace fb::fatbin
