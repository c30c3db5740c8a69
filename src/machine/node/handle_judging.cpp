// What ranks and the judge ask of a judgement. Node::handle has seen to it that each asks only what is its to ask.

#include "machine/judging/judgement.h"
#include "machine/node/handlers.h"

namespace fb::machine {

using wire::Status;

Status Handlers::on_step_next(Node& node, Call& call, const wire::StepNext& m, wire::StepReady&, Answer&) {
  return node.judgement_ ? node.judgement_->next(call, m) : Status::not_permitted;
}

Status Handlers::on_exchange(Node& node, Call& call, const wire::Exchange&, wire::Empty&, Answer&) {
  return node.judgement_ ? node.judgement_->exchange(call) : Status::not_permitted;
}

Status Handlers::on_exchange_descriptor(Node& node, Call& call, const wire::ExchangeDescriptor& m, wire::Empty&,
                                        Answer&) {
  return node.judgement_ ? node.judgement_->exchange_descriptor(call, m.root) : Status::not_permitted;
}

Status Handlers::on_judge_begin(Node& node, Call& call, const wire::JudgeBegin& m, wire::Empty&, Answer&) {
  return node.judgement_->begin(call, m);
}

Status Handlers::on_judge_tensor(Node& node, Call&, const wire::JudgeTensor& m, wire::Address& reply, Answer&) {
  return node.judgement_->make_tensor(m, reply);
}

Status Handlers::on_judge_free(Node& node, Call&, const wire::JudgeFree& m, wire::Empty&, Answer&) {
  return node.judgement_->release(m);
}

Status Handlers::on_judge_step(Node& node, Call& call, const wire::JudgeStep& m, wire::JudgeStepDone&, Answer&) {
  return node.judgement_->step(call, m);
}

}  // namespace fb::machine
