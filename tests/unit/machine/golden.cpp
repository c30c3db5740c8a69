#include "machine/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "common/base/strings.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/warp.h"

namespace fb::golden {
namespace {

using machine::Ending;

[[noreturn]] void malformed(uint32_t line, const std::string& what) {
  throw std::runtime_error(fmt::format("line {}: {}", line, what));
}

uint64_t bits_of(const std::string& type, std::string_view text, uint32_t line) {
  const bool hex = text.starts_with("0x") || text.starts_with("-0x");
  if ((type == "f32" || type == "f64") && !hex) {
    const std::string s(text);
    char* end = nullptr;
    const double value = std::strtod(s.c_str(), &end);
    if (*end != 0) malformed(line, "not a number: " + s);
    if (type == "f32") return std::bit_cast<uint32_t>(static_cast<float>(value));
    return std::bit_cast<uint64_t>(value);
  }
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  if (hex) digits.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (status != std::errc{} || end != digits.data() + digits.size())
    malformed(line, "not a number: " + std::string(text));
  return negative ? 0 - value : value;
}

uint64_t truncate(const std::string& type, uint64_t bits) {
  const uint32_t bytes = bytes_of(type);
  return bytes == 8 ? bits : bits & ((uint64_t{1} << bytes * 8) - 1);
}

uint64_t from_double(const std::string& type, double v) {
  if (type == "f32") return std::bit_cast<uint32_t>(static_cast<float>(v));
  if (type == "f64") return std::bit_cast<uint64_t>(v);
  return static_cast<uint64_t>(static_cast<int64_t>(v));
}

std::vector<std::optional<uint64_t>> parse_values(const Param& p, std::string_view text, uint32_t line) {
  std::istringstream in{std::string(text)};
  std::string kind, word;
  in >> kind;
  std::vector<std::optional<uint64_t>> given;
  if (kind == "fill") {
    in >> word;
    given.push_back(parse_value(p.type, word, line));
  } else if (kind == "iota") {
    double a = 0, step = 1;
    if (in >> word) a = std::stod(word);
    if (in >> word) step = std::stod(word);
    for (uint64_t k = 0; k < p.count; ++k)
      given.push_back(truncate(p.type, from_double(p.type, a + step * static_cast<double>(k))));
  } else if (kind == "list") {
    while (in >> word) {
      uint64_t times = 1;
      if (const auto star = word.find('*'); star != std::string::npos) {
        times = std::stoull(word.substr(star + 1));
        word.resize(star);
      }
      std::optional<uint64_t> value;
      if (word != "_") value = parse_value(p.type, word, line);
      given.insert(given.end(), times, value);
    }
  } else {
    malformed(line, "expected fill, iota or list: " + kind);
  }
  if (given.empty()) malformed(line, "no values");
  if (given.size() > p.count) malformed(line, fmt::format("{} values for {} elements", given.size(), p.count));
  std::vector<std::optional<uint64_t>> all;
  for (uint64_t k = 0; k < p.count; ++k) all.push_back(given[k % given.size()]);
  return all;
}

std::vector<Contents> parse_members(const Param& p, std::string_view before, std::string_view after, uint32_t line) {
  std::vector<Contents> members;
  for (const std::string_view values : split(before, '|')) {
    Contents& m = members.emplace_back();
    if (trim(values) == "none") continue;
    for (const auto& v : parse_values(p, values, line)) m.initial.push_back(v.value_or(0));
  }
  if (after.empty()) return members;
  const auto lists = split(after, '|');
  if (lists.size() != 1 && lists.size() != members.size()) malformed(line, "one list for all members, or one for each");
  for (size_t k = 0; k < members.size(); ++k) {
    const std::string_view values = lists.size() == 1 ? lists[0] : lists[k];
    if (!members[k].initial.empty()) members[k].expected = parse_values(p, values, line);
  }
  return members;
}

Param parse_param(std::string_view text, uint32_t line) {
  Param p;
  std::istringstream in{std::string(text)};
  std::string kind, type;
  in >> kind >> type;
  if (kind == "value") {
    std::string value;
    in >> value;
    p.type = type;
    bytes_of(type);
    p.initial = {parse_value(type, value, line)};
    return p;
  }
  if (kind == "member") {
    size_t member = 0;
    in >> member;
    p.member_of = {std::stoull(type), member};
    return p;
  }
  if (kind != "buffer" && kind != "multicast") malformed(line, "expected buffer, multicast, member or value: " + kind);
  const auto open = type.find('[');
  if (open == std::string::npos) malformed(line, "a buffer needs a count: " + type);
  p.count = std::stoull(type.substr(open + 1));
  p.type = type.substr(0, open);
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) malformed(line, "a buffer needs initial values");
  std::string_view values = text.substr(equals + 1);
  const auto arrow = values.find("->");
  const std::string_view before = values.substr(0, arrow);
  const std::string_view after = arrow == std::string_view::npos ? "" : values.substr(arrow + 2);
  if (kind == "multicast") {
    p.members = parse_members(p, before, after, line);
    return p;
  }
  p.buffer = true;
  for (const auto& v : parse_values(p, before, line)) p.initial.push_back(v.value_or(0));
  if (!after.empty()) p.expected = parse_values(p, after, line);
  return p;
}

GoldenRun parse_run(std::string_view text, uint32_t line) {
  GoldenRun run;
  run.line = line;
  std::istringstream in{std::string(text)};
  in >> run.launch.kernel;
  std::string word;
  while (in >> word) {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "grid") {
      run.launch.grid = parse_dim(value);
    } else if (key == "block") {
      run.launch.block = parse_dim(value);
    } else if (key == "cluster") {
      run.launch.cluster = parse_dim(value);
    } else if (key == "dynamic_shared") {
      run.launch.dynamic_shared_bytes = static_cast<uint32_t>(std::stoul(value));
    } else if (key == "cooperative") {
      run.launch.cooperative = true;
    } else {
      malformed(line, "unknown word in run: " + key);
    }
  }
  return run;
}

