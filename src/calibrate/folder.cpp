#include "calibrate/folder.h"

#include "base/installed.h"

namespace fb::calibrate {

Result<std::string> find_folder() {
  constexpr SharedFolder kFolder{.variable = "FABRICBENCH_CALIBRATION",
                                 .name = "calibration",
                                 .source = FB_SOURCE_CALIBRATION,
                                 .sign = "curves.toml",
                                 .kind = "folder of measured curves",
                                 .them = "the measured curves"};
  return locate(kFolder);
}

}  // namespace fb::calibrate
