#pragma once

// What a rank's process asks of the machine while a judge drives it (common/wire/harness.h), for a program that knows
// nothing else of the library. The calling thread's own connection is used, as by every call of CUDA.

#include <stddef.h>
#include <stdint.h>

// fb::wire::StepKind.
enum FabricbenchStep : uint32_t {
  FABRICBENCH_STEP_CONSTRUCT = 1,
  FABRICBENCH_STEP_RUN,
  FABRICBENCH_STEP_DESTROY,
  FABRICBENCH_STEP_LEAVE,
};

extern "C" {

// Says that the step before is done and waits for the next one. `failed` is 1 if an exception was thrown, 2 if it was
// std::bad_alloc, else 0; `text` is its text. The stream is the one that run() was given. `kind` is a
// FabricbenchStep. Words of construct that do not fit are left out of `words`, and counted. 0: there is a step; else
// the machine has gone or did not accept it.
int fabricbench_step_next(void* stream, int failed, const char* text, uint32_t* kind, uint32_t* call, uint64_t* words,
                          size_t most_words, size_t* words_got);

// `bytes` of each rank, in the order of ranks; `all_bytes` is as many times `bytes` as there are ranks. 0: done, 1: not
// permitted now, 2: ranks do not agree, or the machine has gone.
int fabricbench_exchange(const void* mine, size_t bytes, void* all, size_t all_bytes);

// `root` gives a descriptor, the others -1; `*shared` is the caller's. Returns as above.
int fabricbench_share_descriptor(int root, int descriptor, int* shared);
}