void parse_expectation(GoldenRun& run, std::string_view text, uint32_t line) {
  if (text.starts_with("output")) {
    std::string out;
    text = text.substr(std::min<size_t>(7, text.size()));
    for (size_t k = 0; k < text.size(); ++k) {
      if (text[k] == '\\' && k + 1 < text.size() && text[k + 1] == 'n') {
        out += '\n';
        ++k;
      } else {
        out += text[k];
      }
    }
    run.output = out;
    return;
  }
  if (text.starts_with("message ")) {
    run.message = text.substr(8);
    return;
  }
  std::istringstream in{std::string(text)};
  std::string kind, what, at;
  in >> kind >> what >> at;
  if (kind == "fault") {
    run.ending = "fault " + what;
    if (at == "at") in >> run.fault_line;
  } else if (kind == "deadlock") {
    run.ending = "deadlock";
  } else {
    malformed(line, "unknown expectation: " + kind);
  }
}

std::string ending_of(const machine::Outcome& o) {
  switch (o.ending) {
    case Ending::finished:
      return "finished";
    case Ending::fault:
      return "fault " + std::string(to_string(o.fault.kind));
    case Ending::deadlock:
      return "deadlock";
    case Ending::budget:
      return "budget";
  }
  return "?";
}

std::string show(const std::string& type, uint64_t bits) {
  if (type == "f32") return fmt::format("{} (0x{:08x})", std::bit_cast<float>(static_cast<uint32_t>(bits)), bits);
  if (type == "f64") return fmt::format("{} (0x{:016x})", std::bit_cast<double>(bits), bits);
  return fmt::format("{} (0x{:x})", bits, bits);
}

// `element`(k): where element k lies.
template <class F>
std::string compare(const Contents& c, const std::string& type, const std::string& name, F element) {
  std::string text;
  uint32_t shown = 0;
  for (uint64_t k = 0; k < c.expected.size(); ++k) {
    uint64_t got = 0;
    std::memcpy(&got, element(k), bytes_of(type));
    if (!c.expected[k] || *c.expected[k] == got || ++shown > 8) continue;
    text += fmt::format("{} [{}]: expected {}, got {}\n", name, k, show(type, *c.expected[k]), show(type, got));
  }
  return text;
}

// Multicast objects

// Chosen so that nothing lines up: the window begins inside the object, members are bound in pieces.
constexpr uint64_t kWindowOffset = 256;
constexpr uint64_t kPieceBytes = 64;
constexpr mem::Address kMulticastBegin = 0x7000'0000'0000;
constexpr mem::Address kMulticastStep = 0x1'0000'0000;

