// Network cards through verbs, timed by the host's clock. Alone, a process connects two queue pairs of its card to each
// other (loopback) and takes the time from posting to the completion, one operation at a time; two processes on two
// nodes do what perftest does: a full pipeline of one queue pair, or ping-pong.
#include <algorithm>
#include <map>
#include <thread>

#include "common/card.h"

namespace {

constexpr int kWarmUp = 4, kRounds = 20;

template <class Operation>
double each_takes(Operation operation) {
  for (int k = 0; k < kWarmUp; ++k) operation();
  const double begin = now_in_microseconds();
  for (int k = 0; k < kRounds; ++k) operation();
  return (now_in_microseconds() - begin) / kRounds;
}

// In one process

double loopback(const std::string& algorithm, long bytes) {
  const bool unreliable = algorithm == "uc_device";
  const size_t room = static_cast<size_t>(std::max(bytes, 4096L));
  Card a(unreliable ? IBV_QPT_UC : IBV_QPT_RC, room, unreliable ? Memory::device : Memory::host);
  Card b(unreliable ? IBV_QPT_UC : IBV_QPT_RC, room, unreliable ? Memory::device : Memory::host);
  a.connect(b.address());
  b.connect(a.address());
  if (algorithm == "exchange") {
    // Both ends send and receive at once. What the measured program copies on the host is added by its harness.
    const auto work = [bytes](Card& card) {
      return each_takes([&] {
        card.receive(bytes);
        card.post(IBV_WR_SEND, bytes);
        card.wait(2);
      });
    };
    double times[2];
    std::thread other([&] { times[1] = work(b); });
    times[0] = work(a);
    other.join();
    return std::max(times[0], times[1]);
  }
  double spent = 0;
  for (int k = -kWarmUp; k < kRounds; ++k) {
    if (algorithm == "write_imm" || unreliable) b.receive(unreliable ? bytes : 0);
    const double begin = now_in_microseconds();
    if (algorithm == "write") a.post(IBV_WR_RDMA_WRITE, bytes);
    if (algorithm == "gather") a.post(IBV_WR_RDMA_WRITE, bytes, IBV_SEND_SIGNALED, 2);
    if (algorithm == "write_imm") a.post(IBV_WR_RDMA_WRITE_WITH_IMM, bytes);
    if (algorithm == "fetch_add") a.post(IBV_WR_ATOMIC_FETCH_AND_ADD, bytes);
    if (algorithm == "compare_swap") a.post(IBV_WR_ATOMIC_CMP_AND_SWP, bytes);
    if (unreliable) a.post(IBV_WR_SEND, bytes);
    a.wait();
    if (unreliable) b.wait();
    if (k >= 0) spent += now_in_microseconds() - begin;
    if (algorithm == "write_imm") b.wait();
  }
  return spent / kRounds;
}

// Between two nodes

// perftest: at most kDepth outstanding, every 100th signalled.
double stream(Card& card, ibv_wr_opcode opcode, long bytes) {
  constexpr int kModeration = 100;
  const int count = bytes <= 65536 ? 1000 : 100;
  int posted = 0, completed = 0;
  const double begin = now_in_microseconds();
  while (completed < count) {
    while (posted < count && posted - completed < Card::kDepth) {
      ++posted;
      card.post(opcode, bytes, posted % kModeration == 0 || posted == count ? IBV_SEND_SIGNALED : 0);
    }
    card.wait();
    completed = std::min(completed + kModeration, count);
  }
  return (now_in_microseconds() - begin) / count;
}

double between_nodes(Bootstrap& ranks, const std::string& algorithm, long bytes) {
  Card card(IBV_QPT_RC, static_cast<size_t>(std::max(bytes, 4096L)));
  const std::vector<Address> all = ranks.all_gather(card.address());
  const bool first = ranks.rank == 0;
  card.connect(all[first ? 1 : 0]);
  ranks.barrier();
  double time = 0;
  if (algorithm == "send_lat") {
    constexpr int kTurns = kWarmUp + kRounds;
    for (int k = 0; k < Card::kDepth; ++k) card.receive(bytes);
    ranks.barrier();
    double begin = 0;
    for (int k = 0; k < kTurns; ++k) {
      if (k == kWarmUp) begin = now_in_microseconds();
      if (!first) card.wait();
      card.post(IBV_WR_SEND, bytes, bytes <= 220 ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED);
      card.wait();
      if (first) card.wait();
    }
    time = (now_in_microseconds() - begin) / (2 * kRounds);
  } else if (algorithm == "send_bw") {
    const int count = bytes <= 65536 ? 1000 : 100;
    if (!first) {
      for (int k = 0; k < Card::kDepth; ++k) card.receive(bytes);
    }
    ranks.barrier();
    if (first) time = stream(card, IBV_WR_SEND, bytes);
    for (int k = 0; !first && k < count; ++k) {
      card.wait();
      if (k + Card::kDepth < count) card.receive(bytes);
    }
  } else if (first) {
    time = stream(card, algorithm == "read_bw" ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, bytes);
  }
  ranks.barrier();
  return time;
}

}  // namespace

int main(int count, char** values) {
  if (count < 3) fail("usage: %s ALGORITHM SIZE...", values[0]);
  const std::string algorithm = values[1];
  Bootstrap ranks;
  for (int k = 2; k < count; ++k) {
    const long bytes = std::atol(values[k]);
    const double time = ranks.world == 1 ? loopback(algorithm, bytes) : between_nodes(ranks, algorithm, bytes);
    if (ranks.rank == 0) std::printf("%ld %.4f\n", bytes, time);
  }
}
