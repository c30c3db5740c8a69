#pragma once

// A candidate's shared object, and the one instance of its class that lives at a time
// (sdk/include/fabricbench/entry.h).

#include <cuda_runtime_api.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fb::rank {

// All of it may throw whatever the candidate throws; load() throws std::runtime_error.
class Candidate {
 public:
  // `driver` may be empty: then the candidate's object has the entry itself.
  void load(const std::string& candidate, const std::string& driver);

  void construct(const fabricbench::Rank& rank, std::vector<uint64_t> words);
  void run(cudaStream_t stream);
  void destroy();

 private:
  uint64_t (*args_words_)() = nullptr;
  void* (*construct_)(const fabricbench::Rank*, const uint64_t*) = nullptr;
  void (*run_)(void*, const uint64_t*, cudaStream_t) = nullptr;
  void (*destroy_)(void*) = nullptr;
  std::vector<uint64_t> words_;
  void* solution_ = nullptr;
};

}  // namespace fb::rank
