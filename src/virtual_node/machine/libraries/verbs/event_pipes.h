#pragma once

// Pipes into processes, through which they read events of cards: one for each context that a process has opened, and
// one for each completion channel.

#include <cstdint>
#include <map>
#include <optional>

#include "common/base/unique_fd.h"
#include "common/wire/verbs_messages.h"

namespace fb::machine {

class EventPipes {
 public:
  struct Pipe {
    uint32_t process = 0;
    uint32_t card = 0;
    uint64_t context = 0;  // of a channel
    uint32_t users = 0;
    UniqueFd writer;
  };

  bool has_too_many(uint32_t process) const;
  // Numbers of errno, 0: done. `reader`: the process's end. `context`: of a channel; 0: it is one.
  int make(uint32_t process, uint32_t card, uint64_t context, uint64_t& id, UniqueFd& reader);
  // EBUSY while completion queues use it.
  int end(uint32_t process, uint64_t id);
  void remove_process(uint32_t process);

  // Null: the process has none of that id.
  Pipe* find(uint32_t process, uint64_t id);
  Pipe* find_context(uint32_t process, uint64_t id);
  // The latest one that completion queues use; 0: there is none.
  uint64_t used_channel(uint32_t process) const;

  // False: there is no such pipe, or it is full of events that were not read, and this one is lost.
  bool write(uint64_t id, const wire::VerbsEvent& event) const;
  // Bytes; nothing where the process has no such pipe.
  std::optional<int> unread(uint32_t process, uint64_t id) const;

 private:
  std::map<uint64_t, Pipe> pipes_;
  uint64_t next_ = 1;
};

}  // namespace fb::machine
