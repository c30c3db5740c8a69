#include "judge/catalog/problem_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "common/base/spelling.h"
#include "common/base/strings.h"
#include "common/base/toml_reader.h"
#include "judge/catalog/collectives.h"
#include "judge/catalog/libraries.h"
#include "judge/catalog/names.h"
#include "judge/catalog/rules.h"

namespace fb::catalog {
namespace {

constexpr int kMostRanks = 72;  // of one NVLink domain
constexpr int kLevels = 3;
constexpr auto kKeysOfSizes = std::to_array<std::string_view>({"name", "quick", "timed", "scale", "samples"});
constexpr auto kFills = std::to_array<std::string_view>({"spread", "unit", "integers", "bits", "none"});

// Why this fill does not fit the format; empty if it does.
std::string why_no_fill(std::string_view fill, DType type) {
  if ((fill == "spread" || fill == "unit") && !is_float(type)) return "needs a float";
  if (fill == "integers" && !is_signed(type)) return "needs a float or a signed integer";
  if (fill == "bits" && is_float(type)) return "needs an integer";
  return {};
}

// May be empty after an error.
bool is_title(std::string_view name) {
  return trim(name) == name && std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

// The rest is the problem's: tensors, worlds, and with them the oracle.
const std::vector<std::string> kKeysOfVariants = {"name",       "title", "library", "level",     "level_reason", "tags",
                                                  "provenance", "rules", "cost",    "unreached", "size"};

// How work is split over GPUs, in the field's abbreviations. "collective": the problem is the communication itself.
constexpr auto kParallelism = std::to_array<std::string_view>(
    {"collective", "TP", "SP", "CP", "EP", "DP", "PP", "FSDP", "ZeRO", "spatial", "graph", "recsys", "sort"});
bool is_parallelism(std::string_view word) { return std::ranges::find(kParallelism, word) != kParallelism.end(); }

Expression one() { return Expression::parse("1").value(); }

class ProblemReader {
 public:
  ProblemReader(Places& places, Errors& errors) : reader_(errors), places_(places) {}

  Problem read(const toml::table& file) {
    reader_.refuse_unknown(
        file, {"title",       "track",      "category", "library", "level",     "level_reason", "tags",
               "parallelism", "provenance", "worlds",   "group",   "platform",  "atomic_bytes", "parameters",
               "size",        "tensor",     "rules",    "cost",    "interface", "unreached",    "collective"});
    read_facts(file);
    read_worlds(file);
    read_parameters(file);
    read_group(file);
    for (const toml::table* size : reader_.tables(file, "size")) read_size(*size);
    check_sizes(file);
    for (const toml::table* tensor : reader_.tables(file, "tensor")) read_tensor(*tensor);
    if (!problem_.tensors.empty() && std::ranges::none_of(problem_.tensors, &Tensor::output))
      reader_.complain(places_.tensors[0], "no tensor is an output (role = \"out\")");
    if (const auto* rules = section(file, "rules")) read_rules(*rules);
    read_cost(file);
    if (const auto* interface = section(file, "interface")) read_interface(*interface);
    if (file.contains("unreached")) {
      for (const toml::table* one : reader_.tables(file, "unreached")) read_unreached(*one);
    }
    return std::move(problem_);
  }

 private:
  const toml::table* section(const toml::table& file, std::string_view key) {
    const toml::node* node = file.get(key);
    if (node == nullptr) return nullptr;
    if (const auto* table = node->as_table()) return table;
    reader_.complain(*node, fmt::format("'{}' must be a table, [{}]", key, key));
    return nullptr;
  }

  void read_facts(const toml::table& file);
  void read_worlds(const toml::table& file);
  void read_parameters(const toml::table& file);
  void read_group(const toml::table& file);
  void read_size(const toml::table& size);
  void read_samples(const toml::table& from, SizeClass& size);
  void check_sizes(const toml::table& file);
  void read_tensor(const toml::table& tensor);
  void read_fill(const toml::table& from, Tensor& tensor);
  void read_rules(const toml::table& rules);
  void read_cost(const toml::table& file);
  void read_interface(const toml::table& from);
  void read_unreached(const toml::table& from);
  bool is_parameter(std::string_view name) const {
    return std::ranges::any_of(problem_.parameters, [&](const auto& p) { return p.first == name; });
  }
  // An expression over the parameters and `others`.
  Expression expression(const toml::node& node, std::string_view key, std::initializer_list<std::string_view> others);

  TomlReader reader_;
  Places& places_;
  Problem problem_;
};

void ProblemReader::read_facts(const toml::table& file) {
  problem_.title = reader_.text(file, "title");
  problem_.track = reader_.text(file, "track");
  problem_.category = reader_.text(file, "category");
  problem_.library = reader_.text(file, "library");
  problem_.level_reason = reader_.text(file, "level_reason");
  problem_.provenance = reader_.text(file, "provenance");
  problem_.platform = reader_.optional_text(file, "platform").value_or("h100x8");
  if (!problem_.track.empty() && problem_.track != "comm" && problem_.track != "kernel")
    reader_.complain(*file.get("track"), fmt::format("track '{}': there are comm and kernel", problem_.track));
  if (!problem_.library.empty() && !is_label(problem_.library))
    reader_.complain(*file.get("library"),
                     fmt::format("library '{}': lower-case letters, digits and '-'", problem_.library));
  if (const toml::node* category = file.get("category")) places_.category = TomlReader::location(*category);
  if (const toml::node* track = file.get("track")) places_.track = TomlReader::location(*track);
  if (const auto level = reader_.integer(file, "level")) {
    if (*level < 1 || *level > kLevels) {
      reader_.complain(*file.get("level"), fmt::format("level {}: there are levels 1 to {}", *level, kLevels));
    } else {
      problem_.level = static_cast<int>(*level);
    }
  }
  if (file.contains("atomic_bytes")) {
    const auto bytes = reader_.integer(file, "atomic_bytes");
    if (bytes && *bytes != 8 && *bytes != 16)
      reader_.complain(*file.get("atomic_bytes"), fmt::format("atomic_bytes {}: there are 8 and 16", *bytes));
    problem_.atomic_bytes = static_cast<int>(bytes.value_or(problem_.atomic_bytes));
  }
  if (file.contains("parallelism")) {
    for (auto& [way, at] : reader_.texts(file, "parallelism")) {
      if (!is_parallelism(way))
        reader_.complain(at, fmt::format("parallelism '{}': there are {}", way, fmt::join(kParallelism, ", ")));
      problem_.parallelism.push_back(std::move(way));
    }
  }
  if (const toml::node* collective = file.get("collective")) {
    problem_.collective = reader_.text(file, "collective");
    if (!problem_.collective.empty() && find_collective(problem_.collective) == nullptr) {
      std::vector<std::string_view> names;
      for (const Collective& known : collectives()) names.push_back(known.name);
      reader_.complain(*collective,
                       fmt::format("collective '{}': there are {}", problem_.collective, fmt::join(names, ", ")));
    }
  }
  if (problem_.track == "kernel" && problem_.parallelism.empty())
    reader_.complain(*file.get("track"),
                     "a problem of track kernel says how its work is split: parallelism = [\"TP\"]");
  for (auto& [tag, at] : reader_.texts(file, "tags")) {
    if (!is_label(tag)) reader_.complain(at, fmt::format("tag '{}': lower-case letters, digits and '-'", tag));
    problem_.tags.push_back(std::move(tag));
  }
}

void ProblemReader::read_worlds(const toml::table& file) {
  for (const toml::node* node : reader_.list(file, "worlds")) {
    const auto* value = node->as_integer();
    if (value == nullptr) {
      reader_.complain(*node, "'worlds' must hold whole numbers");
    } else if (value->get() < 1 || value->get() > kMostRanks) {
      reader_.complain(*node, fmt::format("a world of {} ranks: there are 1 to {}", value->get(), kMostRanks));
    } else if (std::ranges::find(problem_.worlds, value->get()) != problem_.worlds.end()) {
      reader_.complain(*node, fmt::format("a world of {} ranks appears twice", value->get()));
    } else {
      problem_.worlds.push_back(static_cast<int>(value->get()));
    }
  }
}

void ProblemReader::read_parameters(const toml::table& file) {
  const toml::table* table = section(file, "parameters");
  if (table == nullptr) return;
  // toml++ sorts keys by name; Args has them in the order of the file.
  std::vector<std::pair<Location, const toml::key*>> keys;
  for (const auto& [key, node] : *table) {
    const auto& begin = key.source().begin;
    keys.push_back({{static_cast<uint32_t>(begin.line), static_cast<uint32_t>(begin.column)}, &key});
  }
  std::ranges::sort(keys, {}, [](const auto& k) { return std::pair(k.first.line, k.first.column); });
  for (const auto& [at, key] : keys) {
    const std::string name(key->str());
    if (const std::string why = why_no_field(name); !why.empty()) reader_.complain(at, "parameter " + why);
    if (std::ranges::find(kKeysOfSizes, name) != kKeysOfSizes.end())
      reader_.complain(at, fmt::format("parameter '{}': every [[size]] has a key of this name", name));
    problem_.parameters.emplace_back(name, reader_.text(*table, name));
  }
}

void ProblemReader::read_group(const toml::table& file) {
  const toml::node* group = file.get("group");
  if (group == nullptr) return;
  const std::string name = reader_.text(file, "group");
  places_.group = TomlReader::location(*group);
  if (is_parameter(name)) {
    problem_.group = name;
  } else if (!name.empty()) {
    reader_.complain(*group, fmt::format("group '{}': there is no such parameter", name));
  }
}

void ProblemReader::read_size(const toml::table& from) {
  SizeClass size;
  size.name = reader_.text(from, "name");
  size.quick = reader_.flag(from, "quick");
  size.timed = reader_.flag(from, "timed");
  if (!is_title(size.name))
    reader_.complain(*from.get("name"),
                     fmt::format("size '{}': printable characters without blanks around", size.name));
  if (!size.name.empty() && std::ranges::find(problem_.sizes, size.name, &SizeClass::name) != problem_.sizes.end())
    reader_.complain(*from.get("name"), fmt::format("a second size '{}'", size.name));
  std::vector<std::string> known(kKeysOfSizes.begin(), kKeysOfSizes.end());
  for (const auto& [name, about] : problem_.parameters) {
    size.values[name] = reader_.integer(from, name).value_or(1);
    known.push_back(name);
  }
  reader_.refuse_unknown(from, known);
  read_samples(from, size);
  places_.sizes.push_back(TomlReader::location(from));
  problem_.sizes.push_back(std::move(size));
}

// `scale` and `samples` of a size that is too large to run.
void ProblemReader::read_samples(const toml::table& from, SizeClass& size) {
  constexpr size_t kLeast = 3;  // two points are always on a line
  constexpr double kUneven = 1.3;
  const auto scale = reader_.optional_text(from, "scale");
  const toml::node* const list = from.get("samples");
  if (!scale && list == nullptr) return;
  if (!scale || list == nullptr) return reader_.complain(from, "'scale' and 'samples' belong together");
  size.scale = *scale;
  if (!is_parameter(size.scale))
    return reader_.complain(*from.get("scale"), fmt::format("'scale': there is no parameter '{}'", size.scale));
  if (!size.timed || size.quick)
    reader_.complain(*from.get("scale"), "only a size with timed = true, and without quick = true, can be sampled");
  const toml::array* const values = list->as_array();
  int64_t before = 0;
  const int64_t whole = size.values.at(size.scale);
  for (size_t k = 0; values != nullptr && k < values->size(); ++k) {
    const auto* value = values->get(k)->as_integer();
    if (value == nullptr || value->get() <= before || value->get() >= whole)
      return reader_.complain(*list, fmt::format("'samples' must ascend, and be less than {} = {}", size.scale, whole));
    before = value->get();
    SizeClass sample = {.name = size.name, .values = size.values, .timed = true, .scale = size.scale, .samples = {}};
    sample.values[size.scale] = before;
    size.samples.push_back(std::move(sample));
  }
  if (size.samples.size() < kLeast) return reader_.complain(*list, "'samples' must be at least three values");
  for (size_t k = 2; k < size.samples.size(); ++k) {
    const auto at = [&](size_t i) { return static_cast<double>(size.samples[i].values.at(size.scale)); };
    const double gap = at(k - 1) - at(k - 2), next = at(k) - at(k - 1);
    if (std::max(gap, next) < kUneven * std::min(gap, next))
      reader_.complain(
          *list, "'samples' must not be evenly spaced: waves of blocks, one more at each, would look like a line");
  }
}

void ProblemReader::check_sizes(const toml::table& file) {
  if (problem_.sizes.empty()) return;
  const toml::node& first = *file.get("size");
  if (std::ranges::none_of(problem_.sizes, &SizeClass::quick)) reader_.complain(first, "no size has quick = true");
  if (std::ranges::none_of(problem_.sizes, &SizeClass::timed)) reader_.complain(first, "no size has timed = true");
}

Expression ProblemReader::expression(const toml::node& node, std::string_view key,
                                     std::initializer_list<std::string_view> others) {
  // A whole number needs no quotes.
  if (const auto* number = node.as_integer(); number != nullptr && number->get() >= 0)
    return Expression::parse(fmt::format("{}", number->get())).value();
  const auto* text = node.as_string();
  if (text == nullptr) {
    reader_.complain(node, fmt::format("'{}' must be an expression, as \"2 * n\"", key));
    return one();
  }
  auto parsed = Expression::parse(text->get());
  if (!parsed) {
    const Diagnostic& wrong = parsed.error().list[0];
    reader_.complain(node, fmt::format("'{}', character {}: {}", text->get(), wrong.at.column, wrong.message));
    return one();
  }
  bool known = true;
  for (const std::string& name : parsed->names()) {
    if (is_parameter(name) || std::ranges::find(others, name) != others.end()) continue;
    const bool of_ranks = name == "rank";
    reader_.complain(node,
                     of_ranks ? fmt::format("'{}': a cost is that of the worst rank and can't name 'rank'", text->get())
                              : fmt::format("'{}': there is no parameter '{}'", text->get(), name));
    known = false;
  }
  return known ? std::move(*parsed) : one();
}

void ProblemReader::read_tensor(const toml::table& from) {
  reader_.refuse_unknown(from, {"name", "role", "dtype", "shape", "fill", "replicated", "device", "about", "look_at"});
  Tensor tensor;
  tensor.name = reader_.text(from, "name");
  tensor.about = reader_.text(from, "about");
  if (from.contains("look_at")) tensor.look_at = reader_.text(from, "look_at");
  if (!tensor.name.empty()) {
    const toml::node& at = *from.get("name");
    if (const std::string why = why_no_field(tensor.name); !why.empty()) reader_.complain(at, "tensor " + why);
    if (is_parameter(tensor.name)) reader_.complain(at, fmt::format("'{}' is a parameter already", tensor.name));
    if (std::ranges::find(problem_.tensors, tensor.name, &Tensor::name) != problem_.tensors.end())
      reader_.complain(at, fmt::format("a second tensor '{}'", tensor.name));
  }
  const std::string role = reader_.text(from, "role");
  tensor.output = role == "out";
  if (!tensor.output && !tensor.look_at.empty())
    reader_.complain(*from.get("look_at"), "look_at is of outputs: an input is never wrong");
  if (!role.empty() && role != "in" && role != "out")
    reader_.complain(*from.get("role"), fmt::format("role '{}': there are in and out", role));
  const std::string dtype = reader_.text(from, "dtype");
  const auto type = dtype_from(dtype);
  if (type) tensor.dtype = *type;
  if (!dtype.empty() && !type) {
    std::vector<std::string_view> names;
    for (size_t k = 0; k < kDTypes; ++k) names.push_back(name_of(static_cast<DType>(k)));
    reader_.complain(*from.get("dtype"), fmt::format("dtype '{}': there are {}", dtype, fmt::join(names, " ")));
  }
  for (const toml::node* extent : reader_.list(from, "shape"))
    tensor.shape.push_back(expression(*extent, "shape", {"world", "rank"}));
  if (type && (role == "in" || role == "out")) read_fill(from, tensor);
  if (const toml::node* device = from.get("device")) tensor.device = expression(*device, "device", {"world", "rank"});
  tensor.replicated = reader_.flag(from, "replicated");
  if (tensor.replicated && std::ranges::any_of(tensor.shape, [](const auto& e) { return e.names().contains("rank"); }))
    reader_.complain(*from.get("replicated"), "a shape that names 'rank' is not the same on all ranks");
  places_.tensors.push_back(TomlReader::location(from));
  problem_.tensors.push_back(std::move(tensor));
}

void ProblemReader::read_fill(const toml::table& from, Tensor& tensor) {
  if (tensor.output) {
    if (const toml::node* fill = from.get("fill")) reader_.complain(*fill, "'fill' is a property of inputs");
    return;
  }
  tensor.fill = reader_.text(from, "fill");
  if (tensor.fill.empty()) return;
  if (std::ranges::find(kFills, tensor.fill) == kFills.end()) {
    reader_.complain(*from.get("fill"), fmt::format("fill '{}': there are {}", tensor.fill, fmt::join(kFills, " ")));
  } else if (const std::string why = why_no_fill(tensor.fill, tensor.dtype); !why.empty()) {
    reader_.complain(*from.get("fill"), fmt::format("fill '{}' {}, not {}", tensor.fill, why, name_of(tensor.dtype)));
  }
}

void ProblemReader::read_rules(const toml::table& from) {
  reader_.refuse_unknown(from, {"forbid_in_run", "forbid_symbols", "libraries"});
  std::vector<std::string> kinds;
  for (const Rule& rule : rules()) kinds.emplace_back(rule.kind);
  for (auto& [kind, at] : reader_.texts(from, "forbid_in_run")) {
    if (find_rule(kind) == nullptr)
      reader_.complain(at, fmt::format("unknown kind of request '{}'{}", kind, did_you_mean(kind, kinds)));
    problem_.rules.forbid_in_run.push_back(std::move(kind));
  }
  for (auto& [symbol, at] : reader_.texts(from, "forbid_symbols"))
    problem_.rules.forbid_symbols.push_back(std::move(symbol));
  std::vector<std::string> names;
  for (const Library& library : libraries()) names.emplace_back(library.name);
  for (auto& [name, at] : reader_.texts(from, "libraries")) {
    if (find_library(name) == nullptr)
      reader_.complain(at, fmt::format("unknown library '{}'{}", name, did_you_mean(name, names)));
    problem_.rules.libraries.push_back(std::move(name));
  }
}

void ProblemReader::read_cost(const toml::table& file) {
  if (reader_.required(file, "cost") == nullptr) return;
  const toml::table* from = section(file, "cost");
  if (from == nullptr) return;
  reader_.refuse_unknown(*from, {"link_bytes", "memory_bytes", "flops", "least_link_bytes", "hops", "tensor_flops",
                                 "network_bytes", "least_network_bytes", "network_hops"});
  const auto read = [&](std::string_view key, Expression& into, Location& place) {
    const toml::node* node = reader_.required(*from, key);
    if (node == nullptr) return;
    place = TomlReader::location(*node);
    into = expression(*node, key, {"world"});
  };
  read("link_bytes", problem_.cost.link_bytes, places_.link_bytes);
  read("memory_bytes", problem_.cost.memory_bytes, places_.memory_bytes);
  read("flops", problem_.cost.flops, places_.flops);
  problem_.cost.least_link_bytes = problem_.cost.link_bytes;
  places_.least_link_bytes = places_.link_bytes;
  problem_.cost.hops = one();
  problem_.cost.tensor_flops = Expression::parse("0").value();
  problem_.cost.network_bytes = problem_.cost.network_hops = problem_.cost.tensor_flops;
  Location ignored;
  if (from->contains("tensor_flops")) read("tensor_flops", problem_.cost.tensor_flops, ignored);
  if (from->contains("hops")) read("hops", problem_.cost.hops, ignored);
  if (from->contains("network_hops")) read("network_hops", problem_.cost.network_hops, ignored);
  if (from->contains("network_bytes")) read("network_bytes", problem_.cost.network_bytes, places_.network_bytes);
  problem_.cost.least_network_bytes = problem_.cost.network_bytes;
  places_.least_network_bytes = places_.network_bytes;
  if (from->contains("least_network_bytes"))
    read("least_network_bytes", problem_.cost.least_network_bytes, places_.least_network_bytes);
  if (from->contains("least_link_bytes"))
    read("least_link_bytes", problem_.cost.least_link_bytes, places_.least_link_bytes);
}

void ProblemReader::read_unreached(const toml::table& from) {
  reader_.refuse_unknown(from, {"line", "why"});
  problem_.unreached.push_back({.line = reader_.text(from, "line"), .why = reader_.text(from, "why")});
}

void ProblemReader::read_interface(const toml::table& from) {
  reader_.refuse_unknown(from, {"construct", "host", "device"});
  Interface& interface = problem_.interface;
  const auto construct = reader_.optional_text(from, "construct");
  if (construct) {
    if (auto parameters = parse_parameters(*construct)) {
      interface.construct = std::move(*parameters);
    } else {
      reader_.complain(*from.get("construct"), parameters.error().list[0].message);
    }
  }
  const auto read = [&](const char* key, bool of_object, std::vector<InterfaceFunction>& into) {
    if (from.get(key) == nullptr) return;
    for (const auto& [text, at] : reader_.texts(from, key)) {
      auto function = parse_function(text);
      if (!function) {
        reader_.complain(at, function.error().list[0].message);
      } else if (function->object.empty() == of_object) {
        reader_.complain(at, of_object
                                 ? "a function of a kernel is that of an object, as \"void Queue::push(Item item)\""
                                 : "a function of the host is that of Solution, and named without it");
      } else {
        into.push_back(std::move(*function));
      }
    }
  };
  read("host", false, interface.host);
  read("device", true, interface.device);
  for (const std::string& object : interface.objects()) {
    if (std::ranges::none_of(interface.host, [&](const auto& f) { return f.result == object; }))
      reader_.complain(from, fmt::format("no function of the host returns a {}", object));
  }
}

}  // namespace

Problem read_problem(std::string_view text, Places& places, Errors& errors) {
  const auto file = TomlReader(errors).parse(text);
  if (!file) return {};
  return ProblemReader(places, errors).read(*file);
}

Problem read_variant(std::string_view text, std::string_view problem, Places& places, Errors& errors) {
  TomlReader reader(errors);
  const auto variant = reader.parse(text);
  auto whole = toml::parse(problem);
  if (!variant) return {};
  reader.refuse_unknown(*variant, kKeysOfVariants);
  for (const std::string_view key : {"title", "library", "level", "level_reason", "provenance"})
    reader.required(*variant, key);
  const std::string name = reader.text(*variant, "name");
  // What the problem says of its own solution is not said of the variant's.
  for (const std::string_view key : {"tags", "rules", "unreached"}) whole.erase(key);
  for (const auto& [key, node] : *variant) {
    if (key.str() != "name") whole.insert_or_assign(key.str(), node);
  }
  Problem made = ProblemReader(places, errors).read(whole);
  made.name = name;
  return made;
}

}  // namespace fb::catalog
