#pragma once

// Of two processes that have the same user namespace, and no capabilities, one may look at the other in /proc (what
// system call it is in) if it can see its process id. Depends on no other layer, so that small programs can use it.

namespace fb::sandbox {

// The calling process, which must have one thread, gets a user namespace of its own, in which it has all capabilities
// and user and group are what they were. 0, or errno. Calls nothing but the system: may be used after fork.
int enter_user_namespace();

}  // namespace fb::sandbox
