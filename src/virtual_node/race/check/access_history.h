#pragma once

// Every access to one byte, for `exec --why`.

#include <cstdint>
#include <string>
#include <vector>

#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/clocks/options.h"
#include "virtual_node/race/report/report_names.h"
#include "virtual_node/race/shadow/shadow.h"

namespace fb::race {

class AccessHistory {
 public:
  AccessHistory(const Options& options, const ReportNames& names);

  bool watches(const Shadow& shadow) const { return shadow_ != 0 && shadow.number() == shadow_; }
  void note(const AccessContext& access, const LineRef& at, uint32_t begin, uint32_t end);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const ReportNames& names_;
  uint32_t shadow_ = 0;  // 0: none
  uint64_t offset_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace fb::race
