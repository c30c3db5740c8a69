#include "virtual_node/simt/lower/tear.h"

#include <algorithm>

#include "common/ptx/form_table.h"

namespace fb::simt {
namespace {

constexpr uint32_t kPieceBytes = 8;

bool may_be_shared_with_others(const ptx::Instruction& inst) {
  return inst.spaces.empty() || inst.spaces.front() == ptx::Space::global || inst.spaces.front() == ptx::Space::generic;
}

void set(ptx::Instruction& inst, ptx::Mod mod, bool value) { inst.mods[static_cast<size_t>(mod)] = value; }

}  // namespace

std::vector<ptx::Instruction> tear_store(const ptx::Instruction& inst, Tear tear) {
  using ptx::Mod;
  if (tear == Tear::no) return {};
  if (inst.form != ptx::Form::st || !may_be_shared_with_others(inst)) return {};
  if (inst.operands.size() < 2 || inst.operands[1].kind != ptx::OperandKind::vector) return {};
  const auto& elements = inst.operands[1].elements;
  const uint32_t bytes = ptx::bits_of(inst.type()) / 8;
  if (bytes == 0 || bytes > kPieceBytes || elements.size() * bytes <= kPieceBytes) return {};
  const size_t together = kPieceBytes / bytes;
  std::vector<ptx::Instruction> pieces;
  for (size_t k = 0; k < elements.size(); k += together) {
    ptx::Instruction& piece = pieces.emplace_back(inst);
    for (const Mod mod : {Mod::v2, Mod::v4, Mod::v8}) set(piece, mod, false);
    if (together == 2) set(piece, Mod::v2, true);
    if (together == 4) set(piece, Mod::v4, true);
    if (together == 8) set(piece, Mod::v8, true);
    piece.operands[0].bits += k * bytes;
    if (together == 1) {
      piece.operands[1] = elements[k];
    } else {
      piece.operands[1].elements.assign(elements.begin() + static_cast<std::ptrdiff_t>(k),
                                        elements.begin() + static_cast<std::ptrdiff_t>(k + together));
    }
  }
  if (tear == Tear::high_piece_first) std::ranges::reverse(pieces);
  return pieces;
}

}  // namespace fb::simt
