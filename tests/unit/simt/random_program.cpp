#include "simt/random_program.h"

#include <fmt/format.h>

#include "common/base/rng.h"
#include "simt/random_instruction.h"

namespace fb::random_program {
namespace {

// A thread's registers in memory: halves, words, longs, then the predicates as one word.
constexpr uint32_t kWordsAt = 32, kLongsAt = 96, kPredicatesAt = 184, kThreadBytes = 192;
// A thread's own memory in every space, and words that all threads share.
constexpr uint32_t kSlice = 128, kSharedWords = 16;

class Writer {
 public:
  Writer(uint64_t seed, Flavour flavour) : rng_(seed), instructions_(rng_), flavour_(flavour) {}

  Program write() {
    static constexpr uint32_t kThreads[] = {32, 32, 64, 45};
    program_.threads = kThreads[rng_.below(std::size(kThreads))];
    // Warp operations name all 32 lanes.
    place_ = program_.threads % 32 == 0 ? Place::together : Place::apart;
    text_ = ".version 8.6\n.target sm_100a\n.address_size 64\n\n";
    text_ += ".const .align 16 .b8 table[64] = {";
    for (int k = 0; k < 64; ++k) text_ += fmt::format("{}{}", k == 0 ? "" : ", ", rng_.below(256));
    text_ += "};\n";
    if (flavour_ == Flavour::branching) write_function();
    text_ +=
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .align 16 .b8 blob[32])\n{\n";
    write_declarations();
    write_start();
    switch (flavour_) {
      case Flavour::straight:
        straight(24 + rng_.below(40), place_);
        break;
      case Flavour::branching:
        branching(0, 3 + rng_.below(3));
        break;
      case Flavour::memory:
        memory(20 + rng_.below(30));
        break;
    }
    write_end();
    program_.ptx = std::move(text_);
    fill(program_.in, uint64_t{kThreadBytes} * program_.threads);
    fill(program_.scratch, uint64_t{kSlice} * program_.threads + kSharedWords * 8);
    fill(program_.blob, 32);
    program_.out_bytes = uint64_t{kThreadBytes} * program_.threads;
    return std::move(program_);
  }

 private:
  void line(const std::string& text) { text_ += "  " + text + "\n"; }

  // Half corner cases, half random, some small numbers: by register, so that a row has one kind.
  void fill(std::vector<std::byte>& bytes, uint64_t size) {
    bytes.resize(size);
    const auto put = [&](uint64_t at, uint32_t width, uint64_t value) {
      for (uint32_t k = 0; k < width && at + k < size; ++k) bytes[at + k] = static_cast<std::byte>(value >> (8 * k));
    };
    for (uint64_t thread = 0; thread * kThreadBytes < size; ++thread) {
      for (uint32_t at = 0; at < kThreadBytes;) {
        const uint32_t width = at < kWordsAt ? 2 : at < kLongsAt ? 4 : 8;
        const uint64_t kind = rng_.below(4);
        const uint64_t value = kind == 0   ? rng_.next()
                               : kind == 1 ? rng_.below(64) - 16
                                           : corner_bits(rng_, width * 8) ^ (rng_.below(8) == 0 ? rng_.below(4) : 0);
        put(thread * kThreadBytes + at, width, value);
        at += width;
      }
    }
  }

  // A small function of two values, with a loop and a condition of its own.
  void write_function() {
    text_ += ".func (.param .b32 result) mix(.param .b32 a, .param .b64 b)\n{\n";
    line(".reg .pred %p<2>;\n  .reg .b32 %r<6>;\n  .reg .b64 %l<3>;");
    line("ld.param.b32 %r0, [a];\n  ld.param.b64 %l0, [b];\n  cvt.u32.u64 %r1, %l0;\n  and.b32 %r2, %r1, 3;");
    text_ += "LOOP:\n";
    line(fmt::format("mad.lo.u32 %r0, %r0, {}, %r1;\n  shf.l.wrap.b32 %r0, %r0, %r0, {};", rng_.below(1000) | 1,
                     rng_.below(32)));
    line("setp.eq.u32 %p0, %r2, 0;\n  @%p0 bra DONE;\n  sub.u32 %r2, %r2, 1;\n  bra LOOP;");
    text_ += "DONE:\n";
    line("setp.gt.s32 %p1, %r0, 0;\n  @%p1 xor.b32 %r0, %r0, 0x55;\n  st.param.b32 [result], %r0;\n  ret;");
    text_ += "}\n";
  }

