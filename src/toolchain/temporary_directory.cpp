#include "toolchain/temporary_directory.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace fb::toolchain {

TemporaryDirectory::TemporaryDirectory()
    : path_((std::filesystem::temp_directory_path() / "fabricbench.XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot create a temporary folder like " + path_);
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fb::toolchain
