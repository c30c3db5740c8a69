#pragma once

// Before the definition of a function that programs call.
#define FB_API extern "C" __attribute__((visibility("default")))
#define FB_CALLER __builtin_return_address(0)
