#pragma once

#include <cstddef>

namespace fb {

// How many requests this process has sent to machines so far, but for notes: of mistakes, and that the library itself
// is at work. A program that is linked with requests.cpp counts what its libraries hand to sendmsg; requests of more
// than a kilobyte come in pieces, which count.
size_t requests_sent();

// A value that the enumeration does not have.
template <class Enumeration>
Enumeration no_such(int value) {
  return static_cast<Enumeration>(value);
}

}  // namespace fb

// The call's result, and that no machine was asked for it.
#define EXPECT_LOCAL(call, expected)                                              \
  do {                                                                            \
    const size_t sent_before = fb::requests_sent();                               \
    EXPECT_EQ(call, expected);                                                    \
    EXPECT_EQ(fb::requests_sent(), sent_before) << #call << " asked the machine"; \
  } while (false)
