#include "common/ptx/traits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/ptx/form_table.h"

namespace fb::ptx {
namespace {

template <class F>
void each_form(F f) {
  for (size_t k = 0; k < static_cast<size_t>(Form::count_); ++k) f(static_cast<Form>(k));
}

bool has_role(Form form, std::initializer_list<OperandRole> roles) {
  return std::ranges::any_of(spec_of(form).operands, [&](const OperandSpec& operand) {
    return std::ranges::find(roles, operand.role) != roles.end();
  });
}

TEST(Traits, forms_with_an_address_state_how_they_access_it) {
  each_form([](Form form) {
    if (!has_role(form, {OperandRole::address, OperandRole::tensor_address})) return;
    const Traits& t = traits(form);
    EXPECT_TRUE(t.reads || t.writes || t.mbarrier || t.tensor_memory || t.no_access) << to_string(form);
    EXPECT_FALSE(t.no_access && (t.reads || t.writes)) << to_string(form);
  });
}

TEST(Traits, forms_without_an_address_write_no_memory) {
  each_form([](Form form) {
    if (has_role(form, {OperandRole::address, OperandRole::tensor_address})) return;
    EXPECT_FALSE(traits(form).writes || traits(form).mbarrier) << to_string(form);
  });
}

TEST(Traits, forms_that_compute_write_a_register) {
  each_form([](Form form) {
    if (!traits(form).computes) return;
    EXPECT_TRUE(
        has_role(form, {OperandRole::destination, OperandRole::predicate_destination, OperandRole::list_destination}))
        << to_string(form);
  });
}

TEST(Traits, loads_write_a_register_and_reductions_do_not) {
  each_form([](Form form) {
    const Traits& t = traits(form);
    const bool returns = has_role(form, {OperandRole::destination, OperandRole::list_destination});
    if (t.reads && !t.writes && !t.tensor_memory) {
      EXPECT_TRUE(returns) << to_string(form);
    }
    if (t.reduces) {
      EXPECT_FALSE(returns) << to_string(form);
    }
  });
}

// Opcodes imply some traits; a row that was copied and not adapted fails here.
TEST(Traits, opcodes_agree_with_their_traits) {
  each_form([](Form form) {
    const std::string_view syntax = syntax_of(form);
    const Traits& t = traits(form);
    const auto starts = [&](std::string_view word) { return syntax.starts_with(word); };
    EXPECT_EQ(t.fences, starts("fence") || starts("membar")) << to_string(form);
    EXPECT_EQ(t.proxy == Proxy::multimem, starts("multimem")) << to_string(form);
    if (starts("atom")) {
      EXPECT_TRUE(t.reads && t.writes && !t.reduces) << to_string(form);
    }
    if (starts("red.") || starts("red{")) {
      EXPECT_TRUE(t.reduces) << to_string(form);
    }
    if (starts("cp.reduce") || starts("multimem.cp.reduce")) {
      EXPECT_TRUE(t.reduces && t.asynchronous) << to_string(form);
    }
    if (starts("st") && syntax.contains("[a]")) {
      EXPECT_TRUE(t.writes) << to_string(form);
    }
    if (syntax.contains("_wait") && starts("mbarrier")) {
      EXPECT_TRUE(t.waits_for_mbarrier) << to_string(form);
    }
    if (syntax.contains("mbarrier.arrive") || syntax.contains("complete_tx")) {
      EXPECT_TRUE(t.signals) << to_string(form);
    }
  });
}

TEST(Traits, an_order_or_scope_that_is_written_replaces_the_default) {
  Instruction atomic;
  atomic.form = Form::atom_op2;
  EXPECT_EQ(order_of(atomic), MemoryOrder::relaxed);
  EXPECT_EQ(scope_of(atomic), Scope::gpu);
  atomic.mods[static_cast<size_t>(Mod::acq_rel)] = true;
  atomic.mods[static_cast<size_t>(Mod::sys)] = true;
  EXPECT_EQ(order_of(atomic), MemoryOrder::acq_rel);
  EXPECT_EQ(scope_of(atomic), Scope::sys);

  Instruction arrive;
  arrive.form = Form::mbarrier_arrive;
  EXPECT_EQ(order_of(arrive), MemoryOrder::release);
  EXPECT_EQ(scope_of(arrive), Scope::cta);

  Instruction load;
  load.form = Form::ld;
  EXPECT_EQ(order_of(load), MemoryOrder::weak);
  EXPECT_EQ(scope_of(load), Scope::none);
  load.mods[static_cast<size_t>(Mod::volatile_)] = true;
  EXPECT_EQ(order_of(load), MemoryOrder::volatile_);
  EXPECT_EQ(scope_of(load), Scope::sys);
}

TEST(Traits, an_atomic_has_a_result_unless_its_destination_is_the_sink) {
  Instruction atomic;
  atomic.form = Form::atom_op2;
  atomic.operands.resize(3);
  atomic.operands[0].kind = OperandKind::reg;
  EXPECT_TRUE(has_result(atomic));
  atomic.operands[0].kind = OperandKind::sink;
  EXPECT_FALSE(has_result(atomic));
  Instruction reduction;
  reduction.form = Form::multimem_red;
  EXPECT_FALSE(has_result(reduction));
}

}  // namespace
}  // namespace fb::ptx
