#include "virtual_node/simt/calls/builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "virtual_node/num/device_math.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/calls/builtin_call.h"
#include "virtual_node/simt/calls/device_runtime_calls.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/mask.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {
namespace {

// Guest memory

template <class T>
T read_guest(Warp& w, const Inst& i, uint32_t lane, mem::Address a) {
  T value;
  std::memcpy(&value, w.resolve(i, ptx::Space::generic, lane, a, sizeof value), sizeof value);
  return value;
}

constexpr size_t kMaxString = 64 * 1024;  // longer ones are cut, so that a missing terminator ends somewhere

std::string read_string(Warp& w, const Inst& i, uint32_t lane, mem::Address a, size_t limit = kMaxString) {
  std::string text;
  for (limit = std::min(limit, kMaxString); text.size() < limit; ++a) {
    const char c = read_guest<char>(w, i, lane, a);
    if (c == '\0') break;
    text += c;
  }
  return text;
}

// printf

constexpr int kMaxField = 4096;  // for widths and precisions: the guest may ask for two billion

// One conversion specification, without its argument: %[flags][width][.precision][size]type.
struct Conversion {
  std::string flags;
  bool width_from_argument = false, precision_from_argument = false;
  std::optional<int> width, precision;
  bool wide = false;  // a 64-bit integer
  bool half = false, byte = false;
  char type = '\0';
};

int read_digits(std::string_view text, size_t& at) {
  int value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = std::min(kMaxField, value * 10 + (text[at] - '0'));
  }
  return value;
}

// `at` points behind the %, and on return behind the specification. None if there is no such specification.
std::optional<Conversion> parse_conversion(std::string_view text, size_t& at) {
  const auto take = [&](char c) { return at < text.size() && text[at] == c ? (++at, true) : false; };
  Conversion c;
  for (; at < text.size() && std::string_view("-+ #0").contains(text[at]); ++at) {
    if (!c.flags.contains(text[at])) c.flags += text[at];
  }
  if (take('*'))
    c.width_from_argument = true;
  else if (at < text.size() && text[at] >= '1' && text[at] <= '9')
    c.width = read_digits(text, at);
  if (take('.')) {
    if (take('*'))
      c.precision_from_argument = true;
    else
      c.precision = read_digits(text, at);
  }
  if (take('h')) {
    c.byte = take('h');
    c.half = !c.byte;
  } else if (take('l')) {
    c.wide = true;
    take('l');
  } else if (take('z') || take('j') || take('t')) {
    c.wide = true;
  } else {
    take('L');  // long double is double on a GPU
  }
  if (at == text.size() || !std::string_view("diouxXcspneEfFgGaA").contains(text[at])) return std::nullopt;
  c.type = text[at++];
  return c;
}

// The arguments of one printf call: as vprintf gets them, each at its natural alignment.
class PrintfArguments {
 public:
  PrintfArguments(Warp& w, const Inst& i, uint32_t lane, mem::Address buffer)
      : w_(w), i_(i), lane_(lane), at_(buffer) {}

  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) & ~(sizeof(T) - 1);
    const T value = read_guest<T>(w_, i_, lane_, at_);
    at_ += sizeof(T);
    ++count_;
    return value;
  }
  std::string string(mem::Address a, size_t limit) { return read_string(w_, i_, lane_, a, limit); }
  int count() const { return count_; }

 private:
  Warp& w_;
  const Inst& i_;
  uint32_t lane_;
  mem::Address at_;
  int count_ = 0;
};

// Formats one value with the host's printf, whose rules are the guest's; `size` is "", "ll" or the like.
template <class T>
std::string format_value(const Conversion& c, std::string_view size, char type, T value) {
  std::string spec = "%" + c.flags;
  if (c.width) spec += std::to_string(*c.width);
  if (c.precision) spec += "." + std::to_string(*c.precision);
  spec += size;
  spec += type;
  // The longest output: a double in full (309 digits), or what width and precision ask for.
  std::array<char, 2 * kMaxField + 512> out;
  const int length = std::snprintf(out.data(), out.size(), spec.c_str(), value);
  return {out.data(), std::min(out.size() - 1, static_cast<size_t>(std::max(0, length)))};
}

