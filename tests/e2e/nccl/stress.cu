// Random programs of collectives, messages, groups, streams and communicators on all ranks, each compared with a plain
// oracle. All ranks draw the same programs from the seed.
//
// Usage: stress PROGRAMS SEED
#include <cstdint>
#include <cstring>
#include <vector>

#include "boot.h"

namespace {

struct Rng {
  uint64_t state;
  uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state >> 33) % n);
  }
};

constexpr size_t kMost = 600;  // elements of a rank in one call
constexpr int kBuffers = 6;

// What all ranks' buffers hold: the oracle.
struct Oracle {
  std::vector<std::vector<int32_t>> send[kBuffers], receive[kBuffers];
};

struct Comm {
  ncclComm_t handle = nullptr;
  std::vector<int> members;  // ranks of the world, in order; of the part that this rank is in
  std::vector<std::vector<int>> parts;
};

World w;
cudaStream_t streams[3];
int32_t *send[kBuffers], *receive[kBuffers];
uint64_t calls = 0;

int32_t apply(int op, int32_t x, int32_t y) {
  if (op == ncclSum) return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  if (op == ncclProd) return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
  return op == ncclMax ? (x > y ? x : y) : (x < y ? x : y);
}

// One call of every rank of one part of a communicator: the oracle's side for all parts, NCCL's for this rank's own.
void call(Rng& rng, const Comm& comm, int buffer, cudaStream_t stream, Oracle& o) {
  ++calls;
  const int kind = static_cast<int>(rng.below(9));
  const size_t count = rng.below(8) == 0 ? 0 : 1 + rng.below(kMost);
  constexpr ncclRedOp_t kOps[] = {ncclSum, ncclProd, ncclMax, ncclMin};
  const ncclRedOp_t op = kOps[rng.below(4)];
  const bool in_place = rng.below(4) == 0;
  const uint32_t draw = rng.below(1000);
  for (const auto& part : comm.parts) {
    const int n = static_cast<int>(part.size());
    const int root = static_cast<int>(draw) % n;
    int own = -1;
    for (int k = 0; k < n; ++k) {
      if (part[static_cast<size_t>(k)] == w.rank) own = k;
    }
    const auto sent = [&](int k) -> std::vector<int32_t>& {
      return o.send[buffer][static_cast<size_t>(part[static_cast<size_t>(k)])];
    };
    const auto got = [&](int k) -> std::vector<int32_t>& {
      return o.receive[buffer][static_cast<size_t>(part[static_cast<size_t>(k)])];
    };
    const auto reduced = [&](size_t i) {
      int32_t x = sent(0)[i];
      for (int k = 1; k < n; ++k) x = apply(op, x, sent(k)[i]);
      return x;
    };
    int32_t *s = send[buffer], *r = receive[buffer];
    const size_t c = count;
    const ncclComm_t h = comm.handle;
    switch (kind) {
      case 0: {
        std::vector<int32_t> result(c);
        for (size_t i = 0; i < c; ++i) result[i] = reduced(i);
        for (int k = 0; k < n; ++k) std::copy(result.begin(), result.end(), (in_place ? sent(k) : got(k)).begin());
        if (own >= 0) NCCL(ncclAllReduce(s, in_place ? s : r, c, ncclInt32, op, h, stream));
        break;
      }
      case 1:
        for (int k = 0; k < n; ++k) std::copy_n(sent(root).begin(), c, got(k).begin());
        if (own >= 0) NCCL(ncclBroadcast(s, r, c, ncclInt32, root, h, stream));
        break;
      case 2:
        for (size_t i = 0; i < c; ++i) got(root)[i] = reduced(i);
        if (own >= 0) NCCL(ncclReduce(s, r, c, ncclInt32, op, root, h, stream));
        break;
      case 3:
        for (int k = 0; k < n; ++k) {
          for (int from = 0; from < n; ++from)
            std::copy_n(sent(from).begin(), c, got(k).begin() + static_cast<long>(from * c));
        }
        if (own >= 0) NCCL(ncclAllGather(s, r, c, ncclInt32, h, stream));
        break;
      case 4:
        for (int k = 0; k < n; ++k) {
          for (size_t i = 0; i < c; ++i) got(k)[i] = reduced(static_cast<size_t>(k) * c + i);
        }
        if (own >= 0) NCCL(ncclReduceScatter(s, r, c, ncclInt32, op, h, stream));
        break;
      case 5:
        for (int k = 0; k < n; ++k) {
          for (int from = 0; from < n; ++from)
            std::copy_n(sent(from).begin() + static_cast<long>(k * c), c, got(k).begin() + static_cast<long>(from * c));
        }
        if (own >= 0) NCCL(ncclAlltoAll(s, r, c, ncclInt32, h, stream));
        break;
      case 6:
        for (int from = 0; from < n; ++from)
          std::copy_n(sent(from).begin(), c, got(root).begin() + static_cast<long>(from * c));
        if (own >= 0) NCCL(ncclGather(s, r, c, ncclInt32, root, h, stream));
        break;
      case 7:
        for (int k = 0; k < n; ++k) std::copy_n(sent(root).begin() + static_cast<long>(k * c), c, got(k).begin());
        if (own >= 0) NCCL(ncclScatter(s, r, c, ncclInt32, root, h, stream));
        break;
      default: {
        // A rotation by some ranks, in a group of its own or in the one that is open.
        const int by = 1 + root % n;
        for (int k = 0; k < n; ++k) std::copy_n(sent(k).begin(), c, got((k + by) % n).begin());
        if (own < 0) break;
        NCCL(ncclGroupStart());
        NCCL(ncclSend(s, c, ncclInt32, (own + by) % n, h, stream));
        NCCL(ncclRecv(r, c, ncclInt32, (own + n - by % n) % n, h, stream));
        NCCL(ncclGroupEnd());
      }
    }
  }
}

