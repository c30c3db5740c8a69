#include "virtual_node/machine/engine/schedule/chosen_policy.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fb::machine {

ChosenPolicy::ChosenPolicy(const std::vector<uint32_t>& choices, SyncSteps& steps) : choices_(choices), steps_(steps) {
  steps_.stop_at_each();
}

void ChosenPolicy::remove(const simt::Grid& grid) {
  if (current_ && &current_->block().grid() == &grid) current_ = nullptr;
  ready_.remove(grid);
}

void ChosenPolicy::add(TimedEvent event) {
  switch (event.about.kind) {
    case EventAbout::Kind::bookkeeping:
      return bookkeeping_.push(std::move(event));
    case EventAbout::Kind::memory:
      return memory_.push(std::move(event));
    case EventAbout::Kind::poll:
      return polls_.push(std::move(event));
  }
}

bool ChosenPolicy::step(EngineSteps& engine) {
  engine.poll_clock_readers();
  engine.start_all_blocks();
  if (!bookkeeping_.empty()) {
    engine.fire(bookkeeping_.pop());
    return true;
  }
  if (!polls_.empty() && polls_.front().at <= engine.now()) {
    engine.fire(polls_.pop());
    return true;
  }
  if (current_ && !at_choice_) {
    ready_.take(*current_);
    engine.run_quantum(*current_);
    return true;
  }
  if (choose_next(engine)) return true;
  if (polls_.empty()) return false;
  engine.fire(polls_.pop());
  return true;
}

// The options: first the warp that ran last, where it can go on; then other warps, the next event of each device, the
// oldest copy of each block.
bool ChosenPolicy::choose_next(EngineSteps& engine) {
  const bool goes_on = current_ && quanta_of_current_ < kMostQuantaAlone;
  std::vector<Option> options;
  add_warps(engine, goes_on, options);
  add_events(engine, options);
  add_copies(engine, options);
  if (options.empty() && current_) add_warp(engine, *current_, options);
  if (options.empty()) return false;
  const bool alone = options.size() == 1;
  options[alone ? 0 : choices_.take(static_cast<uint32_t>(options.size()), goes_on)]();
  return true;
}

// By device, grid and block, so that an option's number does not depend on the order of arrival.
void ChosenPolicy::add_warps(EngineSteps& engine, bool goes_on, std::vector<Option>& options) {
  if (goes_on) add_warp(engine, *current_, options);
  std::vector<simt::Warp*> warps(ready_.begin(), ready_.end());
  std::ranges::sort(warps, {}, [](const simt::Warp* w) {
    const simt::Block& block = w->block();
    return std::tuple(block.device, block.grid().id, block.index(), w->index());
  });
  for (simt::Warp* warp : warps) {
    if (warp != current_) add_warp(engine, *warp, options);
  }
}

void ChosenPolicy::add_warp(EngineSteps& engine, simt::Warp& warp, std::vector<Option>& options) {
  options.emplace_back([this, &engine, &warp] {
    if (&warp != current_) steps_.forget_poll();
    if (&warp != current_ || quanta_of_current_ >= kMostQuantaAlone) quanta_of_current_ = 0;
    current_ = &warp;
    ready_.take(warp);
    engine.run_quantum(warp);
  });
}

void ChosenPolicy::add_events(EngineSteps& engine, std::vector<Option>& options) {
  const auto events = memory_.sorted();
  std::vector<uint32_t> devices;
  for (size_t k = 0; k < events.size(); ++k) {
    const uint32_t device = events[k].about.device;
    if (std::ranges::find(devices, device) != devices.end()) continue;
    devices.push_back(device);
    options.emplace_back([this, &engine, k] {
      steps_.forget_poll();
      engine.fire(memory_.take(k));
    });
  }
}

void ChosenPolicy::add_copies(EngineSteps& engine, std::vector<Option>& options) {
  const auto& copies = engine.copies();
  std::vector<const simt::Block*> issuers;
  for (size_t k = 0; k < copies.size(); ++k) {
    if (std::ranges::find(issuers, copies[k]->block) != issuers.end()) continue;
    issuers.push_back(copies[k]->block);
    options.emplace_back([this, &engine, k] {
      steps_.forget_poll();
      engine.perform_copy(k);
    });
  }
}

void ChosenPolicy::on_quantum_end(const simt::Warp& warp, uint64_t /*executed*/, simt::Stop stop) {
  const bool at_step = steps_.take_due();
  if (stop != simt::Stop::quantum) {
    current_ = nullptr;
    at_choice_ = true;
    return;
  }
  ++quanta_of_current_;
  // A warp that stops at a step at which it must wait is run once more, to find that out.
  const bool can_run =
      std::ranges::any_of(warp.splits(), [](const simt::Split& s) { return s.state == simt::SplitState::ready; });
  at_choice_ = (at_step && can_run) || quanta_of_current_ >= kMostQuantaAlone;
}

}  // namespace fb::machine
