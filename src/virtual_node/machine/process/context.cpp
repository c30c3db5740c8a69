#include "virtual_node/machine/process/context.h"

#include <algorithm>

#include "virtual_node/simt/trap.h"

namespace fb::machine {

std::string Context::describe(mem::Address a) {
  const mem::Window* mine = space.find(a);
  if (mine) return space.describe(a);
  if (std::string other = services_.describe(a); !other.empty()) return other;
  return space.describe(a);
}

void Context::forget() {
  // A copy that is completed early may trap because its kernel overwrote the mbarrier. That is the kernel's fault, not
  // the caller's: the copy ends without signalling the mbarrier, and the others are completed.
  bool again = true;
  while (again) {
    again = false;
    try {
      services_.engine->forget(*this);
    } catch (const simt::Trap&) {
      again = true;
    }
  }
}

mem::Address Context::heap_allocate(uint64_t bytes) {
  // Small ones cost a page on the host as well.
  const uint64_t charged = std::max<uint64_t>(bytes, 4096);
  if (bytes == 0 || charged > heap_limit - heap_used_) return 0;
  const mem::Address a = services_.allocate(bytes);
  if (a == 0) return 0;
  heap_[a] = charged;
  heap_used_ += charged;
  return a;
}

bool Context::heap_release(mem::Address a) {
  const auto found = heap_.find(a);
  if (found == heap_.end()) return false;
  // First complete the copies in flight and wake the warps that sleep on these bytes.
  forget();
  heap_used_ -= found->second;
  heap_.erase(found);
  return services_.release(a);
}

}  // namespace fb::machine