void check(const Oracle& o, uint64_t program) {
  std::vector<int32_t> host(kMost * static_cast<size_t>(w.ranks));
  for (int b = 0; b < kBuffers; ++b) {
    for (const bool sends : {true, false}) {
      cudaMemcpy(host.data(), sends ? send[b] : receive[b], host.size() * sizeof host[0], cudaMemcpyDeviceToHost);
      const auto& expected = (sends ? o.send : o.receive)[b][static_cast<size_t>(w.rank)];
      if (std::memcmp(host.data(), expected.data(), host.size() * sizeof host[0]) == 0) continue;
      for (size_t i = 0; i < host.size(); ++i) {
        if (host[i] == expected[i]) continue;
        std::printf("rank %d, program %llu, %s buffer %d, element %zu: %d instead of %d\n", w.rank,
                    static_cast<unsigned long long>(program), sends ? "send" : "receive", b, i, host[i], expected[i]);
        std::exit(1);
      }
    }
  }
}

void run(uint64_t program, Rng rng, const std::vector<Comm>& comms) {
  const size_t size = kMost * static_cast<size_t>(w.ranks);
  Oracle o;
  for (int b = 0; b < kBuffers; ++b) {
    o.send[b].assign(static_cast<size_t>(w.ranks), std::vector<int32_t>(size));
    o.receive[b].assign(static_cast<size_t>(w.ranks), std::vector<int32_t>(size, -1));
    for (int r = 0; r < w.ranks; ++r) {
      for (size_t i = 0; i < size; ++i)
        o.send[b][static_cast<size_t>(r)][i] =
            static_cast<int32_t>((i * 31 + static_cast<size_t>(r * 7 + b) + program) % 1009);
    }
    cudaMemcpy(send[b], o.send[b][static_cast<size_t>(w.rank)].data(), size * sizeof(int32_t), cudaMemcpyHostToDevice);
    cudaMemcpy(receive[b], o.receive[b][static_cast<size_t>(w.rank)].data(), size * sizeof(int32_t),
               cudaMemcpyHostToDevice);
  }
  cudaDeviceSynchronize();
  const uint32_t steps = 1 + rng.below(5);
  for (uint32_t k = 0; k < steps; ++k) {
    const auto any = [&]() -> const Comm& { return comms[rng.below(static_cast<uint32_t>(comms.size()))]; };
    const uint32_t grouped = rng.below(3) == 0 ? 2 + rng.below(3) : 1;
    const bool several = rng.below(2) == 0;
    const Comm& comm = any();
    // Calls of one group are concurrent, so each has buffers of its own; the group joins the streams that it uses.
    if (grouped > 1) NCCL(ncclGroupStart());
    const int first = static_cast<int>(rng.below(kBuffers));
    for (uint32_t g = 0; g < grouped; ++g)
      call(rng, several ? any() : comm, (first + static_cast<int>(g)) % kBuffers,
           streams[grouped > 1 ? rng.below(3) : 0], o);
    if (grouped > 1) NCCL(ncclGroupEnd());
    // What a group did on other streams is ordered before the next step.
    for (int s = 0; s < 3; ++s) {
      for (int t = 0; t < 3; ++t) {
        cudaEvent_t event;
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        cudaEventRecord(event, streams[s]);
        if (s != t) cudaStreamWaitEvent(streams[t], event, 0);
        cudaEventDestroy(event);
      }
    }
  }
  cudaDeviceSynchronize();
  check(o, program);
}

std::vector<Comm> make_comms(ncclComm_t world) {
  std::vector<int> all;
  for (int r = 0; r < w.ranks; ++r) all.push_back(r);
  std::vector<Comm> comms{{world, all, {all}}};
  // Halves, and pairs of neighbours in reverse order.
  for (const int size : {(w.ranks + 1) / 2, 2}) {
    for (const bool reverse : {false, true}) {
      Comm comm;
      comm.parts.resize(static_cast<size_t>((w.ranks + size - 1) / size));
      for (int k = 0; k < w.ranks; ++k) {
        const int r = reverse ? w.ranks - 1 - k : k;
        comm.parts[static_cast<size_t>(r / size)].push_back(r);
      }
      NCCL(ncclCommSplit(world, w.rank / size, reverse ? -w.rank : w.rank, &comm.handle, nullptr));
      comms.push_back(comm);
    }
  }
  return comms;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t programs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 50;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const ncclComm_t world = w.connect();
  const auto comms = make_comms(world);
  for (auto& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  for (int b = 0; b < kBuffers; ++b) {
    cudaMalloc(&send[b], kMost * static_cast<size_t>(w.ranks) * sizeof(int32_t));
    cudaMalloc(&receive[b], kMost * static_cast<size_t>(w.ranks) * sizeof(int32_t));
  }
  for (uint64_t p = 0; p < programs; ++p) run(p, Rng{seed * 1000003 + p * 7919 + 1}, comms);
  for (const Comm& c : comms) NCCL(ncclCommDestroy(c.handle));
  if (w.rank == 0)
    std::printf("%llu programs, %llu calls\n", static_cast<unsigned long long>(programs),
                static_cast<unsigned long long>(calls));
}
