#include "virtual_node/machine/libraries/verbs/event_pipes.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace fb::machine {

bool EventPipes::has_too_many(uint32_t process) const {
  constexpr size_t kMostPipes = 256;
  const auto mine = std::ranges::count_if(pipes_, [&](const auto& e) { return e.second.process == process; });
  return static_cast<size_t>(mine) >= kMostPipes;
}

int EventPipes::make(uint32_t process, uint32_t card, uint64_t context, uint64_t& id, UniqueFd& reader) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  reader = UniqueFd(ends[0]);
  UniqueFd writer(ends[1]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  id = next_++;
  pipes_[id] = {.process = process, .card = card, .context = context, .writer = std::move(writer)};
  return 0;
}

int EventPipes::end(uint32_t process, uint64_t id) {
  const Pipe* const pipe = find(process, id);
  if (!pipe) return EINVAL;
  if (pipe->users != 0) return EBUSY;
  pipes_.erase(id);
  return 0;
}

void EventPipes::remove_process(uint32_t process) {
  std::erase_if(pipes_, [&](const auto& entry) { return entry.second.process == process; });
}

EventPipes::Pipe* EventPipes::find(uint32_t process, uint64_t id) {
  const auto found = pipes_.find(id);
  return found == pipes_.end() || found->second.process != process ? nullptr : &found->second;
}

EventPipes::Pipe* EventPipes::find_context(uint32_t process, uint64_t id) {
  Pipe* const pipe = find(process, id);
  return pipe && pipe->context == 0 ? pipe : nullptr;
}

uint64_t EventPipes::used_channel(uint32_t process) const {
  uint64_t channel = 0;
  for (const auto& [id, pipe] : pipes_) {
    if (pipe.process == process && pipe.context != 0 && pipe.users != 0) channel = id;
  }
  return channel;
}

bool EventPipes::write(uint64_t id, const wire::VerbsEvent& event) const {
  const auto found = pipes_.find(id);
  // A full pipe holds thousands of events that were not read; further ones are lost, as in a real queue of events.
  return found != pipes_.end() && ::write(found->second.writer.get(), &event, sizeof event) == sizeof event;
}

std::optional<int> EventPipes::unread(uint32_t process, uint64_t id) const {
  const auto found = pipes_.find(id);
  if (found == pipes_.end() || found->second.process != process) return std::nullopt;
  int unread = 0;
  if (::ioctl(found->second.writer.get(), FIONREAD, &unread) != 0) return std::nullopt;
  return unread;
}

}  // namespace fb::machine
