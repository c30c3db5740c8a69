#include "ranks/shim/redirect/jump.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace fb::redirect {

bool write_jump(void* from, const void* to) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(from) & ~(page - 1);
  const auto end = (reinterpret_cast<uintptr_t>(from) + kJumpBytes + page - 1) & ~(page - 1);
  auto* const pages = reinterpret_cast<void*>(begin);
  if (mprotect(pages, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  // jmp *0(%rip), and the address behind it
  constexpr unsigned char kJump[6] = {0xff, 0x25, 0, 0, 0, 0};
  std::memcpy(from, kJump, sizeof kJump);
  std::memcpy(static_cast<char*>(from) + sizeof kJump, &to, sizeof to);
  return mprotect(pages, end - begin, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace fb::redirect
