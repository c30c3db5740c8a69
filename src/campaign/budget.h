#pragma once

// Limits on the calls of a campaign: how many at once, how many a minute, and how much they may cost.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace fb::campaign {

struct BudgetLimits {
  size_t calls = 4;  // at once
  std::optional<double> calls_per_minute = {};
  std::optional<double> max_usd = {};  // of all calls of the run, those of earlier processes included
};

// Counts the cost of ended calls and reserves the most that running calls may cost; the sum never exceeds the limit.
class Budget {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Decision : uint8_t {
    allowed,
    wait,       // running calls may cost less than reserved
    exhausted,  // no running call could change that
  };

  explicit Budget(const BudgetLimits& limits) : limits_(limits) {}

  // Whether one more call may begin besides `running` others, whatever it costs.
  bool has_slot(size_t running, Clock::time_point now) const { return running < limits_.calls && now >= next_call_; }
  bool limits_cost() const { return limits_.max_usd.has_value(); }
  Decision decide(double most_usd, size_t running) const;

  // A call begins that may cost `most_usd`; ends() takes the same amount. Its actual cost goes to
  // spend().
  void begins(double most_usd, Clock::time_point now);
  void ends(double most_usd) { reserved_ -= most_usd; }
  void spend(double usd) { spent_ += usd; }

  double spent() const { return spent_; }
  const BudgetLimits& limits() const { return limits_; }

 private:
  BudgetLimits limits_;
  double spent_ = 0, reserved_ = 0;  // USD
  Clock::time_point next_call_ = {};
};

}  // namespace fb::campaign
