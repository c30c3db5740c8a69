#pragma once

#include <functional>
#include <memory>

#include "virtual_node/fabric/fabric.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/process/operation.h"

namespace fb::machine {

// A copy of an operation: asks the fabric piece by piece, so that copies and kernels share links as they go, and calls
// `done` at the time of the last byte.
void carry_on(fabric::Fabric& fabric, Engine& engine, const OperationPtr& op, std::shared_ptr<fabric::Copy> copy,
              std::function<void(Time)> done);

}  // namespace fb::machine
