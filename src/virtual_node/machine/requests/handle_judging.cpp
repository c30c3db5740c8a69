// Requests of ranks and of the judge about a judged run. Node::handle has checked that the judge alone sends the
// latter.

#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {

using wire::Status;

Status on_step_next(NodeServices& node, Call& call, const wire::StepNext& m, wire::StepReady&, Answer&) {
  return node.judge ? node.judge->next(call, m) : Status::not_permitted;
}

Status on_exchange(NodeServices& node, Call& call, const wire::Exchange&, wire::Empty&, Answer&) {
  return node.judge ? node.judge->exchange(call) : Status::not_permitted;
}

Status on_exchange_descriptor(NodeServices& node, Call& call, const wire::ExchangeDescriptor& m, wire::Empty&,
                              Answer&) {
  return node.judge ? node.judge->exchange_descriptor(call, m.root) : Status::not_permitted;
}

Status on_judge_begin(NodeServices& node, Call& call, const wire::JudgeBegin& m, wire::Empty&, Answer&) {
  return node.judge->begin(call, m);
}

Status on_judge_tensor(NodeServices& node, Call&, const wire::JudgeTensor& m, wire::Address& reply, Answer&) {
  return node.judge->make_tensor(m, reply);
}

Status on_judge_free(NodeServices& node, Call&, const wire::JudgeFree& m, wire::Empty&, Answer&) {
  return node.judge->free_tensor(m);
}

Status on_judge_step(NodeServices& node, Call& call, const wire::JudgeStep& m, wire::JudgeStepDone&, Answer&) {
  return node.judge->step(call, m);
}

}  // namespace fb::machine
