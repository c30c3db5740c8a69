#pragma once

// Graphs: each launch makes its operations anew, a conditional node those of its body each time it runs.

#include <vector>

#include "virtual_node/machine/process/operation.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/requests/node_services.h"

namespace fb::machine {

class GraphLauncher {
 public:
  explicit GraphLauncher(NodeServices& node) : node_(node) {}

  // Makes and enqueues the operations of a graph, or none of them.
  wire::Status launch(HostThread& thread, Stream& stream, uint64_t stream_id, const GraphRef& graph);

 private:
  struct Place;

  wire::Status make_node(Process& process, const GraphOperation& node, const Place& place, OperationPtr& op);
  // All operations of a graph, between `entry` and `exit`.
  wire::Status make_graph(Process& process, const GraphRef& graph, const Place& place, const OperationPtr& entry,
                          const OperationPtr& exit);
  void run_conditional(const OperationPtr& op, const wire::GraphConditional& m, const std::vector<GraphRef>& bodies,
                       const Place& place);

  NodeServices& node_;
};

}  // namespace fb::machine
