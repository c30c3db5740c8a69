#pragma once

// What the front end sees in a PTX file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::inspect {

struct FormUse {
  std::string spelling;  // as executed: "ld.global.v4.f32"
  std::string form;      // row of the form table
  std::string tier;
  uint64_t count = 0;
  bool executes = false;
  uint32_t first_line = 0;
};

struct PtxView {
  std::vector<std::string> kernels;
  std::vector<std::string> device_functions;
  std::vector<std::string> external_functions;  // called and not defined: the machine may supply them
  std::vector<std::string> missing_functions;   // those that the machine does not supply
  uint64_t instructions = 0;
  std::vector<FormUse> forms;  // most used first
};

Result<PtxView> view_ptx(std::string_view text);

std::string to_text(const PtxView& view);
std::string to_json(const PtxView& view);

}  // namespace fb::inspect
