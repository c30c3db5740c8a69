#pragma once

// Begins the body of a function of NCCL. It has two names: the plain one is weak, so that tools can put their own in
// front of it and call the one with the p.
#define FB_NCCL(result, name, ...)                                                                    \
  extern "C" __attribute__((visibility("default"))) result p##name(__VA_ARGS__);                      \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) result name(__VA_ARGS__); \
  result p##name(__VA_ARGS__)
