#include "audit/calibrate/folder.h"

#include "common/base/installed.h"

namespace fb::calibrate {

Result<std::string> find_folder() {
  constexpr SharedFolder kFolder{.variable = "FABRICBENCH_CALIBRATION",
                                 .name = "platforms/calibration",
                                 .source = FB_SOURCE_CALIBRATION,
                                 .sign = "curves.toml",
                                 .kind = "folder of measured curves",
                                 .them = "the measured curves"};
  return locate(kFolder);
}

}  // namespace fb::calibrate
