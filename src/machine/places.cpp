#include "machine/places.h"

#include "ptx/printer.h"

namespace fb::machine {
namespace {

simt::Dim3 thread_position(const simt::Warp& warp, uint32_t lane) {
  const simt::Dim3 size = warp.block().grid().block;
  const uint32_t t = warp.index() * simt::kLanes + lane;
  return {t % size.x, t / size.x % size.y, t / size.x / size.y};
}

}  // namespace

simt::SourceLocation place_of(const simt::Grid& grid, const simt::Inst& inst) {
  simt::SourceLocation place = place_in(*grid.program, inst.origin);
  place.kernel = grid.kernel->name;
  return place;
}

simt::SourceLocation place_in(const simt::Program& program, uint32_t number) {
  const simt::Origin origin = program.origins[number];
  const ptx::Module& module = *program.module;
  const ptx::Function& function = module.functions[origin.function];
  simt::SourceLocation place;
  place.function = function.name;
  if (origin.index >= function.body.size()) return place;
  const ptx::Instruction& source = function.body[origin.index];
  place.ptx_line = source.at.line;
  place.text = ptx::print(module, function, source);
  place.line = source.source.line;
  if (source.source.file < module.files.size()) place.file = module.files[source.source.file];
  return place;
}

Fault make_fault(const simt::Warp& warp, const simt::Trap& trap) {
  Fault fault;
  fault.kind = trap.kind;
  fault.message = trap.message;
  fault.place = place_of(warp.block().grid(), *trap.inst);
  fault.block = warp.block().position();
  fault.thread = thread_position(warp, trap.lane);
  fault.address = trap.address;
  fault.bytes = trap.bytes;
  return fault;
}

}  // namespace fb::machine
