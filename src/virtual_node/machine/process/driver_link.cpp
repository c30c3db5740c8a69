#include "virtual_node/machine/process/driver_link.h"

#include <stdexcept>

#include "common/base/strings.h"
#include "common/ptx/link/link.h"
#include "common/ptx/parse/parser.h"
#include "virtual_node/simt/lower/join_loads.h"

namespace fb::machine {
namespace {

ptx::Module parse_or_throw(const std::string& text, const std::string& name) {
  auto parsed = ptx::parse(text);
  if (!parsed) throw std::runtime_error(to_string(parsed.error(), name));
  return std::move(*parsed);
}

}  // namespace

DriverLink read_driver_link(const std::string& folder, bool join_loads) {
  DriverLink link;
  if (folder.empty()) return link;
  link.candidate = read_file(folder + "/candidate.ptx");
  link.driver = read_file(folder + "/driver.ptx");
  auto linked = ptx::link(parse_or_throw(link.candidate, "candidate.ptx"), parse_or_throw(link.driver, "driver.ptx"));
  if (!linked) throw std::runtime_error(to_string(linked.error(), "candidate.ptx"));
  if (join_loads) simt::join_shared_loads(*linked);
  link.module = std::make_shared<const ptx::Module>(std::move(*linked));
  return link;
}

}  // namespace fb::machine
