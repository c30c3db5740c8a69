#include "common/wire/status.h"

namespace fb::wire {

std::string_view to_string(Status status) {
  switch (status) {
#define STATUS(name, number) \
  case Status::name:         \
    return #name;
#include "common/wire/status.def"
#undef STATUS
  }
  return "unknown status";
}

}  // namespace fb::wire
