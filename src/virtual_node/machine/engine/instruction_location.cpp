#include "virtual_node/machine/engine/instruction_location.h"

#include "common/ptx/print/printer.h"

namespace fb::machine {
namespace {

simt::Dim3 thread_position(const simt::Warp& warp, uint32_t lane) {
  const simt::Dim3 size = warp.block().grid().block;
  const uint32_t t = warp.index() * simt::kLanes + lane;
  return {t % size.x, t / size.x % size.y, t / size.x / size.y};
}

}  // namespace

simt::SourceLocation location_of(const simt::Grid& grid, const simt::Inst& inst) {
  simt::SourceLocation location = location_in(*grid.program, inst.origin);
  location.kernel = grid.kernel->name;
  return location;
}

simt::SourceLocation location_in(const simt::Program& program, uint32_t number) {
  const simt::Origin origin = program.origins[number];
  const ptx::Module& module = *program.module;
  const ptx::Function& function = module.functions[origin.function];
  simt::SourceLocation location;
  location.function = function.name;
  if (origin.index >= function.body.size()) return location;
  const ptx::Instruction& source = function.body[origin.index];
  location.ptx_line = source.at.line;
  location.text = ptx::print(module, function, source);
  location.line = source.source.line;
  if (source.source.file < module.files.size()) location.file = module.files[source.source.file];
  return location;
}

Fault make_fault(const simt::Warp& warp, const simt::Trap& trap) {
  Fault fault;
  fault.kind = trap.kind;
  fault.message = trap.message;
  fault.location = location_of(warp.block().grid(), *trap.inst);
  fault.block = warp.block().position();
  fault.thread = thread_position(warp, trap.lane);
  fault.address = trap.address;
  fault.bytes = trap.bytes;
  return fault;
}

}  // namespace fb::machine
