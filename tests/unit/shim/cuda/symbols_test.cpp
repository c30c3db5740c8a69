// The library exports what the tables say, and nothing else of CUDA's names.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <string>

#include "common/api/rows.h"
#include "common/base/strings.h"

namespace fb {
namespace {

std::set<std::string> exported() {
  const std::string command = "nm -D --defined-only " FB_BINARY_DIR "/lib/fabricbench/libfabricbench_cuda.so";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  size_t got = 0;
  while ((got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) text.append(buffer.data(), got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  std::set<std::string> names;
  for (const std::string_view line : split(text, '\n')) {
    if (line.find(" A ") != std::string_view::npos) continue;  // a version's name
    const auto name = line.substr(line.rfind(' ') + 1);
    if (!name.empty()) names.emplace(name.substr(0, name.find('@')));
  }
  return names;
}

std::set<std::string> in_tables() {
  std::set<std::string> names;
  for (const auto rows : {api::cuda_runtime(), api::cuda_driver()}) {
    for (const api::Row& row : rows) {
      names.emplace(row.name);
      names.emplace(row.symbol);
    }
  }
  for (const auto aliases : {api::cuda_runtime_aliases(), api::cuda_driver_aliases()}) {
    for (const api::Alias& alias : aliases) names.emplace(alias.name);
  }
  return names;
}

TEST(Symbols, EveryRowOfTheTablesIsExported) {
  const auto symbols = exported();
  for (const std::string& name : in_tables()) EXPECT_TRUE(symbols.contains(name)) << name;
}

TEST(Symbols, EveryExportedFunctionHasARow) {
  const auto names = in_tables();
  for (const std::string& symbol : exported()) {
    // What compilers call for kernels and variables is no part of an API, nor is what fabricbench-rank calls.
    if (symbol.starts_with("__cuda") || symbol.starts_with("fabricbench_")) continue;
    // Programs that were compiled with --default-stream per-thread call the same functions by other names.
    const size_t ending = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds") ? 5 : 0;
    EXPECT_TRUE(names.contains(symbol.substr(0, symbol.size() - ending)))
        << symbol << " has a body and no row in src/common/api";
  }
}

}  // namespace
}  // namespace fb