std::shared_ptr<mem::Multicast> make_multicast(const Param& p, uint32_t id) {
  const uint64_t element = bytes_of(p.type), size = p.count * element;
  auto object = std::make_shared<mem::Multicast>();
  object->id = id;
  object->size = kWindowOffset + size;
  for (const Contents& c : p.members) {
    mem::Multicast::Member& m = object->members.emplace_back();
    m.device = static_cast<uint32_t>(object->members.size()) - 1;
    if (c.initial.empty()) continue;
    for (uint64_t at = 0; at < size; at += kPieceBytes) {
      const uint64_t bytes = std::min(kPieceBytes, size - at);
      auto memory = mem::allocate(id, m.device, bytes, "member");
      std::byte* host = memory->bytes.get();
      m.pieces.push_back({kWindowOffset + at, bytes, host, std::move(memory)});
    }
    for (uint64_t k = 0; k < p.count; ++k)
      std::memcpy(m.find(kWindowOffset + k * element, element), &c.initial[k], element);
  }
  return object;
}

// What a kernel is given, and what must be there after it.
//
// A device has no call that maps a multicast object; a warp that starts leads to its address space, before anything has
// run.
class Arguments final : public simt::Listener {
 public:
  Arguments(machine::Device& device, const std::vector<Param>& params) : device_(device), params_(params) {
    for (const Param& p : params_) values_.push_back(place(p));
  }

  // The bits of parameter k, and how many bytes of them count.
  uint64_t value(size_t k) const { return values_[k]; }
  uint32_t width(size_t k) const { return is_pointer(params_[k]) ? 8 : bytes_of(params_[k].type); }

  simt::Listener* listener() { return mappings_.empty() ? nullptr : this; }

  void on_warp_start(simt::Warp& w) override {
    for (auto& map : std::exchange(mappings_, {})) map(w.environment().global());
  }

  void on_access(simt::Warp&, const simt::Access& access) override {
    multimem_seen_ = multimem_seen_ || access.proxy == simt::Proxy::multimem;
  }
  // Listeners must hear of what multimem instructions do.
  bool multimem_seen() const { return multimem_seen_; }

  std::string differences() {
    std::string wrong;
    for (size_t k = 0; k < params_.size(); ++k) {
      const Param& p = params_[k];
      if (p.member_of) continue;
      const uint64_t element = bytes_of(p.type);
      for (size_t m = 0; m < p.members.size(); ++m) {
        wrong += compare(p.members[m], p.type, fmt::format("param {} of device {}", k, m), [&](uint64_t e) {
          return multicasts_[k]->members[m].find(kWindowOffset + e * element, element);
        });
      }
      if (!p.buffer) continue;
      const std::byte* memory = device_.bytes(values_[k], p.count * element);
      wrong += compare(p, p.type, fmt::format("param {}", k), [&](uint64_t e) { return memory + e * element; });
    }
    return wrong;
  }

 private:
  static bool is_pointer(const Param& p) { return p.buffer || p.member_of || !p.members.empty(); }

  uint64_t place(const Param& p) {
    const size_t k = values_.size();
    multicasts_.emplace_back();
    if (p.buffer) return fill_buffer(p, device_.allocate(p.count * bytes_of(p.type), fmt::format("param {}", k)));
    if (!is_pointer(p)) return p.initial[0];
    const mem::Address a = kMulticastBegin + k * kMulticastStep;
    if (p.member_of) {
      const auto [param, member] = *p.member_of;
      auto memory = multicasts_.at(param)->members.at(member).pieces.at(0).allocation;
      mappings_.emplace_back([=](mem::AddressSpace& space) { space.map(a, memory); });
    } else {
      multicasts_[k] = make_multicast(p, static_cast<uint32_t>(k) + 1);
      mappings_.emplace_back([=, object = multicasts_[k]](mem::AddressSpace& space) {
        space.map(a, object, kWindowOffset, object->size - kWindowOffset);
      });
    }
    return a;
  }

  mem::Address fill_buffer(const Param& p, mem::Address a) {
    const uint64_t element = bytes_of(p.type);
    std::byte* memory = device_.bytes(a, p.count * element);
    for (uint64_t e = 0; e < p.count; ++e) std::memcpy(memory + e * element, &p.initial[e], element);
    return a;
  }

  machine::Device& device_;
  const std::vector<Param>& params_;
  std::vector<uint64_t> values_;
  std::vector<std::shared_ptr<mem::Multicast>> multicasts_;  // of each parameter, or null
  std::vector<std::function<void(mem::AddressSpace&)>> mappings_;
  bool multimem_seen_ = false;
};

}  // namespace

