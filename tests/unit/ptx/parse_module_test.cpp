#include <gtest/gtest.h>

#include <cstring>

#include "common/base/strings.h"
#include "common/ptx/parse/parser.h"
#include "ptx/form_instances.h"

namespace fb::ptx {
namespace {

constexpr std::string_view kHead = ".version 8.3\n.target sm_90\n.address_size 64\n";

Module parse_or_die(std::string_view text) {
  auto module = parse(text);
  if (!module) throw std::runtime_error(to_string(module.error(), "text"));
  return *std::move(module);
}

Module parse_globals(std::string_view text) { return parse_or_die(std::string(kHead) + std::string(text)); }

// The kernel of form_instances.h with this body.
struct Kernel {
  explicit Kernel(const std::string& body) : module(parse_or_die(wrap_instances(body))) {}
  const Function& function() const { return *module.find_function("kernel"); }
  const Instruction& operator[](size_t i) const { return function().body[i]; }
  Module module;
};

template <class T>
T value_at(const Variable& variable, size_t index) {
  T value;
  std::memcpy(&value, variable.init.data() + index * sizeof(T), sizeof(T));
  return value;
}

TEST(ParseModule, the_header_is_read) {
  const Module module = parse_or_die(".version 8.3\n.target sm_90a, debug\n.address_size 64\n.file 2 \"a.cu\", 7, 8\n");
  EXPECT_EQ(module.version_major, 8u);
  EXPECT_EQ(module.version_minor, 3u);
  EXPECT_EQ(module.target, "sm_90a");
  ASSERT_EQ(module.files.size(), 3u);
  EXPECT_EQ(module.files[2], "a.cu");
}

TEST(ParseModule, variables_have_sizes_alignments_and_values) {
  const Module module = parse_globals(R"(
.visible .global .align 4 .u32 grid[2][3] = {{1, 2}, {0x10, 0b11, 017}};
.const .f32 quarter = 0.25;
.global .f64 half = 0d3FE0000000000000;
.extern .shared .align 16 .b8 dynamic[];
.global .v4 .f32 colour = {1.0, 0f40000000};
.global .s64 minus = -(3 + 4 * 2) << 1;
.global .u8 open[] = {1, 2, 3};
)");
  const Variable& grid = *module.find_variable("grid");
  EXPECT_EQ(grid.bytes, 24u);
  EXPECT_EQ(grid.linkage, Linkage::visible);
  EXPECT_EQ(value_at<uint32_t>(grid, 1), 2u);
  EXPECT_EQ(value_at<uint32_t>(grid, 3), 16u);
  EXPECT_EQ(value_at<uint32_t>(grid, 5), 15u);
  EXPECT_EQ(value_at<float>(*module.find_variable("quarter"), 0), 0.25f);
  EXPECT_EQ(value_at<double>(*module.find_variable("half"), 0), 0.5);
  const Variable& dynamic = *module.find_variable("dynamic");
  EXPECT_TRUE(dynamic.unsized);
  EXPECT_EQ(dynamic.bytes, 0u);
  EXPECT_EQ(dynamic.align, 16u);
  const Variable& colour = *module.find_variable("colour");
  EXPECT_EQ(colour.bytes, 16u);
  EXPECT_EQ(colour.align, 16u);
  EXPECT_EQ(value_at<float>(colour, 1), 2.0f);
  EXPECT_EQ(value_at<int64_t>(*module.find_variable("minus"), 0), -22);
  EXPECT_EQ(module.find_variable("open")->bytes, 3u);
}

TEST(ParseModule, addresses_in_initial_values_become_relocations) {
  const Module module = parse_globals(R"(
.func f() { ret; }
.global .u32 words[4];
.global .u64 links[3] = {generic(words)+4, words+8, f};
.global .b8 packed[9] = {7, 0xFF(words), 0xFF00(words), 0xFF0000(words), 0xFF000000(words), 0xFF00000000(words),
                         0xFF0000000000(words), 0xFF000000000000(words), 0xFF00000000000000(words)};
)");
  const auto& links = module.find_variable("links")->relocations;
  ASSERT_EQ(links.size(), 3u);
  EXPECT_TRUE(links[0].generic);
  EXPECT_EQ(links[0].symbol.bits, 4u);
  EXPECT_EQ(links[1].offset, 8u);
  EXPECT_FALSE(links[1].generic);
  EXPECT_EQ(links[2].symbol.kind, OperandKind::function);
  const auto& packed = module.find_variable("packed")->relocations;
  ASSERT_EQ(packed.size(), 1u);
  EXPECT_EQ(packed[0].offset, 1u);
  EXPECT_EQ(packed[0].bytes, 8u);
}

TEST(ParseModule, a_function_has_parameters_returns_and_bounds) {
  const Module module = parse_globals(R"(
.visible .entry k(.param .u64 .ptr .global .align 1 out, .param .align 8 .b8 blob[16])
.maxntid 128, 2
.minnctapersm 3
.reqnctapercluster 2, 1, 1
{ .local .align 4 .b8 depot[8]; ret; }
.extern .func (.param .b32 r) f(.param .b32 a);
)");
  const Function& k = *module.find_function("k");
  EXPECT_TRUE(k.entry);
  EXPECT_EQ(k.params, 2u);
  ASSERT_EQ(k.variables.size(), 3u);
  EXPECT_EQ(k.variables[1].bytes, 16u);
  EXPECT_EQ(k.variables[1].align, 8u);
  EXPECT_EQ(k.variables[2].space, Space::local);
  EXPECT_EQ(k.bounds.max_threads[0], 128u);
  EXPECT_EQ(k.bounds.max_threads[2], 1u);
  EXPECT_EQ(k.bounds.min_blocks_per_sm, 3u);
  EXPECT_EQ(k.bounds.cluster[0], 2u);
  const Function& f = *module.find_function("f");
  EXPECT_FALSE(f.defined);
  EXPECT_EQ(f.params, 1u);
  EXPECT_EQ(f.returns, 1u);
  EXPECT_EQ(f.variables[1].name, "r");
}

TEST(ParseModule, a_declaration_and_its_definition_are_one_function) {
  const Module module = parse_globals(".func f(.param .b32 a);\n.func f(.param .b32 a) { ret; }\n");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_TRUE(module.functions[0].defined);
}

TEST(ParseModule, loc_gives_the_innermost_source_line) {
  const Module module = parse_globals(R"(
.file 1 "a.cu"
.entry k() {
  exit;
  .loc 1 7 3
  exit;
  .loc 1 9 5, function_name $L__info_string0, inlined_at 1 70 1
  exit;
})");
  const auto& body = module.functions[0].body;
  EXPECT_EQ(body[0].source.line, 0u);
  EXPECT_EQ(body[1].source, (SourceLine{1, 7, 3}));
  EXPECT_EQ(body[2].source, (SourceLine{1, 9, 5}));
}

TEST(ParseInstruction, a_pair_is_two_operands_the_second_may_be_absent) {
  const Kernel kernel("setp.lt.s32 %p0|%p1, %r0, %r1;\nsetp.lt.s32 %p2, %r0, 7;\nsetp.lt.and.s32 %p2, %r0, 7, !%p3;\n");
  ASSERT_EQ(kernel[0].operands.size(), 5u);
  EXPECT_EQ(kernel[0].operands[1].kind, OperandKind::reg);
  EXPECT_EQ(kernel[0].operands[4].kind, OperandKind::none);
  EXPECT_EQ(kernel[1].operands[1].kind, OperandKind::none);
  EXPECT_EQ(kernel[1].operands[3].bits, 7u);
  EXPECT_TRUE(kernel[2].operands[4].negated);
}

TEST(ParseInstruction, optional_operands_keep_their_places) {
  const Kernel kernel(
      "barrier.red.popc.u32 %r0, 1, %p0;\nbarrier.red.popc.u32 %r0, 1, 64, %p0;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], [%rd1], 16, [%r2], "
      "%rd3;\n");
  EXPECT_EQ(kernel[0].operands[2].kind, OperandKind::none);
  EXPECT_EQ(kernel[0].operands[3].kind, OperandKind::reg);
  EXPECT_EQ(kernel[1].operands[2].bits, 64u);
  ASSERT_EQ(kernel[2].operands.size(), 6u);
  EXPECT_EQ(kernel[2].operands[4].kind, OperandKind::none);  // cta_mask
  EXPECT_EQ(kernel[2].operands[5].kind, OperandKind::reg);   // policy
}

TEST(ParseInstruction, forms_with_one_spelling_are_told_apart_by_their_operands) {
  const Kernel kernel(
      "mov.b64 %rd0, %rd1;\nmov.b64 %rd0, {%r0, %r1};\nmov.b64 {%r0, _}, %rd0;\n"
      "cp.async.ca.shared.global [%r0], [%rd0], 4, 2;\ncp.async.ca.shared.global [%r0], [%rd0], 4, %p0;\n"
      "min.f32 %r0, %r1, %r2;\nmin.f32 %r0, %r1, %r2, %r3;\n");
  const Form expected[] = {
      Form::mov,       Form::mov_pack,  Form::mov_unpack, Form::cp_async, Form::cp_async_ignore_src,
      Form::min_float, Form::min3_float};
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(kernel[i].form, expected[i]) << i;
}

TEST(ParseInstruction, float_constants_take_the_width_of_their_type) {
  const Kernel kernel("add.f32 %r0, %r1, 1.5;\nadd.f64 %rd0, %rd1, 0f3F800000;\nmov.b32 %r0, 0f3F800000;\n");
  EXPECT_EQ(kernel[0].operands[2].kind, OperandKind::float32);
  EXPECT_EQ(kernel[0].operands[2].bits, 0x3FC00000u);
  EXPECT_EQ(kernel[1].operands[2].kind, OperandKind::float64);
  EXPECT_EQ(kernel[1].operands[2].bits, 0x3FF0000000000000u);
  EXPECT_EQ(kernel[2].operands[1].kind, OperandKind::float32);
}

TEST(ParseInstruction, addresses_have_a_base_an_offset_and_coordinates) {
  const Kernel kernel(
      ".shared .b8 buffer[64];\nld.shared.u32 %r0, [buffer+8];\nld.u32 %r0, [%rd0+-4];\nld.u32 %r0, [4096];\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {%r1, 3}], [buffer];\n");
  EXPECT_EQ(kernel[0].operands[1].elements[0].kind, OperandKind::symbol);
  EXPECT_TRUE(kernel[0].operands[1].elements[0].in_function);
  EXPECT_EQ(kernel[0].operands[1].bits, 8u);
  EXPECT_EQ(static_cast<int64_t>(kernel[1].operands[1].bits), -4);
  EXPECT_EQ(kernel[2].operands[1].elements[0].bits, 4096u);
  ASSERT_EQ(kernel[3].operands[0].elements.size(), 2u);
  EXPECT_EQ(kernel[3].operands[0].elements[1].elements.size(), 2u);
}

TEST(ParseInstruction, labels_belong_to_their_scope) {
  const Kernel kernel(
      "{\nagain: exit;\nbra again;\nbra after;\n}\n"
      "{\nbra again;\nagain: exit;\n}\n"
      "after: exit;\n");
  EXPECT_EQ(kernel[1].operands[0].index, 0u);
  EXPECT_EQ(kernel[2].operands[0].index, 5u);
  EXPECT_EQ(kernel[3].operands[0].index, 4u);
}

TEST(ParseInstruction, registers_of_inner_scopes_hide_outer_ones) {
  const Kernel kernel("{\n.reg .b64 %r0;\nmov.b64 %r0, 1;\n}\nmov.b32 %r0, 1;\n");
  EXPECT_NE(kernel[0].operands[0].index, kernel[1].operands[0].index);
}

TEST(ParseInstruction, a_call_has_four_operands) {
  const Kernel kernel(
      "{ .param .b32 a; call.uni helper, (a); }\n"
      "shape: .callprototype _ (.param .b32 _);\ncall %rd0, (%r0), shape;\n");
  ASSERT_EQ(kernel[0].operands.size(), 4u);
  EXPECT_EQ(kernel[0].operands[0].kind, OperandKind::none);
  EXPECT_EQ(kernel[0].operands[1].kind, OperandKind::function);
  EXPECT_EQ(kernel[0].operands[2].elements.size(), 1u);
  EXPECT_EQ(kernel[1].operands[1].kind, OperandKind::reg);
  EXPECT_EQ(kernel[1].operands[3].kind, OperandKind::target_list);
}

TEST(ParseInstruction, vector_registers_are_their_components) {
  const Kernel kernel(".reg .v4 .f32 v;\n.reg .f32 f;\nld.v4.f32 v, [%rd0];\nadd.f32 f, v.x, v.w;\n");
  EXPECT_EQ(kernel[0].operands[0].elements.size(), 4u);
  EXPECT_EQ(kernel[1].operands[2].index, kernel[1].operands[1].index + 3);
}

TEST(ParseInstruction, a_list_of_one_is_its_element_where_vectors_may_stand) {
  const Kernel kernel(
      "ld.relaxed.gpu.u64 {%rd1}, [%rd2]; ld.global.nc.u32 {%r1}, [%rd2]; ldu.global.u32 {%r1}, [%rd2]; "
      "st.volatile.global.u32 [%rd1], {5}; mov.b32 {%r1}, %r2; mov.b32 %r1, {%r2}; "
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];");
  EXPECT_EQ(kernel[0].operands[0].kind, OperandKind::reg);
  EXPECT_EQ(kernel[1].operands[0].kind, OperandKind::reg);
  EXPECT_EQ(kernel[2].operands[0].kind, OperandKind::reg);
  EXPECT_EQ(kernel[3].operands[1].kind, OperandKind::integer);
  EXPECT_EQ(kernel[4].form, Form::mov);
  EXPECT_EQ(kernel[5].form, Form::mov);
  EXPECT_EQ(kernel[6].operands[0].kind, OperandKind::vector);
}

TEST(ParseInstruction, an_opcode_may_hold_blanks) {
  const Kernel kernel("mov .u32 %r0 , %tid.x ;\nmov .u32 %r1, 5;\n");
  EXPECT_EQ(kernel[0].form, Form::mov);
  EXPECT_EQ(kernel[0].operands[1].index, static_cast<uint32_t>(SpecialReg::tid_x));
  EXPECT_EQ(kernel[1].operands[1].bits, 5u);
}

}  // namespace
}  // namespace fb::ptx
