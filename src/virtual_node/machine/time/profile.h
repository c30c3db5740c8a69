#pragma once

// Books every picosecond of every warp to a source line and a cause, for `--profile`.
//
// Each warp has a book. What moves its clock says what it was for: spans and their shares, waits for loads, units,
// accesses, fences. A clock that has moved without such a word was moved by another agent, while the warp waited
// for what it named last: a barrier, a flag, a copy.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/platform/time.h"
#include "common/record/profile.h"
#include "virtual_node/machine/engine/sm_slots.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/timing.h"

namespace fb::machine {

using record::ProfileCause;

class Profiler {
 public:
  explicit Profiler(const DeviceLimits& limits) : limits_(limits) {}

  void begin(simt::Warp& w);
  void end(simt::Warp& w);

  // What happened since the last word is the warp's waiting.
  void catch_up(simt::Warp& w);
  // The clock has moved up to where it stands now, at this instruction.
  void book(simt::Warp& w, const simt::Inst* inst, ProfileCause cause);
  // From here on the warp may be waiting.
  void waits(simt::Warp& w, const simt::Inst* inst, ProfileCause cause);

  void span(simt::Warp& w, const simt::Span& s);
  void loaded(simt::Warp& w, const simt::Inst& inst, ProfileCause cause);  // its slot's data come from there
  void wait_for_loads(simt::Warp& w, const simt::Span& s, uint64_t until);
  // The units of the warp's last span are busy until then.
  void units(simt::Warp& w, uint64_t until, simt::Part slowest);
  void extra(simt::Warp& w, const simt::Inst& inst, ProfileCause cause, uint64_t time);

  record::Profile profile() const;

 private:
  struct Place {
    uint32_t function = 0, index = 0;
  };
  using Key = std::pair<uint64_t, ProfileCause>;  // function << 32 | index
  struct Book {
    uint64_t begun = 0, accounted = 0;
    Place waits_at;
    ProfileCause waits_for = ProfileCause::start;
    Place last_span;
    Place conflict_at;       // the last bank conflict
    uint64_t conflicts = 0;  // time of bank conflicts since units were settled
    struct Slot {
      Place at;
      ProfileCause cause = ProfileCause::memory;
    };
    std::array<Slot, simt::kLoadSlots> slots;
    std::map<Key, uint64_t> times;
  };
  using LineKey = std::pair<std::pair<std::string, uint32_t>, ProfileCause>;
  using LineTimes = std::map<LineKey, uint64_t>;
  struct Grid {
    uint64_t begun = 0, ended = 0;
  };
  struct Kernel {
    uint64_t launches = 0, warps = 0, longest = 0;
    uint32_t device = 0, block = 0, warp = 0;
    BlockNeeds needs = {};        // of the longest launch
    uint64_t blocks_at_once = 0;  // of it, on a multiprocessor
    LineTimes critical, all;
    std::map<uint64_t, Grid> grids;  // by id
  };

  Book& book_of(const simt::Warp& w);
  static Place place_of(const simt::Warp& w, const simt::Inst* inst);
  static void add(Book& b, Place at, ProfileCause cause, uint64_t time);
  static LineTimes lines_of(const simt::Program& program, const Book& b);

  DeviceLimits limits_;
  std::unordered_map<const simt::Warp*, Book> books_;
  std::map<std::string, Kernel> kernels_;  // by name
};

}  // namespace fb::machine