  void write_declarations() {
    line(fmt::format(".reg .pred %p<{}>;\n  .reg .b16 %h<{}>;\n  .reg .b32 %r<{}>;\n  .reg .b64 %l<{}>;", kPredicates,
                     kHalves, kWords, kLongs));
    line(
        ".reg .pred %tp;\n  .reg .b8 %tb;\n  .reg .b128 %tq;\n  .reg .b16 %th;\n  .reg .b32 %tr, %ts, %c<8>, %me, "
        "%shared;");
    line(".reg .b64 %tl, %in, %out, %scratch, %slice, %shared64, %local, %own;");
    line(fmt::format(".shared .align 32 .b8 pool[{}];\n  .local .align 32 .b8 mine[{}];", kSlice * 64, kSlice));
  }

  void write_start() {
    line("ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n  ld.param.u64 %scratch, [scratch];");
    line("mov.u32 %me, %tid.x;");
    line(fmt::format("mad.wide.u32 %in, %me, {0}, %in;\n  mad.wide.u32 %out, %me, {0}, %out;", kThreadBytes));
    line(fmt::format("mad.wide.u32 %slice, %me, {}, %scratch;", kSlice));
    for (uint32_t k = 0; k < kHalves; ++k) line(fmt::format("ld.global.b16 %h{}, [%in+{}];", k, 2 * k));
    for (uint32_t k = 0; k < kWords; ++k) line(fmt::format("ld.global.b32 %r{}, [%in+{}];", k, kWordsAt + 4 * k));
    for (uint32_t k = 0; k < kLongs; ++k) line(fmt::format("ld.global.b64 %l{}, [%in+{}];", k, kLongsAt + 8 * k));
    line(fmt::format("ld.global.b32 %tr, [%in+{}];", kPredicatesAt));
    for (uint32_t k = 0; k < kPredicates; ++k) {
      line(fmt::format("and.b32 %ts, %tr, {};\n  setp.ne.u32 %p{}, %ts, 0;", 1u << k, k));
    }
  }

  void write_end() {
    text_ += "END:\n";
    for (uint32_t k = 0; k < kHalves; ++k) line(fmt::format("st.global.b16 [%out+{}], %h{};", 2 * k, k));
    for (uint32_t k = 0; k < kWords; ++k) line(fmt::format("st.global.b32 [%out+{}], %r{};", kWordsAt + 4 * k, k));
    for (uint32_t k = 0; k < kLongs; ++k) line(fmt::format("st.global.b64 [%out+{}], %l{};", kLongsAt + 8 * k, k));
    line("mov.b32 %tr, 0;");
    for (uint32_t k = 0; k < kPredicates; ++k) line(fmt::format("@%p{} or.b32 %tr, %tr, {};", k, 1u << k));
    line(fmt::format("st.global.b32 [%out+{}], %tr;\n  ret;", kPredicatesAt));
    text_ += "}\n";
  }

  void straight(uint64_t count, Place place) {
    for (uint64_t k = 0; k < count; ++k) text_ += instructions_.next(place);
  }

  // Branching

  std::string condition() { return (rng_.below(2) == 0 ? "@" : "@!") + instructions_.predicate(); }

