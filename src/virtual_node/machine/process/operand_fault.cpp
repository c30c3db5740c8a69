#include "virtual_node/machine/process/operand_fault.h"

#include <fmt/format.h>

#include "virtual_node/machine/process/process.h"

namespace fb::machine {

std::string explain_operand(const mem::AddressSpace& space, std::string_view what, mem::Address address, uint64_t bytes,
                            uint32_t device) {
  const std::string operand = fmt::format("{} ({:#x}, {} bytes)", what, address, bytes);
  const mem::Window* window = space.find(address);
  const uint64_t left = window ? window->size - (address - window->begin) : 0;
  if (!window || !window->allocation || left >= bytes)
    return fmt::format("{} is no memory of device {}", operand, device);
  const mem::Allocation& a = *window->allocation;
  const uint32_t number = (a.id - 1) % kAllocationsEach + 1;
  return fmt::format("{} goes {} bytes beyond the end of {} #{} of device {} ({} bytes)", operand, bytes - left,
                     a.label, number, device, a.size);
}

}  // namespace fb::machine
