#include "campaign/llm/retry.h"

#include <gtest/gtest.h>

#include <vector>

namespace fb::llm {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

TEST(Retry, OnlyWhatMayPassIsAskedAgain) {
  for (const int status : {408, 409, 425, 429, 500, 502, 503, 504, 529}) EXPECT_TRUE(is_passing(status)) << status;
  for (const int status : {302, 400, 401, 402, 403, 404, 405, 413, 422}) EXPECT_FALSE(is_passing(status)) << status;
}

TEST(Retry, RetryAfterIsSecondsOrADate) {
  const auto now = *parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_retry_after("120", now), 120s);
  EXPECT_EQ(parse_retry_after(" 0 ", now), 0s);
  EXPECT_EQ(parse_retry_after("1.5", now), 1500ms);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", now), 30s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), 0s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 2094 08:00:00 GMT", now), 10000000s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 4074 08:00:00 GMT", now), std::nullopt);
  EXPECT_EQ(parse_retry_after("-5", now), std::nullopt);
  EXPECT_EQ(parse_retry_after("soon", now), std::nullopt);
  EXPECT_EQ(parse_retry_after("", now), std::nullopt);
  EXPECT_EQ(parse_retry_after("1e300", now), 10000000s);
}

std::vector<milliseconds> waits(uint64_t seed) {
  Backoff backoff(1000ms, 10000ms, seed);
  std::vector<milliseconds> all(6);
  for (milliseconds& wait : all) wait = backoff.wait({});
  return all;
}

TEST(Retry, WaitsGrowWithJitterAndAreTheSameForTheSameSeed) {
  const std::vector<milliseconds> bases = {1000ms, 2000ms, 4000ms, 8000ms, 10000ms, 10000ms};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto all = waits(seed);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_GE(all[i], bases[i] / 2);
      EXPECT_LE(all[i], bases[i]);
    }
    EXPECT_EQ(all, waits(seed));
  }
  EXPECT_NE(waits(1), waits(2));
}

TEST(Retry, WhatTheServerAsksForIsNeverUndercut) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Backoff backoff(100ms, 1000ms, seed);
    const milliseconds wait = backoff.wait(60s);
    EXPECT_GE(wait, 60s);
    EXPECT_LE(wait, 66s);
    EXPECT_LE(backoff.wait(0ms), 200ms);
  }
}

}  // namespace
}  // namespace fb::llm