  void branching(uint32_t depth, uint64_t count) {
    for (uint64_t k = 0; k < count; ++k) {
      straight(1 + rng_.below(4), Place::apart);
      if (depth >= 3) continue;
      switch (rng_.below(depth == 0 ? 6 : 8)) {
        case 0:
        case 1:
          if_else(depth);
          break;
        case 2:
          loop(depth);
          break;
        case 3:
          jump_table(depth);
          break;
        case 4:
          call();
          break;
        case 5:
          ask_who_is_here();
          break;
        case 6:
          line(condition() + " bra END;");
          break;
        case 7:
          exit_early();
          break;
      }
    }
  }

  void if_else(uint32_t depth) {
    const uint32_t id = labels_++;
    line(fmt::format("{} bra ELSE{};", condition(), id));
    branching(depth + 1, 1 + rng_.below(2));
    if (rng_.below(2) == 0) {
      line(fmt::format("bra JOIN{};", id));
      text_ += fmt::format("ELSE{}:\n", id);
      branching(depth + 1, 1 + rng_.below(2));
      text_ += fmt::format("JOIN{}:\n", id);
    } else {
      text_ += fmt::format("ELSE{}:\n", id);
    }
  }

  // At most eight iterations, by lane; sometimes left in the middle.
  void loop(uint32_t depth) {
    const uint32_t id = labels_++;
    line(fmt::format("and.b32 %c{}, {}, {};", depth, instructions_.word(), depth == 0 ? 7 : 3));
    text_ += fmt::format("LOOP{}:\n", id);
    branching(depth + 1, 1);
    if (rng_.below(2) == 0) line(fmt::format("{} bra LEAVE{};", condition(), id));
    straight(1, Place::apart);
    line(fmt::format("setp.eq.u32 %tp, %c{0}, 0;\n  sub.u32 %c{0}, %c{0}, 1;\n  @!%tp bra LOOP{1};", depth, id));
    text_ += fmt::format("LEAVE{}:\n", id);
  }

  void jump_table(uint32_t depth) {
    const uint32_t id = labels_++;
    line(fmt::format("and.b32 %ts, {}, 3;", instructions_.word()));
    text_ += fmt::format("CASES{0}: .branchtargets A{0}, B{0}, C{0}, B{0};\n", id);
    line(fmt::format("brx.idx %ts, CASES{};", id));
    for (char c : {'A', 'B', 'C'}) {
      text_ += fmt::format("{}{}:\n", c, id);
      branching(depth + 1, 1);
      if (rng_.below(2) == 0) line(fmt::format("bra JOIN{};", id));
    }
    text_ += fmt::format("JOIN{}:\n", id);
  }

  void call() {
    const std::string d = instructions_.word();
    line("{\n  .param .b32 a;\n  .param .b64 b;\n  .param .b32 r;");
    line(fmt::format("st.param.b32 [a], {};\n  st.param.b64 [b], {};", instructions_.word(), instructions_.longer()));
    line(fmt::format("call (r), mix, (a, b);\n  ld.param.b32 {}, [r];\n  }}", d));
  }

  // Which lanes are together is the engine's choice, but the one that asks is there.
  void ask_who_is_here() {
    line(fmt::format("activemask.b32 %ts;\n  setp.ne.u32 %tp, %ts, 0;\n  @!%tp mov.b32 {}, 0;", instructions_.word()));
  }

  void exit_early() {
    const uint32_t id = labels_++;
    line(fmt::format("{} bra STAY{};", condition(), id));
    line(fmt::format("st.global.b32 [%out+{}], {};\n  {};", kPredicatesAt + 4, instructions_.word(),
                     rng_.below(2) == 0 ? "exit" : "ret"));
    text_ += fmt::format("STAY{}:\n", id);
  }

  // Memory

  struct Where {
    std::string space;    // ".global", or nothing for a generic address
    std::string address;  // what stands in the brackets
    bool writable = true;
    bool atomic = true;
  };

