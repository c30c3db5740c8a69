// Textures and surfaces. Texels are found and combined lane by lane (virtual_node/simt/tensor/texture.cpp), the same
// for all SIMD targets.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_texture.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/exec/lanes.h"
#include "virtual_node/simt/tensor/texture.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

FB_EXEC(tex) { return &read_texture; }
FB_EXEC(tex_level) { return &read_texture; }
FB_EXEC(tex_grad) { return &read_texture; }
FB_EXEC(tld4) { return &gather_texels; }
FB_EXEC(txq) { return &query_texture; }
FB_EXEC(suld) { return &load_surface; }
FB_EXEC(sust) { return &store_surface; }
FB_EXEC(suq) { return &query_texture; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
