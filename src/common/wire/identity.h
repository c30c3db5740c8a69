#pragma once

#include "common/wire/messages.h"

namespace fb::wire {

// The first message of a connection of the calling thread: rank and node as the launcher's variables name them.
Hello hello_of_this_thread();

}  // namespace fb::wire