  // An address of `bytes` in the thread's own slice, at an offset that depends on the lane. May emit instructions.
  Where place(uint32_t bytes) {
    const uint32_t mask = kSlice - bytes;
    const std::string constant = std::to_string(rng_.below(kSlice / bytes) * bytes);
    const bool dynamic = rng_.below(3) != 0;
    line(fmt::format("and.b32 %ts, {}, {};\n  cvt.u64.u32 %tl, %ts;", instructions_.word(), mask & ~(bytes - 1)));
    const auto wide = [&](const std::string& base) {
      if (!dynamic) return base + "+" + constant;
      line(fmt::format("add.u64 %own, %tl, {};", base));
      return std::string("%own");
    };
    switch (rng_.below(7)) {
      case 0:
        return {".global", wide("%slice")};
      case 1:
        return {"", wide("%slice")};
      case 2: {
        if (!dynamic) return {".shared", "%shared+" + constant};
        line("add.u32 %ts, %ts, %shared;");
        return {".shared", "%ts"};
      }
      case 3:
        return {"", wide("%shared64")};
      case 4:
        return {".local", dynamic ? wide("%local") : "mine+" + constant, true, false};
      case 5:
        line("cvta.local.u64 %own, %local;\n  add.u64 %own, %own, %tl;");
        return {"", "%own", true, false};
      default:
        line("mov.u64 %own, table;\n  and.b64 %tl, %tl, 63;\n  add.u64 %own, %own, %tl;");
        return {".const", bytes <= 32 ? "%own" : "table", false, false};
    }
  }

  void memory(uint64_t count) {
    line(fmt::format("mov.u32 %shared, pool;\n  mad.lo.u32 %shared, %me, {}, %shared;", kSlice));
    line("cvt.u64.u32 %shared64, %shared;\n  cvta.shared.u64 %shared64, %shared64;\n  mov.u64 %local, mine;");
    for (uint32_t k = 0; k < kSlice; k += 8) {
      line(fmt::format("st.shared.b64 [%shared+{}], {};", k, instructions_.longer()));
      line(fmt::format("st.local.b64 [mine+{}], {};", k, instructions_.longer()));
    }
    for (uint64_t k = 0; k < count; ++k) {
      switch (rng_.below(12)) {
        case 0:
        case 1:
          load();
          break;
        case 2:
        case 3:
          store();
          break;
        case 4:
        case 5:
          atomic();
          break;
        case 6:
          atomic_vector();
          break;
        case 7:
          reduce();
          break;
        case 8:
          rng_.below(2) == 0 ? load_parameter() : load_input();
          break;
        case 9:
          sixteen_bytes();
          break;
        default:
          straight(1 + rng_.below(3), place_);
          break;
      }
    }
    // What shared and local memory hold in the end.
    for (uint32_t k = 0; k < kSlice; k += 8) {
      const std::string l = fmt::format("%l{}", k / 8 % kLongs);
      line(fmt::format("ld.shared.b64 %tl, [%shared+{}];\n  mad.lo.u64 {}, {}, 31, %tl;", k, l, l));
      line(fmt::format("ld.local.b64 %tl, [mine+{}];\n  mad.lo.u64 {}, {}, 37, %tl;", k, l, l));
    }
  }

  struct Shape {
    std::string vector, type;
    uint32_t count = 1, bytes = 1;
  };

  Shape shape() {
    static constexpr const char* kTypes[] = {"b8",  "u8",  "s8",  "b16", "u16", "s16", "b32",
                                             "u32", "s32", "f32", "b64", "u64", "s64", "f64"};
    static constexpr uint32_t kBytes[] = {1, 1, 1, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8};
    const uint64_t k = rng_.below(std::size(kTypes));
    const uint32_t limit = kBytes[k] == 8 ? 2 : 4;
    uint32_t count = 1;
    while (count < limit && rng_.below(3) == 0) count *= 2;
    return {count == 1 ? "" : fmt::format(".v{}", count), kTypes[k], count, kBytes[k]};
  }