std::string format_integer(const Conversion& c, PrintfArguments& args) {
  const bool is_signed = c.type == 'd' || c.type == 'i';
  if (c.wide) return format_value(c, "ll", c.type, static_cast<long long>(args.next<int64_t>()));
  const auto value = args.next<int32_t>();
  if (c.byte)
    return format_value(c, "", c.type, is_signed ? int{static_cast<int8_t>(value)} : int{static_cast<uint8_t>(value)});
  if (c.half)
    return format_value(c, "", c.type,
                        is_signed ? int{static_cast<int16_t>(value)} : int{static_cast<uint16_t>(value)});
  return format_value(c, "", c.type, value);
}

std::string format_string(Conversion c, PrintfArguments& args) {
  const auto a = args.next<mem::Address>();
  const size_t limit = c.precision ? static_cast<size_t>(*c.precision) : kMaxString;
  const std::string text = a == 0 ? "(null)" : args.string(a, limit);
  const size_t width = c.width ? static_cast<size_t>(*c.width) : 0;
  const std::string padding(width > text.size() ? width - text.size() : 0, ' ');
  return c.flags.contains('-') ? text + padding : padding + text;
}

// As glibc writes pointers, whatever the host does.
std::string format_pointer(Conversion c, PrintfArguments& args) {
  const auto a = args.next<mem::Address>();
  c.precision.reset();
  return format_value(c, "", 's', (a == 0 ? std::string("(nil)") : fmt::format("{:#x}", a)).c_str());
}

std::string format_next(Conversion c, PrintfArguments& args) {
  if (c.width_from_argument) {
    const int64_t width = args.next<int32_t>();
    if (width < 0 && !c.flags.contains('-')) c.flags += '-';
    c.width = static_cast<int>(std::min<int64_t>(kMaxField, width < 0 ? -width : width));
    if (*c.width == 0) c.width.reset();
  }
  if (c.precision_from_argument) {
    const int32_t precision = args.next<int32_t>();
    if (precision >= 0) c.precision = std::min(kMaxField, precision);
  }
  switch (c.type) {
    case 's':
      return format_string(c, args);
    case 'p':
      return format_pointer(c, args);
    case 'c':
      return format_value(c, "", 'c', args.next<int32_t>());
    case 'n':
      args.next<mem::Address>();
      return {};  // CUDA does not write through it
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      return format_integer(c, args);
    default:
      return format_value(c, "", c.type, args.next<double>());
  }
}

constexpr size_t kMaxOutput = 1024 * 1024;  // of one call, which is the size of CUDA's whole buffer

std::string format_text(std::string_view format, PrintfArguments& args) {
  std::string out;
  for (size_t at = 0; at < format.size() && out.size() < kMaxOutput;) {
    const size_t percent = std::min(format.find('%', at), format.size());
    out += format.substr(at, percent - at);
    if (percent == format.size()) break;
    at = percent + 1;
    if (at < format.size() && format[at] == '%') {
      out += '%';
      ++at;
    } else if (const auto c = parse_conversion(format, at)) {
      out += format_next(*c, args);
    } else {
      out += format.substr(percent, at - percent);  // not a conversion: as written
    }
  }
  return out;
}

// int vprintf(const char* format, void* arguments): the number of arguments, or -1 without a format.
void call_vprintf(Warp& w, const Inst& i, const CallSite& site) {
  check_signature(w, i, site, "vprintf", std::array{8u, 8u}, 4);
  each_lane(w.exec, [&](uint32_t lane) {
    const mem::Address format = argument(w, site, 0, lane);
    if (format == 0) return set_result(w, site, lane, static_cast<uint32_t>(-1));
    PrintfArguments args(w, i, lane, argument(w, site, 1, lane));
    const std::string text = format_text(read_string(w, i, lane, format), args);
    w.note_effect();
    w.environment().print(text);
    set_result(w, site, lane, static_cast<uint32_t>(args.count()));
  });
}

// assert

// void __assertfail(const char* expression, const char* file, unsigned line, const char* function, size_t char_size)
void call_assertfail(Warp& w, const Inst& i, const CallSite& site) {
  check_signature(w, i, site, "__assertfail", std::array{8u, 8u, 4u, 8u, 8u}, 0);
  const uint32_t lane = first_of(w.exec);
  const auto text = [&](size_t k) {
    const mem::Address a = argument(w, site, k, lane);
    return a == 0 ? std::string("?") : read_string(w, i, lane, a, 1024);
  };
  const Dim3 block = w.block().position(), size = w.block().grid().block;
  const uint32_t thread = w.index() * kLanes + lane;
  w.trap(TrapKind::guest_assert, i, lane,
         fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.", text(1),
                     argument(w, site, 2, lane), text(3), block.x, block.y, block.z, thread % size.x,
                     thread / size.x % size.y, thread / size.x / size.y, text(0)));
}

