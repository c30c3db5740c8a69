#pragma once

// Runs judgements on this machine or on a cluster. The director writes a job file; an executor has a worker write the
// verdict file beside it, and reports the end.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "common/record/campaign.h"

namespace fb::campaign {

// A judgement that has ended: its <round>.verdict.json exists, or `failure` says why not.
struct Ended {
  record::RoundId round;
  std::string failure;  // empty: the verdict exists
};

class Executor {
 public:
  virtual ~Executor() = default;
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // How many judgements should be submitted so that no worker is idle.
  virtual size_t appetite() const = 0;
  // The job file of the round exists; its verdict file does not.
  virtual void submit(const record::RoundId& round) = 0;
  // The judgements that have ended since the last call. Does not block. A lost worker is replaced and its job repeated,
  // a few times; then the job ends with a failure.
  virtual std::vector<Ended> collect() = 0;
  // Readable when there may be something to collect.
  virtual std::vector<int> descriptors() const = 0;
  // collect() is due after this time even if no descriptor is readable.
  virtual std::chrono::milliseconds patience() const = 0;
  // Ends all running judgements and leaves no process behind. A later run makes the missing verdicts.
  virtual void stop() = 0;
};

}  // namespace fb::campaign