  // Registers for a shape: as wide as its type or, for integers, wider. `read`: some may be literals.
  std::string registers(const Shape& s, bool read) {
    uint32_t bits = s.bytes < 2 ? 16 : s.bytes * 8;
    if (s.type[0] != 'f') {
      while (bits < 64 && rng_.below(3) == 0) bits *= 2;
    }
    const uint64_t first = rng_.below(6);
    std::string list;
    for (uint32_t k = 0; k < s.count; ++k) {
      const bool literal = read && s.type[0] != 'f' && s.count > 1 && rng_.below(6) == 0;
      const std::string name = literal ? std::to_string(rng_.below(100))
                                       : fmt::format("%{}{}",
                                                     bits == 16   ? 'h'
                                                     : bits == 32 ? 'r'
                                                                  : 'l',
                                                     first + k);
      list += (k == 0 ? "" : ", ") + name;
    }
    return s.count == 1 ? list : "{" + list + "}";
  }

  void load() {
    const Shape s = shape();
    const Where w = place(s.bytes * s.count);
    const std::string cache = w.space == ".global" ? instructions_.choose("{,,.cg,.L1::no_allocate}") : "";
    const std::string order = w.space == ".const" || w.space == ".local" || !cache.empty()
                                  ? ""
                                  : instructions_.choose("{,,,.volatile,.relaxed.cta,.acquire.gpu}");
    line(fmt::format("{}ld{}{}{}{}.{} {}, [{}];", instructions_.guard(), order, w.space, cache, s.vector, s.type,
                     registers(s, false), w.address));
  }

  void store() {
    const Shape s = shape();
    const Where w = place(s.bytes * s.count);
    if (!w.writable) return;
    const std::string order =
        w.space == ".local" ? "" : instructions_.choose("{,,,.volatile,.relaxed.sys,.release.gpu}");
    line(fmt::format("{}st{}{}{}.{} [{}], {};", instructions_.guard(), order, w.space, s.vector, s.type, w.address,
                     registers(s, true)));
  }

  void atomic() {
    static constexpr const char* kOps[] = {"4 add.{u32,s32,f32}",
                                           "4 {min,max}.{u32,s32}",
                                           "4 {inc,dec}.u32",
                                           "4 {and,or,xor,exch}.b32",
                                           "8 add.{u64,f64}",
                                           "8 {min,max}.{u64,s64}",
                                           "8 {and,or,xor,exch}.b64",
                                           "4 add.noftz.{f16x2,bf16x2}",
                                           "2 add.noftz.{f16,bf16}",
                                           "4 cas.b32",
                                           "8 cas.b64",
                                           "2 cas.b16"};
    const std::string_view row = kOps[rng_.below(std::size(kOps))];
    const auto bytes = static_cast<uint32_t>(row[0] - '0');
    const Where w = place(bytes);
    if (!w.atomic) return;
    const std::string op = instructions_.choose(row.substr(2));
    const auto reg = [&] { return instructions_.reg(bytes * 8); };
    const std::string order = instructions_.choose("{,.relaxed.gpu,.acq_rel.cta,.release.sys,.acquire.cluster}");
    line(fmt::format("{}atom{}{}.{} {}, [{}], {}{};", instructions_.guard(), order, w.space, op, reg(), w.address,
                     reg(), op.starts_with("cas") ? ", " + reg() : ""));
  }

