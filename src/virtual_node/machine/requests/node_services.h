#pragma once

// All parts of a node, for the functions that handle requests.

#include "virtual_node/machine/libraries/blas/blas_operations.h"
#include "virtual_node/machine/libraries/collective/collectives.h"
#include "virtual_node/machine/libraries/verbs/verbs.h"
#include "virtual_node/machine/process/services.h"
#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {

class GraphLauncher;

struct NodeServices : ProcessServices {
  Collectives& collectives;
  BlasOperations& blas;
  Verbs& verbs;
  GraphLauncher& graphs;
};

}  // namespace fb::machine
