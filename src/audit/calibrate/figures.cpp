#include "audit/calibrate/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "audit/calibrate/folder.h"
#include "common/base/strings.h"
#include "common/base/toml_reader.h"

namespace fb::calibrate {
namespace {

struct Unit {
  std::string_view name;
  bool is_time;
};
constexpr std::array kUnits = {
    Unit{"cycles", true},         Unit{"ns", true},          Unit{"us", true},    Unit{"lanes/cycle/SM", false},
    Unit{"FLOP/cycle/SM", false}, Unit{"B/cycle/SM", false}, Unit{"GB/s", false}, Unit{"Gops/s", false}};

class FigureReader {
 public:
  explicit FigureReader(Errors& errors) : reader_(errors) {}

  void read(std::string_view text, const std::string& platform, Figures& figures) {
    const auto file = reader_.parse(text);
    if (!file) return;
    reader_.refuse_unknown(*file, {"arch", "source", "figure"});
    read_names(*file, "arch", arches_);
    read_names(*file, "source", sources_);
    for (const auto* table : reader_.tables(*file, "figure")) {
      Figure figure = read_figure(*table);
      if (figure.platform == platform) figures.figures.push_back(std::move(figure));
    }
    if (const auto found = arches_.find(platform); found != arches_.end()) figures.arch = found->second;
  }

 private:
  // [section] name = "text"
  void read_names(const toml::table& file, std::string_view section, std::map<std::string, std::string>& names) {
    const auto* table = file[section].as_table();
    if (table == nullptr) return;
    for (const auto& [name, text] : *table) names[std::string(name.str())] = reader_.text_of(text, name.str());
  }

  Figure read_figure(const toml::table& table) {
    reader_.refuse_unknown(table, {"id", "group", "what", "platform", "set", "program", "arguments", "value", "unit",
                                   "published", "clock", "peak", "source"});
    Figure figure{.id = reader_.text(table, "id"),
                  .group = reader_.text(table, "group"),
                  .what = reader_.text(table, "what"),
                  .platform = reader_.text(table, "platform"),
                  .program = reader_.text(table, "program"),
                  .value = reader_.number(table, "value").value_or(1),
                  .unit = reader_.text(table, "unit"),
                  .clock = reader_.optional_number(table, "clock"),
                  .peak = reader_.optional_number(table, "peak")};
    reader_.optional_text(table, "published");
    if (!ids_.insert(figure.id).second) reader_.complain(table, fmt::format("there are two figures '{}'", figure.id));
    if (!arches_.contains(figure.platform))
      reader_.complain(table, fmt::format("[arch] has no platform '{}'", figure.platform));
    if (figure.value <= 0) reader_.complain(table, "a value is more than 0");
    if (figure.peak && *figure.peak <= 0) reader_.complain(table, "a peak is more than 0");
    if (std::ranges::find(kUnits, figure.unit, &Unit::name) == kUnits.end())
      reader_.complain(table, fmt::format("unknown unit '{}'", figure.unit));
    const std::string set = reader_.text(table, "set");
    if (set != "fit" && set != "held_out") reader_.complain(table, "set is \"fit\" or \"held_out\"");
    figure.set = set == "fit" ? CurveUse::fit : CurveUse::held_out;
    const std::string arguments = reader_.optional_text(table, "arguments").value_or("");
    for (const auto word : split(arguments, ' ')) {
      if (!word.empty()) figure.arguments.emplace_back(word);
    }
    const std::string source = reader_.text(table, "source");
    if (const auto found = sources_.find(source); found != sources_.end())
      figure.source = found->second;
    else
      reader_.complain(table, fmt::format("[source] has no '{}'", source));
    return figure;
  }

  TomlReader reader_;
  std::map<std::string, std::string> arches_, sources_;
  std::set<std::string> ids_;
};

}  // namespace

Result<Figures> load_figures(const std::string& platform) {
  const auto folder = find_folder();
  if (!folder) return std::unexpected(folder.error());
  Figures figures{.folder = *folder + "/inside"};
  const std::string file = figures.folder + "/figures.toml";
  Errors errors;
  FigureReader(errors).read(read_file(file), platform, figures);
  if (!errors.list.empty()) return error(to_string(errors, file));
  if (figures.figures.empty()) return error(fmt::format("there is no figure of a single GPU of '{}'", platform));
  return figures;
}

bool is_time(std::string_view unit) {
  const auto found = std::ranges::find(kUnits, unit, &Unit::name);
  return found != kUnits.end() && found->is_time;
}

bool is_beyond_peak(const Figure& figure, double modelled) {
  if (!figure.peak) return false;
  return is_time(figure.unit) ? modelled < *figure.peak * (1 - kPeakRoom) : modelled > *figure.peak * (1 + kPeakRoom);
}

FigureSummary summarise(const Figures& figures, const std::vector<double>& modelled) {
  std::vector<double> fit, held_out;
  FigureSummary summary;
  for (size_t k = 0; k < figures.figures.size(); ++k) {
    const Figure& figure = figures.figures[k];
    const bool fits = figure.set == CurveUse::fit;
    (fits ? fit : held_out).push_back(modelled[k] / figure.value - 1);
    if (is_beyond_peak(figure, modelled[k])) ++(fits ? summary.beyond_fit : summary.beyond_held_out);
  }
  summary.fit = spread_of(std::move(fit));
  summary.held_out = spread_of(std::move(held_out));
  return summary;
}

}  // namespace fb::calibrate
