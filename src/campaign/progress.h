#pragma once

// The progress of a campaign on the terminal.

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/record/attempt.h"

namespace fb::campaign {

struct Status {
  size_t samples = 0;             // all of the plan
  size_t done = 0;                // including those of earlier processes
  size_t done_before = 0;         // by earlier processes
  size_t passed = 0;              // of those done
  size_t stuck = 0;               // not finished, to be retried by a later run
  size_t calls = 0, judging = 0;  // in progress
  double usd = 0;                 // spent on this run by all processes, where prices are known
  size_t unpriced = 0;            // calls of paid models whose price is not known
  std::chrono::steady_clock::duration elapsed = {};
  std::vector<std::string> now = {};  // calls and judgements in progress
};

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void began(const Status& status) = 0;
  // A round is done.
  virtual void attempted(const record::Attempt& attempt, const Status& status) = 0;
  // A message for the user: a failed call, a failed judgement.
  virtual void note(const std::string& text) = 0;
  // Called several times a second.
  virtual void looked(const Status& status) = 0;
  virtual void ended(const Status& status) = 0;
};

// A view that is redrawn on a terminal, plain lines elsewhere.
std::unique_ptr<Progress> make_progress(std::FILE* out);
std::unique_ptr<Progress> plain_progress(std::FILE* out);
std::unique_ptr<Progress> live_progress(std::FILE* out, int columns);

// "done 12 of 72 · 9 passed · $1.23 · about 4 min left"
std::string headline(const Status& status);

}  // namespace fb::campaign
