#include "ranks/shim/cuda/core/thread_state.h"

#include <pthread.h>

namespace fb::shim {
namespace {

// Plain, so that calls from other objects' destructors still find it.
thread_local ThreadState* current = nullptr;

pthread_key_t key() {
  static const pthread_key_t made = [] {
    pthread_key_t k{};
    pthread_key_create(&k, [](void* state) {
      current = nullptr;
      delete static_cast<ThreadState*>(state);
    });
    return k;
  }();
  return made;
}

}  // namespace

ThreadState& thread() {
  if (!current) [[unlikely]] {
    current = new ThreadState;
    pthread_setspecific(key(), current);
  }
  return *current;
}

}  // namespace fb::shim
