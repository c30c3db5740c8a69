#pragma once

namespace fb::shim {

// What declared functions answer: the error that says so, as a number. No header of CUDA here: see declared.cpp.
int answer_runtime(const char* function);
int answer_driver(const char* function);

}  // namespace fb::shim
