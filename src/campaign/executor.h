#pragma once

// Where judgements are made: on this machine, or on a cluster. The director writes a job file, an executor sees to it
// that some worker turns it into a verdict file beside it, and tells.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "record/campaign.h"

namespace fb::campaign {

// A judgement that has ended: either its <round>.verdict.json is there, or it could not be made.
struct Ended {
  record::RoundId round;
  std::string failure;  // empty: the verdict is there
};

class Executor {
 public:
  virtual ~Executor() = default;
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // How many judgements should be under way so that nobody waits for work.
  virtual size_t appetite() const = 0;
  // The job file of the round is there; its verdict file is not.
  virtual void submit(const record::RoundId& round) = 0;
  // What has ended since the last time. Does not wait. A worker that was lost is replaced and its job done again, a few
  // times; then the job ends with a failure.
  virtual std::vector<Ended> collect() = 0;
  // Readable when there may be something to collect.
  virtual std::vector<int> descriptors() const = 0;
  // To be asked again after this time even if no descriptor is readable.
  virtual std::chrono::milliseconds patience() const = 0;
  // Ends what is under way, so that nothing is left behind. Verdicts that are not there will be made at another time.
  virtual void stop() = 0;
};

}  // namespace fb::campaign
