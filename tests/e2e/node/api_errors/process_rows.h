// Memory of another process. Each row runs in a child that has not used CUDA yet, so it may fork.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include "row.h"

// A process that owns device memory and tells its handle; it lives until the end of the scope.
struct Owner {
  Owner() {
    int told[2] = {}, ended[2] = {};
    if (pipe(told) != 0 || pipe(ended) != 0) return;
    process = fork();
    if (process == 0) {
      void* pointer = nullptr;
      cudaIpcMemHandle_t made;
      char byte = 0;
      close(ended[1]);
      cudaMalloc(&pointer, 2 << 20);
      cudaIpcGetMemHandle(&made, pointer);
      (void)!write(told[1], &made, sizeof made);
      (void)!read(ended[0], &byte, 1);  // until the other end closes
      _exit(0);
    }
    close(told[1]);
    close(ended[0]);
    (void)!read(told[0], &handle, sizeof handle);
    close(told[0]);
    until = ended[1];
  }
  ~Owner() {
    close(until);
    waitpid(process, nullptr, 0);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  pid_t process = -1;
  int until = -1;
  cudaIpcMemHandle_t handle{};
};

inline Rows process_rows() {
  return {
      {"an IPC handle opened twice is the same memory",
       []() -> Code {
         const Owner owner;
         void *first = nullptr, *second = nullptr;
         if (const cudaError_t error = cudaIpcOpenMemHandle(&first, owner.handle, 1); error != cudaSuccess)
           return error;
         const cudaError_t error = cudaIpcOpenMemHandle(&second, owner.handle, 1);
         return error == cudaSuccess && first != second ? cudaErrorUnknown : error;
       },
       0},
      {"an IPC handle closed more often than opened",
       []() -> Code {
         const Owner owner;
         void* pointer = nullptr;
         cudaIpcOpenMemHandle(&pointer, owner.handle, cudaIpcMemLazyEnablePeerAccess);
         cudaIpcCloseMemHandle(pointer);
         return cudaIpcCloseMemHandle(pointer);
       },
       1},
      {"cudaFree of another process's memory",
       []() -> Code {
         const Owner owner;
         void* pointer = nullptr;
         cudaIpcOpenMemHandle(&pointer, owner.handle, cudaIpcMemLazyEnablePeerAccess);
         return cudaFree(pointer);
       },
       1},
      {"an IPC handle opened with unknown flags",
       []() -> Code {
         const Owner owner;
         void* pointer = nullptr;
         return cudaIpcOpenMemHandle(&pointer, owner.handle, 0x80);
       },
       1},
  };
}
