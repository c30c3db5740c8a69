#include "ptx/form_instances.h"

#include <fmt/format.h>

#include "common/ptx/form_table.h"

namespace fb::ptx {
namespace {

std::vector<std::string> words_of(const OpcodePart& part) {
  std::vector<std::string> words;
  switch (part.kind) {
    case OpcodePart::Kind::type:
      for (size_t i = 0; i < part.types.size(); ++i) {
        if (part.types[i]) words.emplace_back(to_string(static_cast<Type>(i)));
      }
      break;
    case OpcodePart::Kind::space:
      for (size_t i = 0; i < part.spaces.size(); ++i) {
        if (!part.spaces[i]) continue;
        words.emplace_back(static_cast<Space>(i) == Space::shared ? "shared::cta" : to_string(static_cast<Space>(i)));
      }
      break;
    case OpcodePart::Kind::mods:
      for (size_t i = 0; i < part.mods.size(); ++i) {
        if (part.mods[i]) words.emplace_back(to_string(static_cast<Mod>(i)));
      }
      break;
  }
  return words;
}

// One word for every part that has one; an empty string where an optional part is left out.
using Choice = std::vector<std::string>;

Choice shortest(const FormSpec& spec) {
  Choice choice;
  for (const OpcodePart& part : spec.parts) choice.push_back(part.optional ? "" : words_of(part).front());
  return choice;
}

class OperandWriter {
 public:
  OperandWriter(const FormSpec& spec, const Choice& choice) : spec_(spec) {
    for (size_t i = 0; i < choice.size(); ++i) {
      if (choice[i].empty()) continue;
      const OpcodePart& part = spec.parts[i];
      if (part.kind == OpcodePart::Kind::type) {
        for (size_t t = 0; t < part.types.size(); ++t) {
          if (part.types[t] && to_string(static_cast<Type>(t)) == choice[i]) types_.push_back(static_cast<Type>(t));
        }
      } else if (part.kind == OpcodePart::Kind::mods) {
        for (size_t m = 0; m < part.mods.size(); ++m) {
          if (part.mods[m] && (part.together || to_string(static_cast<Mod>(m)) == choice[i])) mods_.set(m);
        }
      }
    }
  }

  std::string write() {
    if (spec_.form == Form::call) return " helper, (%r1)";
    std::string text;
    for (const OperandSpec& operand : spec_.operands) {
      const bool absent = operand.conditional ? (operand.condition & mods_).none() : operand.optional;
      if (absent || operand.role == OperandRole::anything) continue;
      text += text.empty() ? " " : operand.paired ? "|" : ", ";
      text += write(operand);
    }
    return text;
  }

 private:
  bool has(Mod mod) const { return mods_[static_cast<size_t>(mod)]; }

  std::string reg(uint32_t bits) {
    const uint32_t n = next_++ % 8;
    switch (bits) {
      case 1:
        return fmt::format("%p{}", n);
      case 8:
        return fmt::format("%c{}", n);
      case 16:
        return fmt::format("%h{}", n);
      case 32:
        return fmt::format("%r{}", n);
      case 64:
        return fmt::format("%rd{}", n);
      default:
        return fmt::format("%q{}", n);
    }
  }

  uint32_t bits(const Width& width) const {
    switch (width.rule) {
      case Width::Rule::any:
        return 64;
      case Width::Rule::fixed:
        return bits_of(width.fixed);
      default:
        break;
    }
    const uint32_t own = width.slot < types_.size() ? bits_of(types_[width.slot]) : 32;
    return width.rule == Width::Rule::twice_slot ? 2 * own : own;
  }

  std::string list(size_t count, uint32_t element_bits) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + reg(element_bits);
    return text + "}";
  }

  std::string write(const OperandSpec& operand) {
    switch (operand.role) {
      case OperandRole::destination:
      case OperandRole::source: {
        const bool value = operand.width.rule == Width::Rule::slot && operand.width.slot == 0 && spec_.vectors;
        const size_t count = has(Mod::v2) ? 2 : has(Mod::v4) ? 4 : has(Mod::v8) ? 8 : 0;
        if (value && count > 0) return list(count, bits(operand.width));
        if (operand.name == "fraction") return "0f3F000000";
        return reg(bits(operand.width));
      }
      case OperandRole::any_source:
        return reg(bits(operand.width));
      case OperandRole::predicate_destination:
      case OperandRole::predicate_source:
        return reg(1);
      case OperandRole::list_destination:
      case OperandRole::list_source:
        return write_fragment(operand);
      case OperandRole::immediate:
        return write_immediate();
      case OperandRole::address:
        return "[%rd7]";
      case OperandRole::tensor_address:
        return "[%rd7, " + list(dimensions(), 32) + "]";
      case OperandRole::label:
        return "here";
      case OperandRole::targets:
        return "places";
      case OperandRole::anything:
        break;
    }
    return "";
  }

