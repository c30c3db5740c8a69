#pragma once

// The library shows the names of CUDA's API and nothing else.
#define FB_API extern "C" __attribute__((visibility("default")))
