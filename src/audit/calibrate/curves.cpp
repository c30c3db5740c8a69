#include "audit/calibrate/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/calibrate/folder.h"
#include "common/base/strings.h"
#include "common/base/toml_reader.h"

namespace fb::calibrate {
namespace {

class CurveReader {
 public:
  explicit CurveReader(Errors& errors) : reader_(errors) {}

  void read(std::string_view text, const std::string& platform, Curves& curves) {
    const auto file = reader_.parse(text);
    if (!file) return;
    reader_.refuse_unknown(*file, {"harness", "curve", "pair"});
    if (const auto* table = (*file)["harness"].as_table()) {
      for (const auto& [name, harness] : *table) {
        if (const auto* values = harness.as_table()) read_harness(std::string(name.str()), *values);
      }
    }
    for (const auto* table : reader_.tables(*file, "curve")) {
      Curve curve = read_curve(*table);
      if (curve.platform == platform) curves.curves.push_back(std::move(curve));
    }
    for (const auto* table : reader_.tables(*file, "pair")) read_pair(*table, curves);
  }

 private:
  void read_harness(const std::string& name, const toml::table& table) {
    reader_.refuse_unknown(table, {"before", "at_least", "copies", "copy_bandwidth", "source"});
    reader_.text(table, "source");
    const double copies = table["copies"].value_or(0.0), bandwidth = table["copy_bandwidth"].value_or(0.0);
    if ((copies > 0) != (bandwidth > 0)) reader_.complain(table, "copies and copy_bandwidth (GB/s) belong together");
    harnesses_[name] = {table["before"].value_or(0.0), table["at_least"].value_or(0.0),
                        bandwidth > 0 ? copies / (bandwidth * 1e3) : 0};
  }

  Curve read_curve(const toml::table& table) {
    reader_.refuse_unknown(table, {"id", "about", "from", "source", "platform", "split", "program", "algorithm",
                                   "cards", "ranks", "ranks_are_sizes", "exact", "harness", "points"});
    Curve curve{.id = reader_.text(table, "id"),
                .about = reader_.text(table, "about"),
                .platform = reader_.text(table, "platform"),
                .program = reader_.text(table, "program"),
                .algorithm = reader_.optional_text(table, "algorithm").value_or("")};
    curve.cards = reader_.flag(table, "cards");
    const std::string split = reader_.text(table, "split");
    if (split != "fit" && split != "held_out") reader_.complain(table, "split is \"fit\" or \"held_out\"");
    curve.split = split == "fit" ? CurveUse::fit : CurveUse::held_out;
    if (!reader_.flag(table, "ranks_are_sizes")) {
      curve.ranks = static_cast<uint32_t>(reader_.integer(table, "ranks").value_or(1));
    }
    curve.exact = table["exact"].value_or(uint64_t{0});
    if (const auto name = reader_.optional_text(table, "harness")) {
      const auto found = harnesses_.find(*name);
      if (found == harnesses_.end())
        reader_.complain(table, fmt::format("there is no harness '{}'", *name));
      else
        curve.harness = found->second;
    }
    for (const auto* node : reader_.list(table, "points")) {
      const auto* point = node->as_array();
      const auto size = point && point->size() == 2 ? (*point)[0].value<uint64_t>() : std::nullopt;
      const auto time = size ? (*point)[1].value<double>() : std::nullopt;
      if (!time || *time <= 0 || (!curve.points.empty() && *size <= curve.points.back().size)) {
        reader_.complain(*node, "a point is [size, microseconds], and sizes grow");
        continue;
      }
      curve.points.push_back({*size, *time});
    }
    return curve;
  }

  // Pairs of another platform's curves are skipped.
  void read_pair(const toml::table& table, Curves& curves) {
    const auto names = reader_.texts(table, "curves");
    if (names.size() != 2) return reader_.complain(table, "a pair has two curves");
    const auto index = [&](const std::string& id) {
      return static_cast<size_t>(std::ranges::find(curves.curves, id, &Curve::id) - curves.curves.begin());
    };
    const Pair pair{index(names[0].first), index(names[1].first)};
    if (std::max(pair.first, pair.second) < curves.curves.size()) curves.pairs.push_back(pair);
  }

  TomlReader reader_;
  std::map<std::string, Harness> harnesses_;
};

}  // namespace

Result<Curves> load_curves(const std::string& platform) {
  const auto folder = find_folder();
  if (!folder) return std::unexpected(folder.error());
  Curves curves{.folder = *folder};
  Errors errors;
  CurveReader(errors).read(read_file(*folder + "/curves.toml"), platform, curves);
  if (!errors.list.empty()) return error(to_string(errors, *folder + "/curves.toml"));
  if (curves.curves.empty()) return error(fmt::format("no curve was measured on '{}'", platform));
  return curves;
}

}  // namespace fb::calibrate
