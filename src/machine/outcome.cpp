#include "machine/outcome.h"

#include <fmt/format.h>

#include <bit>

#include "base/demangle.h"

namespace fb::machine {
namespace {

std::string describe(const CodePlace& p) {
  std::string text = demangle(p.kernel);
  if (p.function != p.kernel) text += fmt::format(" (in {})", demangle(p.function));
  if (p.line != 0) text += fmt::format(" at {}:{}", p.file, p.line);
  return text + fmt::format(" [PTX line {}: {}]", p.ptx_line, p.text);
}

std::string describe(const simt::Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

}  // namespace

std::string describe(const Fault& f) {
  return fmt::format("{}: {}\n  in {}\n  block {} thread {}\n", to_string(f.kind), f.message, describe(f.place),
                     describe(f.block), describe(f.thread));
}

std::string describe(const Deadlock& d) {
  std::string text =
      fmt::format("deadlock in {}: {} threads wait and nothing can wake them ({} blocks resident, {} finished",
                  demangle(d.kernel), d.waiting_threads, d.resident_blocks, d.finished_blocks);
  if (d.unstarted_blocks != 0) {
    text += fmt::format(", {} not started: the device has no room for them while these wait", d.unstarted_blocks);
  }
  text += ")\n";
  for (const Waiter& w : d.waiters) {
    text += fmt::format("  block {} warp {} lanes {:#010x}: waits for {}\n    in {}\n", w.block, w.warp, w.lanes,
                        w.reason, describe(w.place));
    for (const auto& s : w.seen) {
      text +=
          fmt::format("    sees {} (0x{:x}) in {} bytes at {:#x}: {}\n", s.value, s.value, s.bytes, s.address, s.where);
    }
  }
  return text;
}

std::string describe(const Outcome& o) {
  switch (o.ending) {
    case Ending::finished:
      return {};
    case Ending::fault:
      return describe(o.fault);
    case Ending::deadlock:
      return describe(o.deadlock);
    case Ending::budget:
      return fmt::format("budget: still running after {} warp instructions\n", o.instructions);
  }
  return {};
}

}  // namespace fb::machine
