#include "simt/random_instruction.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace fb::random_program {
namespace {

// opcode: {a,b} chooses; $ is one of `types`. Operands: capitals are written.
//   T t  as wide as the type        W w  twice as wide         H h  16 bits   R r  32 bits   L l  64 bits
//   y v z  16, 32, 64 bits, never a literal                    f    an f32
//   P p  predicate                  n    predicate, perhaps !  x    shift amount, position or length
//   8    0 … 255                    everything else stands for itself
struct Pattern {
  const char* opcode;
  const char* operands;
  const char* types = "";
  uint32_t weight = 1;
};

constexpr const char* kInts = "u16 s16 u32 s32 u64 s64";
constexpr const char* kWide = "u32 s32 u64 s64";
constexpr const char* kBits = "b16 b32 b64";

constexpr Pattern kPatterns[] = {
    // Integers.
    {"add.$", "T,t,t", kInts, 2},
    {"sub.$", "T,t,t", kInts, 2},
    {"mul.lo.$", "T,t,t", kInts, 2},
    {"mul.hi.$", "T,t,t", kInts, 2},
    {"mad.lo.$", "T,t,t,t", kInts, 2},
    {"mad.hi.$", "T,t,t,t", kInts},
    {"sad.$", "T,t,t,t", kInts},
    {"{min,max}.$", "T,t,t", kInts, 2},
    {"{add,sub}.sat.s32", "R,r,r"},
    {"mad.hi.sat.s32", "R,r,r,r"},
    {"add.{u16x2,s16x2}", "R,v,v"},
    {"{min,max}.{u16x2,s16x2,relu.s16x2}", "R,v,v"},
    {"{min,max}.relu.s32", "R,r,r"},
    {"mul.wide.$", "W,t,t", "s16 u16 s32 u32", 2},
    {"mad.wide.$", "W,t,t,w", "s16 u16 s32 u32", 2},
    {"mul24.{lo,hi}.{u32,s32}", "R,r,r"},
    {"mad24.{lo,hi}.{u32,s32}", "R,r,r,r"},
    {"mad24.hi.sat.s32", "R,r,r,r"},
    {"{abs,neg}.$", "T,t", "s16 s32 s64"},
    {"{popc,clz}.$", "R,t", "b32 b64"},
    {"bfind{,.shiftamt}.$", "R,t", kWide},
    {"brev.$", "T,t", "b32 b64"},
    {"bfe.$", "T,t,x,x", kWide, 2},
    {"bfi.$", "T,t,t,x,x", "b32 b64", 2},
    {"szext.{clamp,wrap}.{u32,s32}", "R,r,x"},
    {"bmsk.{clamp,wrap}.b32", "R,x,x"},
    {"vabsdiff4.u32.u32.u32.add", "R,v,v,r"},
    {"vabsdiff4.{u32,s32}.s32.s32.add", "R,v,v,r"},
    {"isspacep.{global,local,param,const}", "P,z"},
    {"dp4a.{u32,s32}.{u32,s32}", "R,v,v,r"},
    {"dp2a.{lo,hi}.{u32,s32}.{u32,s32}", "R,v,v,r"},
    // Single and double precision.
    {"{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.$", "T,t,t", "f32", 4},
    {"{add,sub,mul}{,.rn,.rz,.rm,.rp}.$", "T,t,t", "f64", 3},
    {"fma.{rn,rz,rm,rp}{,.ftz}{,.sat}.$", "T,t,t,t", "f32", 3},
    {"{fma,mad}.{rn,rz,rm,rp}.$", "T,t,t,t", "f64", 2},
    {"{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}.f32x2", "L,z,z"},
    {"fma.{rn,rz,rm,rp}{,.ftz}.f32x2", "L,z,z,z"},
    {"{add,sub}{,.rn,.rz,.rm,.rp}{,.sat}.f32.{f16,bf16}", "R,y,f"},
    {"fma.{rn,rz,rm,rp}{,.sat}.f32.{f16,bf16}", "R,y,y,f"},
    {"div.{approx,full}{,.ftz}.$", "T,t,t", "f32"},
    {"div.{rn,rz,rm,rp}{,.ftz}.$", "T,t,t", "f32"},
    {"div.{rn,rz,rm,rp}.$", "T,t,t", "f64"},
    {"{rcp,sqrt}.{rn,rz,rm,rp}{,.ftz}.$", "T,t", "f32"},
    {"{rcp,sqrt}.{rn,rz,rm,rp}.$", "T,t", "f64"},
    {"{rcp,sqrt,rsqrt}.approx{,.ftz}.$", "T,t", "f32"},
    {"{sin,cos}.approx{,.ftz}.$", "T,t", "f32"},
    {"tanh.approx.$", "T,t", "f32"},
    {"{rcp,rsqrt}.approx.ftz.f64", "L,z"},
    {"{abs,neg}{,.ftz}.$", "T,t", "f32"},
    {"{abs,neg}.$", "T,t", "f64"},
    {"{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.$", "T,t,t", "f32", 2},
    {"{min,max}.$", "T,t,t", "f64"},
    {"{min,max}{,.ftz}{,.NaN}{,.abs}.$", "T,t,t,t", "f32"},
    {"testp.{finite,infinite,number,notanumber,normal,subnormal}.$", "P,t", "f32 f64"},
    {"copysign.$", "T,t,t", "f32 f64"},
    // Half precision.
    {"{add,sub,mul}{,.rn}{,.ftz}{,.sat}.$", "T,t,t", "f16 f16x2", 2},
    {"{add,sub,mul}{,.rn}.$", "T,t,t", "bf16 bf16x2", 2},
    {"fma.rn{,.ftz}{,.sat,.relu}.$", "T,t,t,t", "f16 f16x2", 2},
    {"fma.rn{,.relu}.$", "T,t,t,t", "bf16 bf16x2", 2},
    {"{abs,neg}{,.ftz}.$", "T,t", "f16 f16x2"},
    {"{abs,neg}.$", "T,t", "bf16 bf16x2"},
    {"{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.$", "T,t,t", "f16 f16x2"},
    {"{min,max}{,.NaN}{,.xorsign.abs}.$", "T,t,t", "bf16 bf16x2"},
    {"tanh.approx.$", "T,t", "f16 f16x2 bf16 bf16x2"},
    {"ex2.approx.$", "T,t", "f16 f16x2"},
    {"ex2.approx.ftz.$", "T,t", "bf16 bf16x2"},
    // Comparison and selection.
    {"setp.{eq,ne,lt,le,gt,ge}.$", "P,t,t", "u16 u32 u64 s16 s32 s64", 2},
    {"setp.{lo,ls,hi,hs}.$", "P,t,t", "u16 u32 u64"},
    {"setp.{eq,ne}.$", "P,t,t", kBits},
    {"setp.{eq,ne,lt,le,gt,ge}.{and,or,xor}.$", "P,t,t,n", "u16 u32 u64 s16 s32 s64"},
    {"setp.{eq,ne,lt,le,gt,ge}{.and,.or,.xor}.$", "P|P,t,t,n", "u16 u32 u64 s16 s32 s64"},
    {"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.$", "P,t,t", "f32", 2},
    {"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.$", "P|P,t,t", "f64"},
    {"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{.and,.or,.xor}{,.ftz}.$", "P|P,t,t,n", "f32"},
    {"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.f16", "P,y,y"},
    {"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.bf16", "P,y,y"},
    {"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{.and,.or,.xor}.{f16x2,bf16x2}", "P|P,v,v,n"},
    {"set.{eq,ne,lt,le,gt,ge}.{u32,s32,f32}.$", "R,t,t", "u16 u32 u64 s16 s32 s64"},
    {"set.{eq,ne,lt,le,gt,ge}.{and,or,xor}.{u32,s32,f32}.$", "R,t,t,n", "u16 u32 u64 s16 s32 s64"},
    {"set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{u32,s32,f32}.$", "R,t,t", "f32 f64"},
    {"set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{f16,u16,s16}.f16", "H,y,y"},
    {"set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{and,or,xor}.{bf16,u16,s16}.bf16", "H,y,y,n"},
    {"set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{u32,s32}.{f16,bf16}", "R,y,y"},
    {"set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.f16x2.f16x2", "R,v,v"},
    {"set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{and,or,xor}.bf16x2.bf16x2", "R,v,v,n"},
    {"selp.$", "T,t,t,p", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", 2},
    {"slct.$.s32", "T,t,t,r", "b16 b32 b64 u32 s64 f32 f64"},
    {"slct{,.ftz}.$.f32", "T,t,t,f", "b16 b32 b64 u32 s64 f32 f64"},
    // Logic and shifts.
    {"{and,or,xor}.$", "T,t,t", kBits, 3},
    {"{not,cnot}.$", "T,t", kBits},
    {"{and,or,xor}.pred", "P,p,p", "", 2},
    {"not.pred", "P,p"},
    {"lop3.b32", "R,r,r,r,8", "", 2},
    {"lop3.{and,or}.b32", "R|P,v,v,v,8,n"},
    {"shl.$", "T,t,x", kBits, 2},
    {"shr.$", "T,t,x", "b16 b32 b64 u16 u32 u64 s16 s32 s64", 3},
    {"shf.{l,r}.{clamp,wrap}.b32", "R,r,r,x", "", 2},
    {"prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "R,r,r,r"},
    {"prmt.b32", "R,r,r,r"},
    // Moves and packed conversions.
    {"mov.$", "T,t", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"},
    {"mov.pred", "P,p"},
    {"mov.b32", "R,{y,y}"},
    {"mov.b32", "{H,H},v"},
    {"mov.b64", "L,{v,v}"},
    {"mov.b64", "{R,R},z"},
    {"mov.b64", "{_,R},z"},
    {"mov.b64", "L,{y,y,y,y}"},
    {"mov.b64", "{H,H,H,H},z"},
    {"cvt.{rn,rz}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32", "R,v,v", "", 2},
    {"cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f32", "H,v,v", "", 2},
    {"cvt.rn.satfinite{,.relu}.{e2m3x2,e3m2x2}.f32", "H,v,v"},
    {"cvt.{rz,rp}.satfinite.ue8m0x2.f32", "H,v,v"},
    {"cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f16x2", "H,v"},
    {"cvt.{rz,rp}.satfinite.ue8m0x2.bf16x2", "H,v"},
    {"cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2,e2m3x2,e3m2x2}", "R,y"},
    {"cvt.rn.bf16x2.ue8m0x2", "R,y"},
    {"cvt.{rna,rn,rz}{,.satfinite}.tf32.f32", "R,v"},
    {"cvt.{rn,rz}{,.satfinite}.relu.tf32.f32", "R,v"},
    {"cvt.pack.sat.{u16,s16}.s32", "R,v,v"},
    {"cvt.pack.sat.{u8,s8}.s32.b32", "R,v,v,v"},
};

uint32_t total_weight() {
  uint32_t sum = 0;
  for (const Pattern& p : kPatterns) sum += p.weight;
  return sum;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(at, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

uint32_t bits_of(std::string_view type) {
  if (type == "f16x2" || type == "bf16x2") return 32;
  if (type == "bf16") return 16;
  return static_cast<uint32_t>(std::stoul(std::string(type.substr(1))));
}

bool has_sign(std::string_view type) { return type.starts_with("s"); }

}  // namespace

uint64_t corner_bits(Rng& rng, uint32_t bits) {
  static constexpr uint64_t kWordCorners[] = {
      0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFF'FFFF, 0x8000'0000, 0xFFFF'FFFF,
      // f32: ones, subnormals, limits, infinities, NaNs, halves, 2^31, 2^32, 2^63
      0x3F80'0000, 0xBF80'0000, 0x0000'0001, 0x007F'FFFF, 0x0080'0000, 0x8000'0001, 0x807F'FFFF, 0x7F7F'FFFF,
      0xFF7F'FFFF, 0x7F80'0000, 0xFF80'0000, 0x7FC0'0000, 0x7F80'0001, 0xFFC1'2345, 0x3F00'0000, 0x4020'0000,
      0xC020'0000, 0x4F00'0000, 0xCF00'0000, 0x4F80'0000, 0x5F00'0000, 0x3380'0000, 0x4B00'0001,
      // f16 and bf16 pairs
      0x3C00'BC00, 0x7C00'FC00, 0x0001'8001, 0x7BFF'FBFF, 0x7E00'7C01, 0x3F80'7F80, 0x0400'03FF, 0x7FC1'FF80};
  static constexpr uint64_t kHalfCorners[] = {0,      1,      0x7F,   0x80,   0xFF,   0x7FFF, 0x8000, 0xFFFF, 0x3C00,
                                              0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0x0400, 0x03FF, 0x8001, 0x7BFF,
                                              0x3F80, 0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 0x0080, 0x007F, 0x3800, 0x4100};
  static constexpr uint64_t kLongCorners[] = {
      0, 1, 2, 63, 64, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, uint64_t{1} << 32, 0xFFFF'FFFF,
      // f64
      0x3FF0'0000'0000'0000, 0xBFF0'0000'0000'0000, 0x0010'0000'0000'0000, 0x000F'FFFF'FFFF'FFFF, 0x8000'0000'0000'0001,
      0x7FEF'FFFF'FFFF'FFFF, 0x7FF0'0000'0000'0000, 0xFFF0'0000'0000'0000, 0x7FF8'0000'0000'0000, 0x7FF0'0000'0000'0001,
      0xFFF8'1234'5678'9ABC, 0x3FE0'0000'0000'0000, 0x4004'0000'0000'0000, 0x41E0'0000'0000'0000, 0xC1E0'0000'0000'0000,
      0x43E0'0000'0000'0000, 0x43F0'0000'0000'0000, 0x3690'0000'0000'0000, 0x47EF'FFFF'F000'0000, 0x3FF0'0000'1000'0000,
      // two f32
      0x3F80'0000'8000'0000, 0x7F80'0000'7FC0'0000};
  if (bits == 16) return kHalfCorners[rng.below(std::size(kHalfCorners))];
  if (bits == 32) return kWordCorners[rng.below(std::size(kWordCorners))];
  return kLongCorners[rng.below(std::size(kLongCorners))];
}

std::string Instructions::guard() {
  if (rng_.below(4) != 0) return "";
  return (rng_.below(2) == 0 ? "@" : "@!") + predicate() + " ";
}

std::string Instructions::choose(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t open = text.find('{');
    result += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    const auto choices = split(text.substr(open + 1, close - open - 1), ',');
    result += choices[rng_.below(choices.size())];
    text.remove_prefix(close + 1);
  }
  return result;
}

// Empty: this type has no literals.
std::string Instructions::literal(std::string_view type) {
  const uint32_t bits = bits_of(type);
  const uint64_t value = rng_.below(3) == 0 ? rng_.next() : corner_bits(rng_, bits);
  if (type == "f32") return fmt::format("0f{:08X}", static_cast<uint32_t>(value));
  if (type == "f64") return fmt::format("0d{:016X}", value);
  if (type.find('f') != std::string_view::npos) return "";
  if (bits == 16) {
    return has_sign(type) ? std::to_string(static_cast<int16_t>(value)) : std::to_string(static_cast<uint16_t>(value));
  }
  if (bits == 32) {
    return has_sign(type) ? std::to_string(static_cast<int32_t>(value)) : std::to_string(static_cast<uint32_t>(value));
  }
  return fmt::format("0x{:x}", has_sign(type) ? value >> 1 : value);
}

std::string Instructions::operand(char code, std::string_view type) {
  const auto maybe_literal = [&](std::string_view of) {
    const std::string text = rng_.below(5) == 0 ? literal(of) : "";
    return text.empty() ? reg(bits_of(of)) : text;
  };
  switch (code) {
    case 'T':
      return reg(bits_of(type));
    case 't':
      return maybe_literal(type);
    case 'W':
      return reg(2 * bits_of(type));
    case 'w':
      return maybe_literal(fmt::format("{}{}", type[0], 2 * bits_of(type)));
    case 'H':
    case 'y':
      return half();
    case 'h':
      return maybe_literal("u16");
    case 'R':
    case 'v':
      return word();
    case 'r':
      return maybe_literal("s32");
    case 'L':
    case 'z':
      return longer();
    case 'l':
      return maybe_literal("s64");
    case 'f':
      return maybe_literal("f32");
    case 'P':
    case 'p':
      return predicate();
    case 'n':
      return (rng_.below(2) == 0 ? "!" : "") + predicate();
    case 'x':
      return rng_.below(3) == 0 ? word() : std::to_string(rng_.below(rng_.below(4) == 0 ? 300 : 70));
    case '8':
      return std::to_string(rng_.below(256));
    default:
      return std::string(1, code);
  }
}

std::string Instructions::operands(std::string_view codes, std::string_view type) {
  std::string result;
  for (char code : codes) result += operand(code, type) + (code == ',' ? " " : "");
  return result;
}

std::string Instructions::plain() {
  static const uint32_t total = total_weight();
  uint64_t k = rng_.below(total);
  const Pattern* p = kPatterns;
  for (; k >= p->weight; ++p) k -= p->weight;
  const auto types = split(p->types, ' ');
  const std::string_view type = types[rng_.below(types.size())];
  std::string opcode = choose(p->opcode);
  if (const size_t at = opcode.find('$'); at != std::string::npos) opcode.replace(at, 1, type);
  // A predicate pair must name two predicates.
  std::string list = operands(p->operands, type);
  if (std::string_view(p->operands).starts_with("P|P")) {
    const uint64_t a = rng_.below(kPredicates), b = (a + 1 + rng_.below(kPredicates - 1)) % kPredicates;
    list = fmt::format("%p{}|%p{}{}", a, b, list.substr(list.find(',')));
  }
  // A list must not name a register twice.
  if (p->operands[0] == '{') {
    const uint64_t from = rng_.below(6);
    uint64_t n = from;
    std::string names;
    for (char c : std::string_view(p->operands).substr(0, std::string_view(p->operands).find('}') + 1)) {
      names += c == 'H' ? fmt::format("%h{}", n++) : c == 'R' ? fmt::format("%r{}", n++) : std::string(1, c);
    }
    list = names + list.substr(list.find('}') + 1);
  }
  return fmt::format("{}{} {};\n", guard(), opcode, list);
}

// cvt between any two scalar types; registers may be wider than their types.
std::string Instructions::convert() {
  static constexpr const char* kTypes[] = {"u8",  "s8",  "u16", "s16",  "u32", "s32",
                                           "u64", "s64", "f16", "bf16", "f32", "f64"};
  const uint64_t to = rng_.below(std::size(kTypes)), from = rng_.below(std::size(kTypes));
  const auto wide_enough = [&](uint64_t type) {
    const uint32_t least = type >= 8 ? bits_of(kTypes[type]) : std::max(bits_of(kTypes[type]), 16u);
    uint32_t bits = least;
    // Floats are kept in registers of their own width.
    if (type < 8) {
      while (bits < 64 && rng_.below(3) == 0) bits *= 2;
    }
    return reg(bits);
  };
  std::string mods;
  const bool to_float = to >= 8, from_float = from >= 8;
  if (to_float && from_float) {
    const uint32_t a = bits_of(kTypes[to]), b = bits_of(kTypes[from]);
    const bool half_to_half = a == 16 && b == 16;
    if (to == from) {
      // bf16 to itself does not exist.
      if (to == 9) return plain();
      mods = choose(to == 10 ? "{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}" : "{.rni,.rzi,.rmi,.rpi}");
    } else if (half_to_half) {
      mods = choose("{.rn,.rz,.rm,.rp}");
    } else if (a < b) {
      if (to == 10) mods = choose("{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}");
      if (to == 8) mods = choose(from == 10 ? "{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}" : "{.rn,.rz,.rm,.rp}");
      if (to == 9) mods = choose(from == 10 ? "{.rn,.rz}{,.relu}" : "{.rn,.rz,.rm,.rp}");
    } else if (from != 9) {
      mods = choose(to == 10 || from == 10 ? "{,.ftz}{,.sat}" : "");
    }
  } else if (to_float) {
    mods = choose("{.rn,.rz,.rm,.rp}");
    if (to == 10) mods += choose("{,.ftz}{,.sat}");
  } else if (from_float) {
    mods = choose("{.rni,.rzi,.rmi,.rpi}");
    if (from == 10) mods += choose("{,.ftz}");
    mods += choose("{,.sat}");
  } else {
    mods = choose("{,.sat}");
  }
  return fmt::format("{}cvt{}.{}.{} {}, {};\n", guard(), mods, kTypes[to], kTypes[from], wide_enough(to),
                     wide_enough(from));
}

// Never by zero, which is unspecified.
std::string Instructions::divide() {
  static constexpr const char* kTypes[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
  const std::string type = kTypes[rng_.below(std::size(kTypes))];
  const uint32_t bits = bits_of(type);
  const std::string divisor = bits == 16 ? "%th" : bits == 32 ? "%tr" : "%tl";
  return fmt::format("or.b{} {}, {}, 1;\n{}{}.{} {}, {}, {};\n", bits, divisor, reg(bits), guard(), choose("{div,rem}"),
                     type, reg(bits), reg(bits), divisor);
}

// The carry is defined from one instruction to the next only.
std::string Instructions::carry_chain() {
  const std::string type = choose("{u32,s32,u64,s64}");
  const uint32_t bits = bits_of(type);
  const auto line = [&](const std::string& opcode, bool three) {
    return fmt::format("{}.{} {}, {}, {}{};\n", opcode, type, reg(bits), operand('t', type), operand('t', type),
                       three ? ", " + operand('t', type) : "");
  };
  const bool with_product = rng_.below(3) == 0;
  std::string text = with_product ? line(choose("mad.{lo,hi}.cc"), true) : line(choose("{add,sub}.cc"), false);
  for (uint64_t n = rng_.below(3) + 1; n > 0; --n) {
    const std::string cc = n > 1 ? ".cc" : choose("{,.cc}");
    text += with_product ? line(choose("madc.{lo,hi}") + cc, true) : line(choose("{addc,subc}") + cc, false);
  }
  return text;
}

// Two right approximations may differ in the last bit of an f32, so only what a bf16 holds of them counts.
std::string Instructions::approximate() {
  const std::string d = word();
  return fmt::format("{}.f32 {}, {};\ncvt.rn.bf16.f32 %th, {};\ncvt.f32.bf16 {}, %th;\n",
                     choose("{ex2,lg2}.approx{,.ftz}"), d, word(), d, d);
}

// Two 4-bit floats fill a register of 8 bits, which little else can use.
std::string Instructions::four_bits() {
  return fmt::format("cvt.rn.satfinite{}.e2m1x2.f32 %tb, {}, {};\ncvt.rn{}.f16x2.e2m1x2 {}, %tb;\n", choose("{,.relu}"),
                     word(), word(), choose("{,.relu}"), word());
}

std::string Instructions::find_nth() {
  return fmt::format("and.b32 %tr, {}, 31;\nfns.b32 {}, {}, %tr, {};\n", word(), word(), word(),
                     rng_.below(2) == 0 ? word() : std::to_string(static_cast<int64_t>(rng_.below(9)) - 4));
}

std::string Instructions::warp_operation() {
  const std::string all = "0xffffffff";
  switch (rng_.below(7)) {
    case 0:
      return fmt::format("shfl.sync.{}.b32 {}|{}, {}, {}, {}, {};\n", choose("{up,down,bfly,idx}"), word(), predicate(),
                         word(), operand('x', ""), rng_.below(2) == 0 ? word() : "31", all);
    case 1:
      return fmt::format("vote.sync.{}.pred {}, {}, {};\n", choose("{all,any,uni}"), predicate(), operand('n', ""),
                         all);
    case 2:
      return fmt::format("vote.sync.ballot.b32 {}, {}, {};\n", word(), operand('n', ""), all);
    case 3:
      return fmt::format("and.b32 %tr, {}, 7;\nmatch.any.sync.b32 {}, %tr, {};\n", word(), word(), all);
    case 4:
      return fmt::format("match.all.sync.b64 {}|{}, {}, {};\n", word(), predicate(), longer(), all);
    case 5:
      return fmt::format("redux.sync.{} {}, {}, {};\n",
                         choose("{add.u32,add.s32,min.u32,min.s32,max.u32,max.s32,and.b32,or.b32,xor.b32}"), word(),
                         word(), all);
    default:
      return fmt::format("redux.sync.{}.f32 {}, {}, {};\n", choose("{min,max}{,.abs}{,.NaN}"), word(), word(), all);
  }
}

std::string Instructions::next(Place place) {
  const uint64_t k = rng_.below(40);
  if (k < 6) return convert();
  if (k == 6) return divide();
  if (k == 7) return carry_chain();
  if (k == 8) return approximate();
  if (k == 9) {
    const uint64_t rare = rng_.below(4);
    return rare == 0 ? find_nth() : rare == 1 ? four_bits() : plain();
  }
  if (k == 10 && place == Place::together) return warp_operation();
  return plain();
}

}  // namespace fb::random_program
