// Faults of kernels: the error stays for the rest of the process.
#pragma once
#include <cassert>

#include "row.h"

__global__ void store(int* to) { *to = 1; }
__global__ void stop() { __trap(); }
__global__ void claim(int value) { assert(value == 1); }

inline int* memory_of_device_1() {
  int* pointer = nullptr;
  cudaSetDevice(1);
  cudaMalloc(&pointer, 4096);
  cudaSetDevice(0);
  return pointer;
}

inline Rows sticky_rows() {
  return {
      {"a kernel that stores to null",
       []() -> Code {
         store<<<1, 1>>>(nullptr);
         return cudaDeviceSynchronize();
       },
       700},
      {"a kernel that stores to a peer without access",
       []() -> Code {
         if (device_count() < 2) return kNotApplicable;
         store<<<1, 1>>>(memory_of_device_1());
         return cudaDeviceSynchronize();
       },
       700},
      {"cudaMalloc after a fault",
       []() -> Code {
         store<<<1, 1>>>(nullptr);
         cudaDeviceSynchronize();
         void* pointer = nullptr;
         return cudaMalloc(&pointer, 4096);
       },
       700},
      {"cudaGetLastError does not clear a fault",
       []() -> Code {
         store<<<1, 1>>>(nullptr);
         cudaDeviceSynchronize();
         cudaGetLastError();
         return cudaDeviceSynchronize();
       },
       700},
      {"a launch after a fault",
       []() -> Code {
         store<<<1, 1>>>(nullptr);
         cudaDeviceSynchronize();
         cudaGetLastError();
         stop<<<1, 1>>>();
         return cudaGetLastError();
       },
       700},
      {"a kernel that stores to a misaligned address",
       []() -> Code {
         const Buffer buffer;
         store<<<1, 1>>>(reinterpret_cast<int*>(buffer.at(2)));
         return cudaDeviceSynchronize();
       },
       716},
      {"a kernel whose assertion fails",
       []() -> Code {
         claim<<<1, 1>>>(2);
         return cudaDeviceSynchronize();
       },
       710},
      {"a kernel that traps",
       []() -> Code {
         stop<<<1, 1>>>();
         return cudaDeviceSynchronize();
       },
       719, 715},
  };
}
