// A race in words: what kind it is, who the two are, how they have last heard of each other, and what would order them.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/demangle.h"
#include "race/detector.h"
#include "race/state.h"

namespace fb::race {
namespace {

constexpr size_t kMostHistory = 20'000;

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::cta:
      return "block";
    case Scope::cluster:
      return "cluster";
    case Scope::gpu:
      return "device";
    case Scope::sys:
      return "system";
    case Scope::none:
      return "no";
  }
  return "?";
}

std::string last_part(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::string_view name_of(RaceClass c) {
  switch (c) {
    case RaceClass::write_read:
      return "unordered write/read";
    case RaceClass::read_write:
      return "unordered read/write";
    case RaceClass::write_write:
      return "unordered write/write";
    case RaceClass::not_released:
      return "published without release";
    case RaceClass::not_acquired:
      return "read without acquire";
    case RaceClass::narrow_scope:
      return "scope too narrow";
    case RaceClass::foreign_fence:
      return "fence by another thread than the stores";
    case RaceClass::mixed_size:
      return "mixed-size flag access";
    case RaceClass::reused_early:
      return "buffer reused too early (missing exit barrier)";
    case RaceClass::proxy_crossed:
      return "proxy crossed without fence";
    case RaceClass::not_atomic:
      return "non-atomic update";
    case RaceClass::in_one_warp:
      return "intra-warp conflict";
    case RaceClass::in_band_flag:
      return "in-band flag";
  }
  return "?";
}

// --- Who has heard of whom

uint64_t Detector::note_edge(const Edge& edge) {
  Edge& slot = edges_[next_edge_ % edges_.size()];
  slot = edge;
  slot.number = next_edge_;
  return next_edge_++;
}

Detector::Edge* Detector::edge_of(uint64_t number) {
  Edge& slot = edges_[number % edges_.size()];
  return slot.number == number ? &slot : nullptr;
}

// The last time that the later agent's block heard something which was said after the access: by whoever did it, or by
// somebody who knew of it.
const Detector::Edge* Detector::find_edge(const Mark& earlier, uint32_t lane, const Mark& later) const {
  const Edge* best = nullptr;
  const auto said_after = [&](const Edge& e) {
    if (same_block(e.write.block, earlier.block)) return e.write.tick >= earlier.tick;
    return e.knew && e.knew->covers(agents_.block(earlier.block).place, earlier.block,
                                    static_cast<uint16_t>(earlier.warp + 1), Mask{1} << lane, earlier.tick);
  };
  const auto rank = [&](const Edge& e) {
    const bool its_block = same_block(e.write.block, earlier.block);
    const bool same_writer = its_block && e.write.warp == earlier.warp && e.write_lane == lane;
    const bool same_reader = e.read.warp == later.warp;
    return std::tuple(e.trouble != Trouble::none, its_block, same_writer, same_reader, e.number);
  };
  // By the block itself, or by what came before it in its stream.
  const auto heard_before = [&](const Edge& e) {
    if (same_block(e.read.block, later.block)) return true;
    const StreamPlace heard = agents_.block(e.read.block).place, now = agents_.block(later.block).place;
    return heard.stream != 0 && heard.stream == now.stream && heard.time < now.time;
  };
  for (const Edge& e : edges_) {
    if (e.number == 0 || !heard_before(e) || !said_after(e)) continue;
    if (!best || rank(e) > rank(*best)) best = &e;
  }
  return best;
}

// --- Names

std::string Detector::who(const Mark& mark, uint32_t lane) const {
  const BlockInfo& block = agents_.block(mark.block);
  const OperationInfo& op = agents_.operation(block.operation);
  std::string text =
      op.rank >= 0 ? fmt::format("rank {} (device {})", op.rank, op.device) : fmt::format("device {}", op.device);
  if (op.of_judge) return text + ", the harness";
  if (!op.kernel) return fmt::format("{}, {}", text, op.name);
  return fmt::format("{}, {}, block {}, thread {}{}", text, demangle(op.name), block.index,
                     mark.warp * simt::kLanes + lane, block.async ? " (its asynchronous copy)" : "");
}

std::string Detector::where(Site site) const {
  const auto [program, origin] = agents_.origin(site);
  if (!program) return "";
  const simt::SourceLocation place = locate_(*program, origin);
  return place.line == 0 ? place.function : fmt::format("{}:{}", last_part(place.file), place.line);
}

std::string Detector::what(const Mark& mark) const {
  const auto [program, origin] = agents_.origin(mark.site);
  if (!program) return "as an operation of its stream";
  const simt::SourceLocation place = locate_(*program, origin);
  const std::string at = place.line == 0 ? place.function : fmt::format("{}:{}", last_part(place.file), place.line);
  return fmt::format("{} ({})", at, place.text);
}

std::string Detector::location(const Whereabouts& at, uint32_t offset) const {
  const uint64_t byte = at.line * kLineBytes + offset;
  if (!at.allocation) return fmt::format("byte {} of shared memory", byte);
  const mem::Allocation& a = *at.allocation;
  const std::string owner = a.device == mem::kHostMemory ? "the host" : fmt::format("device {}", a.device);
  return fmt::format("byte {} of {} #{} of {} ({} bytes), address m{}+{:#x}", byte, a.label, a.id, owner, a.size,
                     at.shadow->number(), byte);
}

void Detector::note_history(const Doing& doing, const Whereabouts& at, uint32_t begin, uint32_t end) {
  const uint64_t first = at.line * kLineBytes + begin, last = at.line * kLineBytes + end;
  if (why_offset_ < first || why_offset_ >= last || history_.size() >= kMostHistory) return;
  const auto offset = static_cast<uint32_t>(why_offset_ % kLineBytes);
  const char* verb = doing.mark.access() == AccessKind::atomic ? "updates" : doing.mark.writes() ? "writes" : "reads";
  history_.push_back(fmt::format("{} {} it: {}", who(doing.mark, doing.mark.lane_at(offset)), verb, what(doing.mark)));
}

// --- The report

void Detector::report_race(const Doing& doing, const Mark& earlier, const Whereabouts& at, uint32_t offset) {
  const Mark& later = doing.mark;
  const uint32_t earlier_lane = earlier.lane_at(offset), later_lane = later.lane_at(offset);
  const OperationInfo& earlier_op = agents_.operation_of(earlier.block);
  const OperationInfo& later_op = agents_.operation_of(later.block);
  const Edge* edge = find_edge(earlier, earlier_lane, later);
  const auto place_of = [&](const Mark& mark, const OperationInfo& op) {
    const std::string place = where(mark.site);
    return place.empty() ? fmt::format("\"{}\"", op.name) : place;
  };
  const std::string earlier_at = place_of(earlier, earlier_op), later_at = place_of(later, later_op);

  RaceClass kind = !later.writes()    ? RaceClass::write_read
                   : earlier.writes() ? RaceClass::write_write
                                      : RaceClass::read_write;
  std::string last, change;
  const bool one_warp = earlier.block == later.block && earlier.warp == later.warp;
  const bool one_block = same_block(earlier.block, later.block);
  const auto sides = [&](bool writer) { return writer ? "the writer's" : "the reader's"; };

  if (are_morally_strong(earlier, later)) {
    kind = RaceClass::in_band_flag;
    last = "the flag is one element of the vector and the data are others: PTX performs elements in any order";
    change =
        "publish the data with a release and read the flag with an acquire, or put both in one scalar of up to 8 bytes";
  } else if (earlier.strong && later.strong && earlier.element != later.element) {
    kind = RaceClass::mixed_size;
    last = fmt::format("one access has {} bytes, the other {}: neither sees the other as a whole", 1 << earlier.element,
                       1 << later.element);
    change = "access the word with the same size on both sides, one word for each writer";
  } else if (one_warp) {
    kind = RaceClass::in_one_warp;
    last = "lanes of a warp are ordered by __syncwarp only";
    change = fmt::format("put __syncwarp() between {} and {}", earlier_at, later_at);
    if (earlier.site == later.site && earlier.tick == later.tick && earlier.writes()) {
      last = "both are lanes of the same store instruction";
      change = "let one lane write, or give every lane a place of its own";
    }
  } else if (doing.async && doing.warp && [&] {
               Doing issuer = doing;
               issuer.async = false;
               return is_known(issuer, earlier, Mask{1} << earlier_lane, Mask{1} << later_lane, doing.warp->known.all);
             }()) {
    kind = RaceClass::proxy_crossed;
    last =
        "the threads are ordered, but the copy goes through the asynchronous proxy, which need not see generic stores";
    change = fmt::format("put fence.proxy.async behind the store at {}, before the barrier or the copy", earlier_at);
  } else if (earlier.strong && later.strong) {
    kind = RaceClass::narrow_scope;
    const bool earlier_narrow = !includes(earlier.reach(), earlier.block, later.block);
    const Mark& narrow = earlier_narrow ? earlier : later;
    last = fmt::format("both are strong, but the scope of the one at {} is the {} only",
                       earlier_narrow ? earlier_at : later_at, name_of(narrow.reach()));
    change = fmt::format("give the access at {} system scope", earlier_narrow ? earlier_at : later_at);
  } else if ((earlier.update && later.update) || (earlier.update && !later.writes() && earlier_at == later_at) ||
             (later.update && !earlier.writes() && earlier_at == later_at)) {
    kind = RaceClass::not_atomic;
    last = "both read the value, change it and store it: one of the changes can be lost";
    change = fmt::format("use atomicAdd{} (or another atomic operation) at {}",
                         earlier_op.device == later_op.device ? "" : "_system", later_at);
  } else if (edge && edge->trouble != Trouble::none) {
    const std::string write_at = where(edge->write.site), read_at = where(edge->read.site);
    last = fmt::format("{} set a flag at {}, which {} saw at {}, ", who(edge->write, edge->write_lane), write_at,
                       who(edge->read, static_cast<uint32_t>(std::countr_zero(edge->read_lanes))), read_at);
    switch (edge->trouble) {
      case Trouble::not_released:
        kind = RaceClass::not_released;
        last += "but nothing before that store releases what was written earlier";
        change = fmt::format("make the store at {} a release (st.release.sys), or put __threadfence_system() before it",
                             write_at);
        break;
      case Trouble::not_acquired:
        kind = RaceClass::not_acquired;
        last += "but neither that load nor a fence behind it acquires";
        change = fmt::format("make the load at {} an acquire (ld.acquire.sys), or put __threadfence_system() behind it",
                             read_at);
        break;
      case Trouble::writer_scope:
      case Trouble::reader_scope: {
        kind = RaceClass::narrow_scope;
        const bool writer = edge->trouble == Trouble::writer_scope;
        const bool of_fence = writer && includes(edge->write.reach(), edge->write.block, edge->read.block);
        const Scope scope = !writer ? edge->acquire_scope : of_fence ? edge->release_scope : edge->write.reach();
        const std::string narrow_at = !writer ? read_at : of_fence ? where(edge->release_site) : write_at;
        last += fmt::format("but {} side has {} scope only ({})", sides(writer), name_of(scope), narrow_at);
        change = fmt::format("use system scope at {}{}", narrow_at,
                             of_fence ? " (__threadfence_system instead of __threadfence)" : "");
        break;
      }
      case Trouble::size:
        kind = RaceClass::mixed_size;
        last += "but with accesses of different sizes, which order nothing";
        change = fmt::format("use the same size at {} and {}", write_at, read_at);
        break;
      case Trouble::none:
        break;
    }
  } else if (edge) {
    const ClockRef handed = edge->released ? everything(edge->handed) : nullptr;
    const bool handed_on =
        handed && handed->covers(agents_.block(earlier.block).place, earlier.block,
                                 static_cast<uint16_t>(earlier.warp + 1), Mask{1} << earlier_lane, earlier.tick);
    const std::string write_at = where(edge->write.site), read_at = where(edge->read.site);
    const uint32_t reader_lane = static_cast<uint32_t>(std::countr_zero(edge->read_lanes));
    if (handed_on) {
      kind = RaceClass::not_acquired;
      last = fmt::format("{} acquired at {} what {} released at {}, but this thread has not met it since",
                         who(edge->read, reader_lane), read_at, who(edge->write, edge->write_lane), write_at);
      change = fmt::format("put __syncthreads() between {} and {} (or let every thread acquire)", read_at, later_at);
    } else {
      kind = RaceClass::foreign_fence;
      last = fmt::format(
          "{} released at {} and {} acquired at {}, but the access at {} was by another thread, which "
          "had not met the releasing one before its fence",
          who(edge->write, edge->write_lane), where(edge->release_site), who(edge->read, reader_lane), read_at,
          earlier_at);
      change = fmt::format("put __syncthreads() (or __syncwarp()) between {} and the fence or release at {}",
                           earlier_at, where(edge->release_site));
    }
  } else if (one_block) {
    last = "no barrier of the block since";
    change = fmt::format("put __syncthreads() between {} and {}", earlier_at, later_at);
  } else {
    const Mark& write = later.writes() ? later : earlier;
    const Mark& read = later.writes() ? earlier : later;
    const OperationInfo& write_op = agents_.operation_of(write.block);
    const OperationInfo& read_op = agents_.operation_of(read.block);
    last = "none was seen between the two since";
    if (!read.writes() && &write_op != &read_op && write_op.number > read_op.number) {
      kind = RaceClass::reused_early;
      change = fmt::format(
          "let all ranks meet at the end of the work (an exit barrier) before {} is written again, or use another "
          "buffer in every other call",
          write_op.of_judge ? "the buffer"
          : later.writes()  ? later_at
                            : earlier_at);
    } else {
      change = fmt::format("publish {} with a flag: release (system scope) behind {}, acquire before {}",
                           later.writes() ? "the end of the access" : "the data", earlier_at, later_at);
    }
  }
  // Once for each pair of lines, in whatever direction between whichever devices.
  if (!reported_.emplace(earlier_at, later_at, kind).second) return;

  const auto verb = [](const Mark& m) {
    return m.access() == AccessKind::atomic ? "updates" : m.writes() ? "writes" : "reads";
  };
  Report report;
  report.kind = kind;
  if (later_op.rank >= 0) report.rank = later_op.rank;
  report.text = fmt::format(
      "{}: two accesses to the same bytes, and nothing orders them\n"
      "  first:  {} {}: {}\n"
      "  then:   {} {}: {}\n"
      "  bytes:  {}\n"
      "  last synchronisation: {}\n"
      "  smallest change: {}",
      name_of(kind), who(earlier, earlier_lane), verb(earlier), what(earlier), who(later, later_lane), verb(later),
      what(later), location(at, offset), last, change);
  report_(std::move(report));
}

}  // namespace fb::race
