// The functions that are declared and not real. No header of rdma_cm here: one shape serves all of them. The second
// table makes the linker ask for every real one.

#include <cerrno>
#include <cstring>

#include "common/wire/library_link.h"
#include "common/wire/messages.h"

#define FB_API extern "C" __attribute__((visibility("default")))

namespace {

// -1, with errno; the run's record counts it by name.
long not_modelled(const char* function) {
  const fb::wire::ReportUnsupported request;
  fb::wire::Empty reply;
  fabricbench_request(static_cast<uint16_t>(fb::wire::Kind::report_unsupported), &request, sizeof request, &reply,
                      sizeof reply, function, std::strlen(function));
  errno = EOPNOTSUPP;
  return -1;
}

}  // namespace

#define GROUP(title)
#define REAL(name)
#define DECLARED(name) \
  FB_API long name();  \
  FB_API long name() { return not_modelled(#name); }
#include "common/api/rdmacm.def"
#undef DECLARED
#undef REAL

#define DECLARED(name)
extern "C" {
#define REAL(name) void name();
#include "common/api/rdmacm.def"
#undef REAL
}

namespace {
[[gnu::used]] void (*const kReal[])() = {
#define REAL(name) &name,
#include "common/api/rdmacm.def"
#undef REAL
};
}  // namespace
