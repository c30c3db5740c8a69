#include "virtual_node/simt/multicast_ref.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "virtual_node/simt/environment.h"

namespace fb::simt {
namespace {

// One lane's access, for the words of its faults.
struct Request {
  Warp& w;
  const Inst& i;
  uint32_t lane;
  mem::Address a;
  uint64_t bytes;

  [[noreturn]] void trap(TrapKind kind, std::string message) const {
    w.trap(kind, i, lane, std::move(message), a, static_cast<uint32_t>(bytes));
  }
};

void check_alignment(const Request& r, uint64_t align) {
  if (r.a % align == 0) return;
  r.trap(TrapKind::misaligned,
         fmt::format("{} bytes at multicast address {:#x} are not aligned to {} bytes", r.bytes, r.a, align));
}

// The window of a multicast object around the whole access. `last` is tried first: lanes stay close together.
const mem::Window& find_window(const Request& r, const mem::Window* last) {
  if (last && last->contains(r.a, r.bytes)) return *last;
  const mem::AddressSpace& space = r.w.environment().global();
  const mem::Window* found = space.find(r.a);
  if (!found || !found->multicast) {
    r.w.resolve(r.i, ptx::Space::global, r.lane, r.a, 1);  // has the words for addresses where nothing is
    r.trap(TrapKind::invalid_operand,
           fmt::format("{} bytes at {:#x}: {}: not a multicast address, as multimem instructions need", r.bytes, r.a,
                       space.describe(r.a)));
  }
  if (!found->contains(r.a, r.bytes)) {
    r.trap(TrapKind::out_of_bounds,
           fmt::format("{} bytes at {:#x}: they end {}", r.bytes, r.a, space.describe(r.a + r.bytes - 1)));
  }
  if (found->multicast->members.empty()) {
    r.trap(TrapKind::out_of_bounds,
           fmt::format("{} bytes at {:#x}: multicast object #{} has no devices", r.bytes, r.a, found->multicast->id));
  }
  return *found;
}

[[noreturn]] void trap_unbound(const Request& r, const mem::Multicast& object, uint32_t device, uint64_t offset) {
  r.trap(TrapKind::out_of_bounds,
         fmt::format("{} bytes at {:#x}: device {} has no memory bound at byte {} of multicast object #{}", r.bytes,
                     r.a, device, offset, object.id));
}

}  // namespace

MulticastLocations::MulticastLocations(Warp& w, const Inst& i, const mem::Address* a, uint32_t bytes) : bytes_(bytes) {
  const mem::Window* window = nullptr;
  std::array<const mem::Multicast::Piece*, 8> last = {};  // of the first members: where the lane before found its bytes
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((w.exec >> lane & 1) == 0) continue;
    const Request r{w, i, lane, a[lane], bytes};
    check_alignment(r, bytes);
    const mem::Window* const before = window;
    window = &find_window(r, window);
    if (window != before) last = {};
    const mem::Multicast& object = *window->multicast;
    const uint64_t offset = r.a - window->begin + window->offset;
    if (hosts_.empty()) hosts_.reserve(object.members.size() * kLanes);
    first_[lane] = static_cast<uint32_t>(hosts_.size());
    count_[lane] = static_cast<uint32_t>(object.members.size());
    for (size_t m = 0; m < object.members.size(); ++m) {
      const mem::Multicast::Member& member = object.members[m];
      const auto* near = m < last.size() ? last[m] : nullptr;
      if (near && offset >= near->offset && offset - near->offset <= near->size &&
          bytes <= near->size - (offset - near->offset)) {
        hosts_.push_back(near->host + (offset - near->offset));
        continue;
      }
      std::byte* host = member.find(offset, bytes);
      if (!host) trap_unbound(r, object, member.device, offset);
      hosts_.push_back(host);
      if (m < last.size()) last[m] = member.piece_at(offset);
    }
  }
}

void MulticastLocations::note_reads(Warp& w, const Inst& i, const mem::Address* a) const {
  // Member by member: lanes that read the same bytes follow each other and count as one read.
  const uint32_t members = *std::ranges::max_element(count_);
  for (uint32_t m = 0; m < members; ++m) {
    for (uint32_t lane = 0; lane < kLanes && w.recording; ++lane) {
      if ((w.exec >> lane & 1) != 0 && m < count_[lane]) w.note_read(of(lane)[m], a[lane], bytes_, i);
    }
  }
}

std::vector<MulticastPiece> resolve_multicast(Warp& w, const Inst& i, uint32_t lane, mem::Address a, uint64_t bytes,
                                              uint32_t align) {
  const Request r{w, i, lane, a, bytes};
  check_alignment(r, align);
  const mem::Window& window = find_window(r, nullptr);
  const mem::Multicast& object = *window.multicast;
  std::vector<MulticastPiece> pieces;
  for (const auto& member : object.members) {
    for (uint64_t done = 0; done < bytes;) {
      const uint64_t offset = a - window.begin + window.offset + done;
      const auto* piece = member.piece_at(offset);
      const uint64_t left = piece ? piece->size - (offset - piece->offset) : 0;
      const uint64_t here = bytes - done <= left ? bytes - done : left - left % align;
      if (here == 0) trap_unbound(r, object, member.device, offset);
      pieces.push_back({piece->host + (offset - piece->offset), done, here});
      done += here;
    }
  }
  return pieces;
}

}  // namespace fb::simt
