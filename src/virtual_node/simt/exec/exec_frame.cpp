#include "virtual_node/simt/exec/exec_frame.h"

#include <cstring>

#include "virtual_node/simt/mask.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

const Inst* exec_local_address(Warp& w, const Inst& i) {
  const uint64_t address = w.split().local + static_cast<uint64_t>(i.imm);
  each_lane(w.exec, [&](uint32_t lane) {
    if (i.width[0] == 8) {
      w.row<uint64_t>(i.op[0])[lane] = address;
    } else {
      w.row<uint32_t>(i.op[0])[lane] = static_cast<uint32_t>(address);
    }
  });
  return &i + 1;
}

const Inst* exec_keep_param(Warp& w, const Inst& i) {
  const uint64_t offset = w.split().local + static_cast<uint64_t>(i.imm);
  each_lane(w.exec, [&](uint32_t lane) {
    std::memcpy(w.local(lane) + offset, w.row<std::byte>(i.op[0]) + size_t{lane} * i.aux, i.aux);
  });
  return &i + 1;
}

const Inst* exec_add_offset(Warp& w, const Inst& i) {
  each_lane(w.exec, [&](uint32_t lane) {
    if (i.width[0] == 8) {
      w.row<uint64_t>(i.op[0])[lane] = w.src<uint64_t>(i.op[1])[lane] + static_cast<uint64_t>(i.imm);
    } else {
      w.row<uint32_t>(i.op[0])[lane] = w.src<uint32_t>(i.op[1])[lane] + static_cast<uint32_t>(i.imm);
    }
  });
  return &i + 1;
}

}  // namespace fb::simt
