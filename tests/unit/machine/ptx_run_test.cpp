// Every file of tests/unit/machine/ptx, on both engines, under several schedules and on every SIMD target.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "common/base/strings.h"
#include "machine/golden.h"
#include "virtual_node/simt/exec/simd_target.h"

namespace fb::golden {
namespace {

const std::string kFolder = std::string(FB_SOURCE_DIR) + "/tests/unit/machine/ptx/";

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".ptx") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

class PtxRun : public testing::TestWithParam<std::string> {
 protected:
  void check(const Engine& engine) {
    const std::string text = read_file(kFolder + GetParam() + ".ptx");
    const auto runs = read_runs(text);
    ASSERT_FALSE(runs.empty()) << "the file has no `// run:` line";
    for (const GoldenRun& run : runs) {
      EXPECT_EQ(execute(text, run, engine), "") << GetParam() << ".ptx:" << run.line << " " << run.launch.kernel;
    }
  }
};

TEST_P(PtxRun, FastEngine) {
  for (const std::string& target : simt::simd_targets()) {
    ASSERT_TRUE(simt::use_simd_target(target));
    SCOPED_TRACE("SIMD target " + target);
    check({.reference = false, .seed = 0});
  }
  simt::use_simd_target("");
}

TEST_P(PtxRun, FastEngineUnderOtherSchedules) {
  for (uint64_t seed = 1; seed <= 3; ++seed) check({.reference = false, .seed = seed});
}

TEST_P(PtxRun, ReferenceEngine) { check({.reference = true, .seed = 0}); }

INSTANTIATE_TEST_SUITE_P(Golden, PtxRun, testing::ValuesIn(golden_files()),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace fb::golden
