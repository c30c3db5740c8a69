// Rows of the table, and what they share: four communicators of one process, a stream and two buffers for each.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

struct Row {
  std::string name;
  int expected;  // ncclResult_t; of rows that look at results: 0 where these are right
  std::function<int()> act;
};
using Rows = std::vector<Row>;

constexpr int kRanks = 4;
constexpr size_t kCount = 1024;    // elements of one rank
constexpr int kWrongValue = 1000;  // a result differs
constexpr int kCudaFailed = 1001;

struct Fixture {
  ncclComm_t comms[kRanks] = {};
  cudaStream_t streams[kRanks] = {};
  float *send[kRanks] = {}, *receive[kRanks] = {};  // kRanks * kCount each
};
Fixture& fixture();

// Fills all send buffers with f(rank, index) and clears the receive buffers.
void prepare(const std::function<float(int, size_t)>& f);
// Waits for all streams; compares receive buffers with f(rank, index) for `count` elements of each rank.
int compare(size_t count, const std::function<float(int, size_t)>& f);
int synchronise();

// A group of one call for each rank.
template <class F>
int on_all(F f) {
  int result = ncclGroupStart();
  for (int r = 0; r < kRanks && result == 0; ++r) result = f(r);
  const int end = ncclGroupEnd();
  return result != 0 ? result : end;
}
