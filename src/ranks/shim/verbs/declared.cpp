// The functions that are declared and not real. No header of verbs here: one shape serves all of them. The second table
// makes the linker ask for every real one.

#include <cerrno>
#include <cstring>

#include "common/wire/library_link.h"
#include "common/wire/messages.h"

#define FB_API extern "C" __attribute__((visibility("default")))

namespace fb::shim::verbs {

int not_modelled(const char* function) {
  const wire::ReportUnsupported request;
  wire::Empty reply;
  fabricbench_request(static_cast<uint16_t>(wire::Kind::report_unsupported), &request, sizeof request, &reply,
                      sizeof reply, function, std::strlen(function));
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

}  // namespace fb::shim::verbs

#define GROUP(title)
#define REAL(name)
#define DECLARED(name) \
  FB_API int name();   \
  FB_API int name() { return fb::shim::verbs::not_modelled(#name); }
#define DECLARED_POINTER(name)            \
  FB_API void* name();                    \
  FB_API void* name() {                   \
    fb::shim::verbs::not_modelled(#name); \
    return nullptr;                       \
  }
#include "common/api/verbs.def"
#undef DECLARED
#undef DECLARED_POINTER

#undef REAL

#define DECLARED(name)
#define DECLARED_POINTER(name)
extern "C" {
#define REAL(name) void name();
#include "common/api/verbs.def"
#undef REAL
}

namespace {
[[gnu::used]] void (*const kReal[])() = {
#define REAL(name) &name,
#include "common/api/verbs.def"
#undef REAL
};
}  // namespace
