#pragma once

// What libfabricbench_cuda.so does for the other libraries of a rank (ranks/shim/nccl, ranks/shim/cublas,
// ranks/shim/verbs): they take part in the calling thread's conversation with the machine, and put work on streams and
// into graphs. Results are numbers of cudaError_t; 0: done.

#include <stddef.h>
#include <stdint.h>

extern "C" {

// One request, as fb::wire::Channel::call: `kind` is a fb::wire::Kind, and the structs are those of its message.
int fabricbench_request(uint16_t kind, const void* request, size_t request_bytes, void* reply, size_t reply_bytes,
                        const void* blob, size_t blob_bytes);

// The same with a blob (of at most `room` bytes, the rest is dropped) and a descriptor (-1: none) in the reply; both
// may be null.
int fabricbench_ask(uint16_t kind, const void* request, size_t request_bytes, void* reply, size_t reply_bytes,
                    const void* blob, size_t blob_bytes, void* reply_blob, size_t room, int* descriptor);

// Makes memory of the program known to the machine, in place; what is known already stays as it is. Ranges may overlap.
// `token` is to be given back by fabricbench_unshare when the memory is not needed any more.
int fabricbench_share(void* address, size_t bytes, uint64_t* token);
void fabricbench_unshare(uint64_t token);

// The memory of a device that a descriptor of cuMemGetHandleForAddressRange names.
int fabricbench_dma_buffer(int descriptor, uint64_t* address, uint64_t* bytes);

// What a cudaStream_t means to this thread. `captures` is 1 while it captures, and 2 if the capture has failed.
int fabricbench_stream(void* stream, uint64_t* id, uint32_t* device, int* captures);

// A fb::wire::Collective and its blob become a node of the graph that all of `streams` capture.
int fabricbench_capture_collective(void* const* streams, size_t count, const void* request, const void* blob,
                                   size_t blob_bytes);

// Work of a library that could not be put on its stream, for runs that are checked: `where` is the line of the call.
// Others, and contexts that have died before, are not told of it.
void fabricbench_work_failed(const char* what, const char* where);

// A fb::wire::Blas becomes a node of the graph that `stream` captures.
int fabricbench_capture_blas(void* stream, const void* request);
}