  void atomic_vector() {
    static constexpr const char* kOps[] = {"8 add.v2.f32", "16 add.v4.f32", "4 {add,min,max}.noftz.v2.{f16,bf16}",
                                           "16 {add,min,max}.noftz.v8.{f16,bf16}",
                                           "8 {add,min,max}.noftz.v2.{f16x2,bf16x2}"};
    const std::string_view row = kOps[rng_.below(std::size(kOps))];
    const auto bytes = static_cast<uint32_t>(std::stoul(std::string(row)));
    const std::string op = instructions_.choose(row.substr(row.find(' ') + 1));
    const bool halves = op.ends_with("f16");
    const uint64_t count = op[op.find(".v") + 2] - '0';
    const auto list = [&](uint64_t first) {
      std::string text;
      for (uint64_t n = 0; n < count; ++n)
        text += fmt::format("{}%{}{}", n == 0 ? "" : ", ", halves ? 'h' : 'r', first + n);
      return "{" + text + "}";
    };
    line(fmt::format("and.b32 %ts, {}, {};\n  cvt.u64.u32 %tl, %ts;\n  add.u64 %own, %slice, %tl;",
                     instructions_.word(), kSlice - bytes));
    if (rng_.below(2) == 0) {
      line(fmt::format("{}atom.global.{} {}, [%own], {};", instructions_.guard(), op, list(rng_.below(3)),
                       list(rng_.below(3))));
    } else {
      line(fmt::format("{}red.global.{} [%own], {};", instructions_.guard(), op, list(rng_.below(3))));
    }
  }

  // Registers of 128 bits go through moves, memory and exchanges only.
  void sixteen_bytes() {
    const Where w = place(16);
    if (w.atomic) {
      line(fmt::format("mov.b128 %tq, {{{}, {}}};", instructions_.longer(), instructions_.longer()));
      line(fmt::format("{}st{}.b128 [{}], %tq;", instructions_.guard(), w.space, w.address));
      if (rng_.below(2) == 0) line(fmt::format("atom{}.exch.b128 %tq, [{}], %tq;", w.space, w.address));
    }
    line(fmt::format("ld{}.b128 %tq, [{}];\n  mov.b128 {{%l{}, %l{}}}, %tq;", w.space, w.address, rng_.below(5),
                     5 + rng_.below(5)));
  }

  // Words that all threads change, each by one commuting operation only.
  void reduce() {
    static constexpr const char* kOps[] = {"add.u32", "add.u64", "min.s32", "max.s32", "min.u32", "max.u32",
                                           "and.b32", "or.b32",  "xor.b32", "and.b64", "or.b64",  "xor.b64",
                                           "min.s64", "max.u64", "add.s32", "max.s64"};
    static_assert(std::size(kOps) == kSharedWords);
    const uint64_t k = rng_.below(kSharedWords);
    const std::string op = kOps[k];
    const bool wide = op.ends_with("64");
    line(fmt::format("{}red{}.global.{} [%scratch+{}], {};", instructions_.guard(),
                     instructions_.choose("{,.relaxed.gpu,.release.sys}"), op,
                     uint64_t{kSlice} * program_.threads + 8 * k,
                     wide ? instructions_.longer() : instructions_.word()));
  }

  // Memory that is never written may be read by other kinds of loads.
  void load_input() {
    const Shape s = shape();
    const uint32_t bytes = s.bytes * s.count;
    line(fmt::format("{}{}{}.{} {}, [%in+{}];", instructions_.guard(),
                     instructions_.choose("{ld.global.nc,ld.global.nc.L1::no_allocate,ldu.global,ld.weak.global}"),
                     s.vector, s.type, registers(s, false), rng_.below(kThreadBytes / bytes) * bytes));
  }

  void load_parameter() {
    Shape s = shape();
    const uint32_t bytes = s.bytes * s.count;
    line(fmt::format("{}ld.param{}.{} {}, [blob+{}];", instructions_.guard(), s.vector, s.type, registers(s, false),
                     rng_.below(32 / bytes) * bytes));
  }

  Rng rng_;
  Instructions instructions_;
  Flavour flavour_;
  Place place_ = Place::apart;
  Program program_;
  std::string text_;
  uint32_t labels_ = 0;
};

}  // namespace

Program generate(uint64_t seed, Flavour flavour) { return Writer(seed, flavour).write(); }

}  // namespace fb::random_program
