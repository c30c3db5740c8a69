#pragma once

#include <cstdint>
#include <string_view>

namespace fb::wire {

// How the machine answers a request.
enum class Status : uint32_t {
#define STATUS(name, number) name = number,
#include "common/wire/status.def"
#undef STATUS
};

std::string_view to_string(Status status);

}  // namespace fb::wire
