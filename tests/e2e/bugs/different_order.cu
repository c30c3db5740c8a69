// Each rank adds up in an order of its own, and decides by the sum.
//
// Shipped: PyTorch before pull request 129501. To spread the load of the links each rank began its one-shot all-reduce
// with its own input. Addition of floats is not associative: the ranks' sums differ in their last bits, an application
// that decides by them (speculative decoding) goes different ways on different ranks, and the next collectives do not
// fit together. Nothing is unordered; the hang comes later.
// Repaired: all ranks add in the same order.
//
// ranks: 4
// deadlock: ranks in different collectives
#include "collectives.h"

int main() {
  Rank self;
  const float logits[4] = {1e8F, 1, -1e8F, 1};
  self.set_input(logits[self.rank() % 4]);
#ifdef REPAIRED
  self.all_reduce_one_shot(1, 0);
#else
  self.all_reduce_one_shot(1, self.rank());
#endif
  const bool accepted = self.output() > 0.5F;

  self.set_input(static_cast<float>(self.rank()));
  if (accepted) {
    self.all_reduce_one_shot(2);
  } else {
    self.all_reduce_two_shot(1);
  }
  const int world = self.world();
  const float expected = static_cast<float>(world * (world - 1) / 2);
  if (self.output() != expected) fail("rank %d: the sum is %g, expected %g", self.rank(), self.output(), expected);
  if (self.rank() == 0) std::printf("OK %d ranks went the same way\n", world);
}
