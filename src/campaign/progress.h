#pragma once

// What a campaign tells those who watch it.

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "record/attempt.h"

namespace fb::campaign {

struct Status {
  size_t samples = 0;             // all of the plan
  size_t done = 0;                // with those of former lives
  size_t done_before = 0;         // of former lives
  size_t passed = 0;              // of those done
  size_t stuck = 0;               // left for another time
  size_t calls = 0, judging = 0;  // under way
  double usd = 0;                 // spent on this run, by all lives, as far as prices are known
  std::chrono::steady_clock::duration elapsed = {};
  std::vector<std::string> now = {};  // what is under way
};

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void began(const Status& status) = 0;
  // A round is done.
  virtual void attempted(const record::Attempt& attempt, const Status& status) = 0;
  // Something people should know: a call that failed, a judgement that could not be made.
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
