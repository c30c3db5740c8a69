#pragma once

// A judge without a problem: starts the machine and ranks with the test's candidate, and drives them.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/wire/judge_link.h"
#include "launcher/launch.h"

namespace fb {

inline constexpr uint32_t kPoison = 0xDEADBEEF;

// As in candidate.cu.
enum What : uint64_t {
  kGather,
  kThrowInRun,
  kThrowInSetUp,
  kExit,
  kExchangeInRun,
  kLonelySignal,
  kLonelyGather,
  kWorkLater,
  kFault,
  kFreeInput,
  kShare,
  kFork,
};

class JudgedRun {
 public:
  explicit JudgedRun(uint32_t ranks, uint64_t seed = 0, bool confined = false);
  ~JudgedRun();
  JudgedRun(const JudgedRun&) = delete;
  JudgedRun& operator=(const JudgedRun&) = delete;

  // Tensors of `n` words on each rank, and an instance. False: the machine has ended.
  bool construct(What what, uint32_t n);
  // `calls` calls with fresh inputs. The result is empty when the machine has ended.
  std::vector<wire::StepResult> run(uint32_t calls);
  bool destroy();
  // Everything ends: what is known of it.
  launcher::LaunchResult finish();

  // Contents of rank r's tensors in a call of the last run; outputs as they were taken.
  uint32_t input(uint32_t rank, uint32_t call, uint32_t k) const;
  const uint32_t* output(uint32_t rank, uint32_t call) const;
  // Whether every rank has gathered every rank's inputs in this call.
  testing::AssertionResult is_gathered(uint32_t call) const;

  wire::JudgeLink& link() { return *link_; }

 private:
  uint64_t input_offset(uint32_t rank, uint32_t call) const;
  uint64_t output_offset(uint32_t rank, uint32_t call) const;
  uint64_t poison_offset() const;

  uint32_t ranks_, n_ = 0, calls_ = 0, made_ = 0;
  std::vector<uint64_t> in_, out_;
  UniqueFd arena_file_;
  uint32_t* arena_ = nullptr;
  std::unique_ptr<launcher::RunDirectory> directory_;
  std::unique_ptr<wire::JudgeLink> link_;
  launcher::LaunchResult result_;
  std::string problem_;
  std::thread launcher_;
};

}  // namespace fb