simt::Dim3 parse_dim(const std::string& text) {
  simt::Dim3 d;
  const auto parts = split(text, ',');
  uint32_t* to[] = {&d.x, &d.y, &d.z};
  for (size_t k = 0; k < parts.size() && k < 3; ++k) *to[k] = static_cast<uint32_t>(std::stoul(std::string(parts[k])));
  return d;
}

Param buffer(std::vector<uint64_t> values) {
  Param p;
  p.buffer = true;
  p.type = "b64";
  p.count = values.size();
  p.initial = std::move(values);
  return p;
}

uint64_t parse_value(const std::string& type, std::string_view text, uint32_t line) {
  return truncate(type, bits_of(type, text, line));
}

uint32_t bytes_of(const std::string& type) {
  static const std::pair<const char*, uint32_t> kTypes[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
  for (const auto& [bits, bytes] : kTypes) {
    if (type.size() > 1 && type.substr(1) == bits && std::string("busif").find(type[0]) != std::string::npos)
      return bytes;
  }
  throw std::runtime_error("unknown type " + type);
}

std::vector<GoldenRun> read_runs(const std::string& text) {
  // Continuation lines are joined to the comment they continue.
  std::vector<std::pair<uint32_t, std::string>> comments;
  uint32_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.starts_with("//   ") && !comments.empty()) {
      comments.back().second += " " + std::string(trim(line.substr(2)));
    } else if (line.starts_with("//")) {
      comments.emplace_back(number, trim(line.substr(2)));
    }
  }
  std::vector<GoldenRun> runs;
  for (const auto& [line, comment] : comments) {
    const auto colon = comment.find(':');
    const std::string key = comment.substr(0, colon);
    if (key != "run" && key != "param" && key != "expect") continue;
    const std::string_view rest = trim(std::string_view(comment).substr(colon + 1));
    if (key == "run") {
      runs.push_back(parse_run(rest, line));
      continue;
    }
    if (runs.empty()) malformed(line, key + " before any run");
    if (key == "param") {
      runs.back().params.push_back(parse_param(rest, line));
    } else {
      parse_expectation(runs.back(), rest, line);
    }
  }
  return runs;
}

std::string execute(const std::string& text, const GoldenRun& run, const Engine& engine) {
  machine::Device device;
  machine::LoadOptions load;
  load.reference = engine.reference;
  load.observed = std::ranges::any_of(run.params, [](const Param& p) { return !p.members.empty(); });
  auto module = device.load(text, load);
  if (!module) return to_string(module.error(), "load");
  machine::LaunchRequest launch = run.launch;
  const simt::FunctionInfo* kernel = (*module)->program().find(launch.kernel);
  if (!kernel) return "no kernel " + launch.kernel;
  if (kernel->param_offsets.size() != run.params.size()) {
    return fmt::format("{} takes {} parameters, the run gives {}", launch.kernel, kernel->param_offsets.size(),
                       run.params.size());
  }
  launch.params.resize(kernel->param_bytes);
  Arguments arguments(device, run.params);
  for (size_t k = 0; k < run.params.size(); ++k) {
    const uint64_t value = arguments.value(k);
    std::memcpy(launch.params.data() + kernel->param_offsets[k], &value, arguments.width(k));
  }
  machine::DeviceRunOptions options;
  options.seed = engine.seed;
  options.budget = 50'000'000;
  options.listener = arguments.listener();
  const bool observed = options.listener != nullptr;
  const auto outcome = device.run(**module, launch, options);
  if (!outcome) return to_string(outcome.error(), "launch");
  const std::string details = describe(*outcome);
  if (ending_of(*outcome) != run.ending)
    return fmt::format("expected: {}, got: {}\n{}", run.ending, ending_of(*outcome), details);
  if (run.fault_line != 0 && outcome->fault.location.ptx_line != run.fault_line) {
    return fmt::format("expected the fault at line {}, got {}\n{}", run.fault_line, outcome->fault.location.ptx_line,
                       details);
  }
  if (!details.contains(run.message)) return fmt::format("expected the message: {}\n{}", run.message, details);
  std::string wrong = arguments.differences();
  if (observed && run.ending == "finished" && !arguments.multimem_seen()) wrong += "no multimem access was reported\n";
  const std::string output = device.take_output();
  if (run.output && output != *run.output)
    wrong += fmt::format("expected output [{}], got [{}]\n", *run.output, output);
  return wrong;
}

}  // namespace fb::golden