  size_t dimensions() const {
    if (has(Mod::tile_gather4) || has(Mod::tile_scatter4)) return 5;
    if (has(Mod::a1d)) return 2;
    if (has(Mod::a2d) || has(Mod::cube) || has(Mod::acube)) return 4;
    return has(Mod::dim_1d) ? 1 : has(Mod::dim_2d) ? 2 : has(Mod::dim_3d) ? 3 : has(Mod::dim_4d) ? 4 : 5;
  }

  std::string write_immediate() const {
    switch (spec_.form) {
      case Form::discard:
      case Form::applypriority:
      case Form::fence_proxy_tensormap_acquire:
      case Form::tensormap_cp_fenceproxy:
        return "128";
      case Form::setmaxnreg_inc:
      case Form::setmaxnreg_dec:
        return "64";
      case Form::cp_async:
      case Form::cp_async_ignore_src:
        return "16";
      case Form::st_bulk:
        return "0";
      default:
        return "1";
    }
  }

  std::string write_fragment(const OperandSpec& operand) {
    switch (spec_.form) {
      case Form::mov_pack:
      case Form::mov_unpack:
        return list(2, bits(operand.width) / 2);
      case Form::ldmatrix:
      case Form::stmatrix:
      case Form::stmatrix_b8:
        return list(has(Mod::x1) ? 1 : has(Mod::x2) ? 2 : 4, 32);
      case Form::cp_async_bulk_tensor_g2s:
      case Form::cp_async_bulk_prefetch_tensor:
        return list(has(Mod::im2col) && dimensions() > 2 ? dimensions() - 2 : 2, 16);
      case Form::mma_sync_b1: {
        const bool factor = operand.name == "A" || operand.name == "B";
        return list(has(Mod::m8n8k128) ? (factor ? 1 : 2) : operand.name == "B" ? 1 : factor ? 2 : 4, 32);
      }
      case Form::suld:
      case Form::sust:
        return list(has(Mod::v4) ? 4 : has(Mod::v2) ? 2 : 1, bits(operand.width));
      case Form::tex_grad:
        if (operand.role == OperandRole::list_source)
          return list(has(Mod::a1d) ? 1 : has(Mod::a2d) ? 2 : has(Mod::cube) || has(Mod::acube) ? 3 : dimensions(), 32);
        return list(4, 32);
      default:
        return list(4, 32);
    }
  }

  const FormSpec& spec_;
  std::vector<Type> types_;
  ModSet mods_;
  uint32_t next_ = 0;
};

FormInstance build(const FormSpec& spec, const Choice& choice) {
  std::string text(spec.opcode);
  for (size_t i = 0; i < choice.size(); ++i) {
    if (choice[i].empty()) continue;
    if (spec.parts[i].together) {
      for (const std::string& word : words_of(spec.parts[i])) text += "." + word;
    } else {
      text += "." + choice[i];
    }
  }
  text += OperandWriter(spec, choice).write();
  return {spec.form, text + ";"};
}

}  // namespace

std::vector<FormInstance> make_instances(Form form) {
  const FormSpec& spec = spec_of(form);
  std::vector<FormInstance> instances;
  const Choice base = shortest(spec);
  instances.push_back(build(spec, base));
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    for (const std::string& word : words_of(spec.parts[i])) {
      Choice choice = base;
      choice[i] = word;
      if (choice != base) instances.push_back(build(spec, choice));
    }
  }
  return instances;
}

std::string wrap_instances(const std::string& body) {
  return R"(.version 8.8
.target sm_100a
.address_size 64
.func helper(.param .b32 a) { ret; }
.visible .entry kernel()
{
.reg .pred %p<8>;
.reg .b8 %c<8>;
.reg .b16 %h<8>;
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
.reg .b128 %q<8>;
places: .branchtargets here;
here:
)" + body +
         "ret;\n}\n";
}

}  // namespace fb::ptx
