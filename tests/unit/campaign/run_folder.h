#pragma once

#include <gtest/gtest.h>

#include <string>

#include "scratch_folder.h"

namespace fb::campaign {

class RunFolder : public testing::Test {
 private:
  ScratchFolder scratch_;

 protected:
  const std::string& folder_ = scratch_.path();
};

}  // namespace fb::campaign
