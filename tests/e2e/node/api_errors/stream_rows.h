// Streams, events, host functions.
#pragma once
#include "row.h"

inline Rows stream_rows() {
  return {
      {"cudaStreamCreate into null", []() -> Code { return cudaStreamCreate(nullptr); }, 1},
      {"cudaStreamCreateWithFlags with unknown flags",
       []() -> Code {
         cudaStream_t stream = nullptr;
         return cudaStreamCreateWithFlags(&stream, 0x80);
       },
       1},
      {"an attribute of a stream is what was set",
       []() -> Code {
         cudaStream_t stream = nullptr;
         cudaStreamCreate(&stream);
         cudaStreamAttrValue window{}, told{};
         window.accessPolicyWindow.num_bytes = 4096;
         window.accessPolicyWindow.hitRatio = 0.5f;
         const cudaError_t set = cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
         if (set != cudaSuccess) return set;
         const cudaError_t got = cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &told);
         return told.accessPolicyWindow.num_bytes == 4096 ? got : kNotApplicable;
       },
       0},
      {"cudaStreamSetAttribute with a ratio above one",
       []() -> Code {
         cudaStreamAttrValue window{};
         window.accessPolicyWindow.hitRatio = 2;
         return cudaStreamSetAttribute(nullptr, cudaStreamAttributeAccessPolicyWindow, &window);
       },
       1},
      {"cudaStreamSetAttribute of what no stream has",
       []() -> Code {
         cudaStreamAttrValue value{};
         return cudaStreamSetAttribute(nullptr, cudaLaunchAttributeCooperative, &value);
       },
       1},
      {"cudaStreamDestroy of null", []() -> Code { return cudaStreamDestroy(nullptr); }, 400},
      {"cudaStreamSynchronize of a destroyed stream",
       []() -> Code {
         cudaStream_t stream = nullptr;
         cudaStreamCreate(&stream);
         cudaStreamDestroy(stream);
         return cudaStreamSynchronize(stream);
       },
       400, 709},
      {"cudaStreamQuery of a busy stream",
       []() -> Code {
         const BusyStream busy;
         return cudaStreamQuery(busy.stream);
       },
       600},
      {"cudaEventCreateWithFlags with unknown flags",
       []() -> Code {
         cudaEvent_t event = nullptr;
         return cudaEventCreateWithFlags(&event, 0x80);
       },
       1},
      {"an event for other processes that measures time",
       []() -> Code {
         cudaEvent_t event = nullptr;
         return cudaEventCreateWithFlags(&event, cudaEventInterprocess);
       },
       1},
      {"cudaIpcGetEventHandle of an event not made for it",
       []() -> Code {
         const Event event(cudaEventDisableTiming);
         cudaIpcEventHandle_t handle;
         return cudaIpcGetEventHandle(&handle, event);
       },
       400, 1},
      {"cudaEventRecord of null", []() -> Code { return cudaEventRecord(nullptr, nullptr); }, 400},
      {"cudaEventQuery of null", []() -> Code { return cudaEventQuery(nullptr); }, 400},
      {"cudaEventDestroy of null", []() -> Code { return cudaEventDestroy(nullptr); }, 400},
      {"cudaEventSynchronize of a destroyed event",
       []() -> Code {
         cudaEvent_t event = nullptr;
         cudaEventCreate(&event);
         cudaEventDestroy(event);
         return cudaEventSynchronize(event);
       },
       400, 709},
      {"cudaEventQuery before it has happened",
       []() -> Code {
         const Event event;
         const BusyStream busy;
         cudaEventRecord(event, busy.stream);
         return cudaEventQuery(event);
       },
       600},
      {"cudaEventElapsedTime of events never recorded",
       []() -> Code {
         const Event begin, end;
         float time = 0;
         return cudaEventElapsedTime(&time, begin, end);
       },
       400},
      {"cudaEventElapsedTime of events without timing",
       []() -> Code {
         const Event begin(cudaEventDisableTiming), end(cudaEventDisableTiming);
         float time = 0;
         cudaEventRecord(begin);
         cudaEventRecord(end);
         cudaDeviceSynchronize();
         return cudaEventElapsedTime(&time, begin, end);
       },
       400},
      {"cudaEventElapsedTime before the end",
       []() -> Code {
         const Event begin, end;
         float time = 0;
         const BusyStream busy;
         cudaEventRecord(begin, busy.stream);
         cudaEventRecord(end, busy.stream);
         return cudaEventElapsedTime(&time, begin, end);
       },
       600},
      {"cudaEventRecord on another device's stream",
       []() -> Code {
         if (device_count() < 2) return kNotApplicable;
         const Event event;
         cudaSetDevice(1);
         const Stream stream;
         return cudaEventRecord(event, stream);
       },
       400},
      {"cudaStreamWaitEvent for null",
       []() -> Code {
         const Stream stream;
         return cudaStreamWaitEvent(stream, nullptr, 0);
       },
       400},
      {"cudaLaunchHostFunc of null",
       []() -> Code {
         const Stream stream;
         return cudaLaunchHostFunc(stream, nullptr, nullptr);
       },
       1},
  };
}
