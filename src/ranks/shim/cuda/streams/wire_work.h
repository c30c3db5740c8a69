#pragma once

#include "common/wire/messages.h"
#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

// Work in the words of the wire; of graphs only the stream's device counts.
wire::Launch to_wire(const KernelWork& kernel, wire::StreamRef stream, wire::Id function);
wire::Memset to_wire(const MemsetWork& box, wire::StreamRef stream);
wire::StreamValue to_wire(const ValueWork& work, wire::StreamRef stream);
// Both ends are addresses of the machine.
wire::Copy to_wire(const CopyWork& box, wire::StreamRef stream);

}  // namespace fb::shim
