#include "campaign/llm/data_files.h"

#include "common/base/installed.h"

namespace fb::llm {

Result<std::string> find_data_file(const std::string& name) {
  const auto folder = locate({.variable = "FABRICBENCH_DATA",
                              .name = "data",
                              .source = FB_SOURCE_DATA,
                              .sign = name.c_str(),
                              .kind = "folder of data",
                              .them = "the tables of providers and prices"});
  if (!folder) return std::unexpected(folder.error());
  return *folder + "/" + name;
}

}  // namespace fb::llm
