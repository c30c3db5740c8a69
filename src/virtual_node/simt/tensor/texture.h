#pragma once

// Texture and surface instructions of a warp: descriptors, texels, reports to listeners.

#include "virtual_node/simt/warp.h"

namespace fb::simt {

// Each returns the next instruction. What is to be done is read from the instruction as it was parsed.
const Inst* read_texture(Warp& w, const Inst& i);   // tex, tex.level, tex.grad
const Inst* gather_texels(Warp& w, const Inst& i);  // tld4
const Inst* load_surface(Warp& w, const Inst& i);   // suld.b
const Inst* store_surface(Warp& w, const Inst& i);  // sust.b
const Inst* query_texture(Warp& w, const Inst& i);  // txq, suq

}  // namespace fb::simt
