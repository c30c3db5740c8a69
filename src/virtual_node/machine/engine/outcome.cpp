#include "virtual_node/machine/engine/outcome.h"

#include <fmt/format.h>

#include "common/base/demangle.h"

namespace fb::machine {
namespace {

std::string describe(const simt::SourceLocation& p) {
  std::string text = demangle(p.kernel);
  if (p.function != p.kernel) text += fmt::format(" (in {})", demangle(p.function));
  if (p.line != 0) text += fmt::format(" at {}:{}", p.file, p.line);
  return text + fmt::format(" [PTX line {}: {}]", p.ptx_line, p.text);
}

std::string describe(const simt::Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

}  // namespace

std::string describe(const Fault& f) {
  return fmt::format("{}: {}\n  in {}\n  block {} thread {}\n", to_string(f.kind), f.message, describe(f.location),
                     describe(f.block), describe(f.thread));
}

std::string describe(const Outcome& o) {
  switch (o.ending) {
    case Ending::finished:
      return {};
    case Ending::fault:
      return describe(o.fault);
    case Ending::deadlock:
      return "deadlock: " + o.deadlock.text;
    case Ending::budget:
      return fmt::format("budget: still running after {} warp instructions\n", o.instructions);
  }
  return {};
}

}  // namespace fb::machine
