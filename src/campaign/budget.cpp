#include "campaign/budget.h"

namespace fb::campaign {

Budget::Decision Budget::decide(double most_usd, size_t running) const {
  if (!limits_.max_usd || spent_ + reserved_ + most_usd <= *limits_.max_usd) return Decision::allowed;
  return running > 0 ? Decision::wait : Decision::exhausted;
}

void Budget::begins(double most_usd, Clock::time_point now) {
  reserved_ += most_usd;
  if (!limits_.calls_per_minute) return;
  const std::chrono::duration<double> interval(60.0 / *limits_.calls_per_minute);
  next_call_ = now + std::chrono::duration_cast<Clock::duration>(interval);
}

}  // namespace fb::campaign
