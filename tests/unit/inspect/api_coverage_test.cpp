#include "audit/inspect/api_coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "common/api/rows.h"

namespace fb::inspect {
namespace {

TEST(ApiCoverage, TheHundredMostUsedCallsAreReal) {
  const ApiCoverage c = measure_api_coverage();
  ASSERT_GE(c.calls.size(), 100u);
  for (size_t k = 0; k < 100; ++k) EXPECT_TRUE(c.calls[k].real) << c.calls[k].name;
}

TEST(ApiCoverage, EveryHostCallOfTheKeptListIsInATable) {
  std::set<std::string_view> names;
  for (const auto& rows : {api::cuda_runtime(), api::cuda_driver()}) {
    for (const api::Row& row : rows) names.insert({row.name, row.symbol});
  }
  for (const auto& aliases : {api::cuda_runtime_aliases(), api::cuda_driver_aliases()}) {
    for (const api::Alias& alias : aliases) names.insert(alias.name);
  }
  for (const ApiCall& call : measure_api_coverage().calls) {
    EXPECT_TRUE(call.where != "host" || names.contains(call.name)) << call.name;
  }
}

TEST(ApiCoverage, EveryNameIsInATableOnce) {
  std::set<std::string_view> seen;
  for (const auto& rows :
       {api::cuda_runtime(), api::cuda_driver(), api::nvml(), api::nccl(), api::cublas(), api::cublaslt()}) {
    for (const api::Row& row : rows) {
      EXPECT_TRUE(seen.insert(row.name).second) << row.name;
      EXPECT_TRUE(row.symbol == row.name || seen.insert(row.symbol).second) << row.symbol;
    }
  }
}

TEST(ApiCoverage, CountsCallsUnderOlderSpellings) {
  // cuStreamWaitValue32 and its symbol cuStreamWaitValue32_v2 are both called in real code.
  const ApiCoverage c = measure_api_coverage();
  const auto api = std::ranges::find(c.apis, "cuda_driver", &Api::key);
  ASSERT_NE(api, c.apis.end());
  const auto& driver = api->functions;
  const auto found = std::ranges::find(driver, "cuStreamWaitValue32", &ApiFunction::name);
  ASSERT_NE(found, driver.end());
  EXPECT_EQ(found->calls, 4u);
}

}  // namespace
}  // namespace fb::inspect
