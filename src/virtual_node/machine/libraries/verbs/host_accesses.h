#pragma once

// Accesses of the hosts' own code to registered memory, as the programs report them (wire::VerbsAccess), for the race
// detector. A host is one agent. What it does between two requests is one operation: it begins with what the host
// knows, and the host knows it when it has ended.
//
// Hosts also talk with each other without the machine. Of a program that is observed it is known when: what it knew
// when it may have talked last, another one knows that may have heard something since.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "virtual_node/machine/process/services.h"

namespace fb::machine {

class HostAccesses {
 public:
  // f(memory, bytes) for each piece of a range of a process.
  using Pieces = std::function<bool(uint32_t process, uint64_t address, uint64_t bytes,
                                    const std::function<void(const Bytes&, uint64_t, uint64_t)>& visit)>;
  HostAccesses(ProcessServices& node, Pieces pieces) : node_(node), pieces_(std::move(pieces)) {}

  // Whether they are wanted.
  bool observe(Process& process, const wire::VerbsObserve& request);
  void name_line(const Process& process, const wire::VerbsLine& request);
  // "file.cu:12"; empty: not known.
  std::string line(uint32_t process, uint32_t number) const;
  // What it has told may be heard later.
  void remove_process(uint32_t process);

  // Takes what all processes have reported.
  void take();
  // An atomic access of a process to a word, or a fence.
  void look(const Process& process, const wire::VerbsLook& request);

 private:
  struct Ring {
    Process* process = nullptr;
    wire::VerbsAccess* slots = nullptr;
    std::shared_ptr<mem::Allocation> memory;
    uint64_t count = 0, next = 0;
    std::vector<race::Site> lines;  // by number
    race::ClockRef told;            // what it knew when it may have talked last
    race::ClockRef pending;         // released to relaxed loads, until a fence
    bool is_hidden = false;         // it may talk and hear at any time
  };

  static constexpr uint32_t kMostAtOnce = 1 << 20;  // contacts: a program can't keep the machine busy with them

  void take_accesses(Ring& ring);
  static uint64_t pop(Ring& ring);
  uint32_t begin(Ring& ring);
  void end(Ring& ring, uint32_t operation);
  void hear(const Ring& ring);
  race::Site site_of(const Ring& ring, uint32_t line) const;

  ProcessServices& node_;
  Pieces pieces_;
  std::map<uint32_t, Ring> rings_;  // by process
  race::ClockRef told_by_gone_;     // all that processes knew which have ended
  std::map<uint32_t, std::map<uint32_t, std::string>> lines_;
};

}  // namespace fb::machine
