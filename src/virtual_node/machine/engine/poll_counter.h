#pragma once

// How long nothing but polls has happened (virtual_node/simt/poll.h), in instructions: those of warps that poll, and so
// many for a question of a host. `warps`: those that are resident.

#include <cstdint>

namespace fb::machine {

class PollCounter {
 public:
  // Something else than polling has happened, or is about to.
  void note_progress() {
    alone_ = vain_ = 0;
    next_report_ = kFirstReport;
  }
  // `stirred`: shared memory has shown the warp something new.
  void note_warp(uint64_t executed, bool stirred) {
    polled_ += executed;
    alone_ += executed;
    vain_ = stirred ? 0 : vain_ + executed;
  }
  // A host has asked whether work has ended.
  void note_host();
  // Time has passed for those that poll. They do not have to prove again how long they can poll.
  void note_time(uint64_t warps);

  uint64_t polled() const { return polled_; }
  // True from time to time, while all that runs are polls. Not before it is due.
  bool take_report(uint64_t warps);
  bool is_report_due() const { return alone_ >= next_report_; }
  // Every warp has polled for so long, and nothing else has happened, that nothing can end it but a counter or time.
  bool in_vain(uint64_t warps) const;
  // Not before that.
  bool may_be_in_vain() const;
  // Nothing but polls has happened since the last progress.
  bool alone() const;

 private:
  static constexpr uint64_t kFirstReport = 4096;

  uint64_t polled_ = 0;
  uint64_t alone_ = 0;  // since something else was done
  uint64_t vain_ = 0;   // … or shared memory has shown something new
  uint64_t next_report_ = kFirstReport;
};

}  // namespace fb::machine
