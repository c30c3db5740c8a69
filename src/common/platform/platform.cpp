#include "common/platform/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "common/base/toml_reader.h"

namespace fb::platform {
namespace {

struct Unit {
  std::string_view name;
  double scale;
};

enum class Kind : uint8_t { count, flag, ratio, cycles, bytes, duration, rate, frequency };

// The units of a kind; none: the constant has no unit.
std::vector<Unit> units_of(Kind kind) {
  switch (kind) {
    case Kind::count:
    case Kind::flag:
    case Kind::ratio:
      return {};
    case Kind::cycles:
      return {{"cycles", 1}};
    case Kind::bytes:
      return {{"B", 1}, {"KiB", 1024}, {"MiB", 1024.0 * 1024}, {"GiB", 1024.0 * 1024 * 1024}};
    case Kind::duration:
      return {{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}};
    case Kind::rate:
      return {{"B/s", 1}, {"GB/s", 1e9}, {"TB/s", 1e12}};
    case Kind::frequency:
      return {{"Hz", 1}, {"MHz", 1e6}, {"GHz", 1e9}};
  }
  return {};
}

class Reader {
 public:
  Reader(const toml::table& file, TomlReader& toml) : file_(file), toml_(toml) {}

  Platform read(int depth);

 private:
  // Null: the whole file.
  void complain(const toml::node* at, std::string message) {
    toml_.complain(at ? TomlReader::location(*at) : Location(), std::move(message));
  }

  std::string text(const char* key, bool required);
  void read_base(int depth, Platform& platform);
  void read_constants(Platform& platform);
  void refuse_unknown();

  // The value in the kind's own unit, or nothing after an error.
  std::optional<double> number(const toml::table& constant, const std::string& key, Kind kind);
  std::optional<double> constant(const std::string& section, const std::string& key, Kind kind);
  template <class T>
  void read_constant(const std::string& section, const std::string& key, Kind kind, T& value);