// What stands in a table of virtual functions for one that a class does not define.
void call_pure_virtual(Warp& w, const Inst& i, const CallSite&) {
  w.trap(TrapKind::bad_call, i, first_of(w.exec), "a pure virtual function was called");
}

// malloc and free

void call_malloc(Warp& w, const Inst& i, const CallSite& site) {
  check_signature(w, i, site, "malloc", std::array{8u}, 8);
  w.note_effect();
  w.note_change();
  each_lane(w.exec, [&](uint32_t lane) {
    set_result(w, site, lane, w.environment().heap_allocate(argument(w, site, 0, lane)));
  });
}

// free, and the forms of delete: what follows the pointer is not needed.
void call_free(Warp& w, const Inst& i, const CallSite& site) {
  if (site.args.empty() || site.args[0].bytes != 8) check_signature(w, i, site, "free", std::array{8u}, 0);
  w.note_effect();
  w.note_change();
  each_lane(w.exec, [&](uint32_t lane) {
    const mem::Address a = argument(w, site, 0, lane);
    if (a != 0 && !w.environment().heap_release(a)) {
      w.trap(TrapKind::invalid_operand, i, lane, fmt::format("free of {:#x}, which malloc did not return", a), a);
    }
  });
}

// Mathematics

uint32_t bytes_of_letter(char letter) {
  switch (letter) {
    case 'v':
      return 0;
    case 'f':
    case 'i':
      return 4;
    default:
      return 8;  // d, l, and pointers
  }
}

void call_function(Warp& w, const Inst& i, const CallSite& site, const num::DeviceFunction& function) {
  const std::string_view params = function.signature.substr(1);
  std::array<uint32_t, num::kMaxDeviceArguments> bytes{};
  std::ranges::transform(params, bytes.begin(), bytes_of_letter);
  check_signature(w, i, site, function.name, std::span(bytes).first(params.size()),
                  bytes_of_letter(function.signature[0]));

  uint64_t outs[num::kMaxDeviceOutputs][kLanes] = {};
  each_lane(w.exec, [&](uint32_t lane) {
    uint64_t args[num::kMaxDeviceArguments] = {}, out[num::kMaxDeviceOutputs] = {}, result = 0;
    for (size_t k = 0; k < params.size(); ++k) args[k] = argument(w, site, k, lane);
    function.call(args, &result, out);
    set_result(w, site, lane, result);
    for (size_t k = 0; k < std::size(outs); ++k) outs[k][lane] = out[k];
  });
  size_t output = 0;
  for (size_t k = 0; k < params.size(); ++k) {
    if (params[k] == 'D') store_outputs(w, i, site, k, 8, outs[output++], w.exec);
    if (params[k] == 'F' || params[k] == 'I') store_outputs(w, i, site, k, 4, outs[output++], w.exec);
  }
}

// A builtin is a bare function pointer, so that each row of num's table needs a function of its own.
constexpr size_t kMaxFunctions = 256;

template <size_t row>
void call_row(Warp& w, const Inst& i, const CallSite& site) {
  call_function(w, i, site, num::device_functions()[row]);
}

constexpr auto kRows = []<size_t... row>(std::index_sequence<row...>) {
  return std::array<Builtin, sizeof...(row)>{&call_row<row>...};
}(std::make_index_sequence<kMaxFunctions>{});

struct NamedBuiltin {
  std::string_view name;
  Builtin call;
};

// new and delete are malloc and free under the names that C++ gives them.
constexpr NamedBuiltin kRuntime[] = {
    {"vprintf", call_vprintf},
    {"__assertfail", call_assertfail},
    {"malloc", call_malloc},
    {"_Znwm", call_malloc},
    {"_Znam", call_malloc},
    {"free", call_free},
    {"_ZdlPv", call_free},
    {"_ZdaPv", call_free},
    {"_ZdlPvm", call_free},
    {"_ZdaPvm", call_free},
    {"__cxa_pure_virtual", call_pure_virtual},
};

}  // namespace

Builtin find_builtin(std::string_view name) {
  for (const NamedBuiltin& row : kRuntime) {
    if (row.name == name) return row.call;
  }
  if (const Builtin call = find_device_runtime_call(name)) return call;
  const num::DeviceFunction* function = num::find_device_function(name);
  if (!function) return nullptr;
  const auto index = static_cast<size_t>(function - num::device_functions().data());
  FB_CHECK(index < kMaxFunctions, "more mathematical functions than rows for them");
  return kRows[index];
}

}  // namespace fb::simt