  const toml::table& file_;
  TomlReader& toml_;
  std::vector<Provenance> sources_;
  std::vector<Provenance> inherited_;                      // of the base, parallel to constants.def
  std::map<std::string, std::vector<std::string>> known_;  // section → its constants
};

std::string Reader::text(const char* key, bool required) {
  const toml::node* node = file_.get(key);
  if (!node) {
    if (required) complain(nullptr, fmt::format("'{}' is missing", key));
    return {};
  }
  const auto* value = node->as_string();
  if (!value || value->get().empty()) complain(node, fmt::format("'{}' must be text", key));
  return value ? value->get() : "";
}

void Reader::read_base(int depth, Platform& platform) {
  const std::string name = text("base", false);
  if (name.empty()) return;
  constexpr int kDeepest = 4;
  if (depth >= kDeepest) return complain(file_.get("base"), "platforms build on each other too deeply, or in a circle");
  auto base = load_platform(name, depth + 1);
  if (!base) {
    for (const Diagnostic& d : base.error().list) complain(file_.get("base"), fmt::format("base: {}", d.message));
    return;
  }
  inherited_ = base->sources;
  platform = std::move(*base);
}

std::optional<double> Reader::number(const toml::table& constant, const std::string& key, Kind kind) {
  const toml::node* value = constant.get("value");
  if (!value) {
    complain(&constant, fmt::format("{}: 'value' is missing", key));
    return {};
  }
  if (kind == Kind::flag) {
    if (const auto* b = value->as_boolean()) return b->get() ? 1 : 0;
    complain(value, fmt::format("{}: true or false is expected", key));
    return {};
  }
  const auto found = value->value<double>();
  if (!found || !std::isfinite(*found) || *found < 0) {
    complain(value, fmt::format("{}: a number that is not negative is expected", key));
    return {};
  }
  const auto units = units_of(kind);
  const toml::node* unit = constant.get("unit");
  if (units.empty()) {
    if (unit) complain(unit, fmt::format("{}: has no unit", key));
    return found;
  }
  std::string all;
  for (const Unit& u : units) {
    if (unit && unit->is_string() && unit->as_string()->get() == u.name) return *found * u.scale;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", u.name);
  }
  complain(unit ? unit : &constant, fmt::format("{}: 'unit' must be one of {}", key, all));
  return {};
}

std::optional<double> Reader::constant(const std::string& section, const std::string& key, Kind kind) {
  const std::string full = section + "." + key;
  known_[section].push_back(key);
  const toml::node* table = file_.get(section);
  if (table && !table->is_table()) return {};  // refuse_unknown complains
  const toml::node* node = table ? table->as_table()->get(key) : nullptr;
  const size_t row = sources_.size();
  sources_.push_back(row < inherited_.size() ? inherited_[row] : Provenance{full, ""});
  if (!node) {
    if (inherited_.empty()) complain(table, fmt::format("{} is missing", full));
    return {};
  }
  const toml::table* parts = node->as_table();
  if (!parts) {
    complain(node, fmt::format("{}: write {{ value = …, source = \"…\" }}", full));
    return {};
  }
  const toml::node* source = parts->get("source");
  if (!source || !source->is_string() || source->as_string()->get().empty()) {
    complain(source ? source : node, fmt::format("{}: 'source' is missing: where does the value come from?", full));
  } else {
    sources_[row].source = source->as_string()->get();
  }
  toml_.refuse_unknown(*parts, {"value", "unit", "source"}, "key", full);
  return number(*parts, full, kind);
}

template <class T>
void Reader::read_constant(const std::string& section, const std::string& key, Kind kind, T& value) {
  const auto found = constant(section, key, kind);
  if (!found) return;
  if constexpr (std::is_same_v<T, bool>) {
    value = *found != 0;
  } else if constexpr (std::is_integral_v<T>) {
    const double whole = std::round(*found);
    // Below a picosecond or a byte nothing is told apart; counts must be whole as they stand.
    if ((kind == Kind::count || kind == Kind::cycles) && whole != *found) {
      return complain(file_.get(section), fmt::format("{}.{}: a whole number is expected", section, key));
    }
    constexpr double kLongest = 1e12;  // a second
    if (whole >= static_cast<double>(std::numeric_limits<T>::max()) || (kind == Kind::duration && whole > kLongest)) {
      return complain(file_.get(section), fmt::format("{}.{}: is too large", section, key));
    }
    value = static_cast<T>(whole);
  } else {
    value = *found;
  }
}

void Reader::read_constants(Platform& platform) {
  std::string section_name;
#define SECTION(Type, section, in_use) \
  {                                    \
    auto& at = platform.section;       \
    section_name = #section;
#define CONSTANT(kind, range, group, key, meaning) read_constant(section_name, #key, Kind::kind, at.key);
#define END_SECTION(Type, section) }
#include "common/platform/constants.def"
#undef SECTION
#undef CONSTANT
#undef END_SECTION
}

void Reader::refuse_unknown() {
  std::vector<std::string> names = {"name", "description", "device_name", "base"};
  for (const auto& [section, constants] : known_) {
    names.push_back(section);
    const toml::node* node = file_.get(section);
    if (!node) continue;
    if (const toml::table* table = node->as_table()) {
      toml_.refuse_unknown(*table, constants, "constant", fmt::format("[{}]", section));
    } else {
      complain(node, fmt::format("'{}' must be a section: [{}]", section, section));
    }
  }
  toml_.refuse_unknown(file_, names, "section or key");
}

Platform Reader::read(int depth) {
  Platform platform;
  read_base(depth, platform);
  const bool alone = inherited_.empty();
  platform.name = text("name", true);
  if (std::string own = text("description", alone); !own.empty()) platform.description = own;
  if (std::string own = text("device_name", alone); !own.empty()) platform.device_name = own;
  read_constants(platform);
  platform.sources = sources_;
  refuse_unknown();
  return platform;
}

// The ranges of constants.def, in the unit of the constant's kind.
struct Range {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
};

namespace ranges {
constexpr Range any;
constexpr Range positive{.least = 1};
constexpr Range fraction{.most = 1};
constexpr Range clock{1e6, 1e12};
constexpr Range bandwidth{1e8, 1e15};  // what a BandwidthCalendar can represent
}  // namespace ranges

void check_range(Errors& errors, std::string_view section, std::string_view key, Range range, double value) {
  if (value >= range.least && value <= range.most) return;
  const std::string allowed = std::isinf(range.most) ? fmt::format("at least {:g}", range.least)
                                                     : fmt::format("{:g} to {:g}", range.least, range.most);
  errors.list.push_back({{}, fmt::format("{}.{}: {:g} is out of range ({})", section, key, value, allowed)});
}

void check_ranges(const Platform& p, Errors& errors) {
#define SECTION(Type, section, in_use)      \
  if (in_use) {                             \
    const std::string_view name = #section; \
    const auto& at = p.section;
#define CONSTANT(kind, range, group, key, meaning) \
  check_range(errors, name, #key, ranges::range, static_cast<double>(at.key));
#define END_SECTION(Type, section) }
#include "common/platform/constants.def"
#undef SECTION
#undef CONSTANT
#undef END_SECTION
}

// Conditions on several constants at once.
void check_together(const Platform& p, Errors& errors) {
  constexpr uint64_t kMostDevices = 128;
  const auto require = [&](bool holds, const char* message) {
    if (!holds) errors.list.push_back({{}, message});
  };
  require(uint64_t{p.node.nodes} * p.node.devices <= kMostDevices,
          "a platform has 1 to 128 devices, all nodes together");
  require(!p.multicast.supported || p.peer.nvlink, "multicast.supported: needs peer.nvlink");
  require(p.node.nodes < 2 || p.nic.per_node > 0, "nic.per_node: several nodes need network cards");
  if (p.nic.per_node == 0 || p.node.devices == 0) return;
  check_range(errors, "nic", "bandwidth of one device", ranges::bandwidth,
              p.nic.bandwidth * p.nic.per_node / p.node.devices);
}

}  // namespace

std::string values_text(const Platform& platform) {
  std::string text = platform.device_name + "\n";
#define SECTION(Type, section, in_use) \
  {                                    \
    const auto& at = platform.section;
#define CONSTANT(kind, range, group, key, meaning) text += fmt::format("{} {}\n", #key, at.key);
#define END_SECTION(Type, section) }
#include "common/platform/constants.def"
#undef SECTION
#undef CONSTANT
#undef END_SECTION
  return text;
}

Result<Platform> parse_platform(std::string_view text, int depth) {
  Errors errors;
  TomlReader toml(errors);
  Platform platform;
  if (const auto file = toml.parse(text)) platform = Reader(*file, toml).read(depth);
  if (errors.list.empty()) {
    check_ranges(platform, errors);
    check_together(platform, errors);
  }
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return platform;
}

}  // namespace fb::platform
