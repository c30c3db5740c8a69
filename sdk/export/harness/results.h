#pragma once

// What a run found: a table on the terminal, results.json, and a plot.

#include <cerrno>
#include <cmath>
#include <cstdio>

#include "card.h"
#include "timing.h"

namespace harness {

struct Row {
  std::string size, solution, wrong;
  double bytes = 0, link_bytes = 0;
  Times times;

  bool right() const { return wrong.empty(); }
  bool timed() const { return !times.one.us.empty(); }
};

class Json {
 public:
  Json& key(const char* name) {
    separate();
    string(name);
    text_ += ": ";
    fresh_ = true;
    return *this;
  }
  Json& open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }
  Json& value(const std::string& text) {
    separate();
    string(text);
    return *this;
  }
  Json& value(const char* text) { return value(std::string(text)); }
  Json& value(bool yes) { return raw(yes ? "true" : "false"); }
  Json& value(double number) {
    char text[40];
    std::snprintf(text, sizeof text, "%.10g", number);
    return raw(std::isfinite(number) ? text : "null");
  }
  Json& value(int number) { return value(static_cast<double>(number)); }
  Json& value(const Samples& samples) {
    open('[');
    for (const double us : samples.us) value(us);
    return close(']');
  }
  template <class T>
  Json& field(const char* name, const T& content) {
    return key(name).value(content);
  }
  const std::string& text() const { return text_; }

 private:
  void separate() {
    if (!fresh_) text_ += ", ";
    fresh_ = false;
  }
  Json& raw(const char* text) {
    separate();
    text_ += text;
    return *this;
  }
  void string(const std::string& text) {
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    text_ += '"';
  }
  std::string text_;
  bool fresh_ = true;
};

// A full disk is an error, too.
inline void write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((file && std::fclose(file) != 0) || !written)
    throw CannotRun(path + " can't be written: " + std::strerror(errno));
}

inline uint64_t checksum_of_file(const std::string& path) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
      hash = (hash ^ static_cast<uint64_t>(c)) * 0x100000001b3;
    std::fclose(file);
  }
  return hash;
}

class Results {
 public:
  Results(const Card& card, const Place& place, uint64_t seed)
      : card_(card), place_(place), seed_(seed), before_(card.clocks()) {}

  void print_head(bool with_times) const {
    std::printf("%s: %d ranks on %s; seed %llu\n", problem::name, place_.world, card_.name(),
                static_cast<unsigned long long>(seed_));
    std::printf("%-14s %-12s %12s  %-5s", "size", "solution", "bytes", "right");
    if (with_times)
      std::printf(" %10s %19s %10s %10s %8s %8s", "us", "low ... high", "us in row", "links GB/s", "algbw", "busbw");
    std::printf("\n");
  }
  void add(const Row& row) {
    rows_.push_back(row);
    std::printf("%-14s %-12s %12.0f  %-5s", row.size.c_str(), row.solution.c_str(), row.bytes,
                row.right() ? "yes" : "NO");
    if (row.timed()) {
      const Samples& one = row.times.one_by_events;
      char range[40];
      std::snprintf(range, sizeof range, "%.1f ... %.1f", one.low(), one.high());
      std::printf(" %10.1f %19s", one.median(), range);
      print_if(!row.times.many.us.empty(), " %10.1f", row.times.many_by_events.median());
      print_if(row.link_bytes > 0, " %10.2f", row.link_bytes / one.median() / 1e3);
      const double factor = problem::bus_factor(place_.world), algbw = row.bytes / one.median() / 1e3;
      print_if(factor > 0, " %8.2f", algbw);
      print_if(factor > 0, " %8.2f", algbw * factor);
    }
    std::printf("\n");
    if (!row.right()) std::printf("    %s\n", row.wrong.c_str());
    std::fflush(stdout);
  }
  bool all_right() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.right(); });
  }
  bool timed() const {
    return std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.timed(); });
  }

  std::string json() const {
    int runtime = 0, driver = 0;
    cudaRuntimeGetVersion(&runtime);
    cudaDriverGetVersion(&driver);
    char host[200] = "";
    gethostname(host, sizeof host - 1);
    Json j;
    j.open('{').field("schema", 1).field("problem", problem::name).field("task", problem::task_hash);
    j.field("world", place_.world).field("nodes", (place_.world + place_.local_world - 1) / place_.local_world);
    j.field("seed", static_cast<double>(seed_))
        .field("host", host)
        .field("modelled", !variable("FABRICBENCH_SOCKET").empty());
    j.key("gpu").open('{').field("name", card_.name()).field("capability", card_.capability());
    j.field("multiprocessors", card_.multiprocessors()).field("peer_access", card_.peers()).close('}');
    j.key("versions")
        .open('{')
        .field("driver", driver)
        .field("runtime", runtime)
        .field("nccl", nccl_version())
        .close('}');
    j.key("clocks").open('{');
    clocks(j, "before", before_);
    clocks(j, "after", card_.clocks());
    j.close('}');
    j.key("solutions").open('{');
    std::vector<std::string> named;
    for (const Row& row : rows_) {
      if (std::find(named.begin(), named.end(), row.solution) != named.end()) continue;
      named.push_back(row.solution);
      char text[20];
      std::snprintf(text, sizeof text, "%016llx",
                    static_cast<unsigned long long>(checksum_of_file(row.solution + ".cu")));
      j.field(row.solution.c_str(), std::string(text));
    }
    j.close('}').key("rows").open('[');
    for (const Row& row : rows_) {
      j.open('{').field("size", row.size).field("solution", row.solution).field("right", row.right());
      if (!row.right()) j.field("wrong", row.wrong);
      j.field("bytes", row.bytes).field("link_bytes", row.link_bytes);
      if (row.timed()) {
        j.field("us", row.times.one_by_events).field("us_host", row.times.one);
        j.field("us_in_row", row.times.many_by_events).field("us_in_row_host", row.times.many);
      }
      j.close('}');
    }
    return j.close(']').close('}').text() + "\n";
  }

  // Microseconds over bytes, both axes logarithmic.
  std::string plot() const {
    constexpr double kWidth = 720, kHeight = 420, kLeft = 70, kRight = 150, kTop = 30, kBottom = 50;
    constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b"};
    double low_x = INFINITY, high_x = 0, low_y = INFINITY, high_y = 0;
    std::vector<std::string> names;
    for (const Row& row : rows_) {
      if (!row.timed()) continue;
      const Samples& us = row.times.one_by_events;
      low_x = std::min(low_x, row.bytes), high_x = std::max(high_x, row.bytes);
      low_y = std::min(low_y, us.low()), high_y = std::max(high_y, us.high());
      if (std::find(names.begin(), names.end(), row.solution) == names.end()) names.push_back(row.solution);
    }
    const auto scale = [](double value, double low, double high, double from, double to) {
      const double share = high > low ? (std::log(value) - std::log(low)) / (std::log(high) - std::log(low)) : 0.5;
      return from + share * (to - from);
    };
    low_y /= 1.2, high_y *= 1.2;
    const auto x = [&](double bytes) {
      return scale(std::max(bytes, 1.0), std::max(low_x, 1.0), high_x, kLeft, kWidth - kRight);
    };
    const auto y = [&](double us) { return scale(us, low_y, high_y, kHeight - kBottom, kTop); };
    std::string svg;
    const auto add = [&](const char* format, auto... values) {
      char text[400];
      std::snprintf(text, sizeof text, format, values...);
      svg += text;
    };
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n",
        kWidth, kHeight);
    add("<rect width=\"%.0f\" height=\"%.0f\" fill=\"white\"/>\n", kWidth, kHeight);
    add("<text x=\"%.0f\" y=\"18\" font-size=\"14\">%s, %d ranks, %s</text>\n", kLeft, problem::name, place_.world,
        card_.name());
    add("<path d=\"M%.0f %.0fV%.0fH%.0f\" fill=\"none\" stroke=\"#888\"/>\n", kLeft, kTop, kHeight - kBottom,
        kWidth - kRight);
    for (double tick = std::pow(10, std::floor(std::log10(low_y))); tick <= high_y; tick *= 10) {
      for (const double part : {1.0, 2.0, 5.0}) {
        if (tick * part < low_y || tick * part > high_y) continue;
        add("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g</text><path d=\"M%.0f %.1fH%.0f\" stroke=\"#eee\"/>\n",
            kLeft - 6, y(tick * part) + 4, tick * part, kLeft, y(tick * part), kWidth - kRight);
      }
    }
    std::string last;
    double label_at = -INFINITY;
    for (const Row& row : rows_) {
      if (!row.timed() || row.size == last || x(row.bytes) < label_at + 60) continue;
      last = row.size, label_at = x(row.bytes);
      add("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n", label_at, kHeight - kBottom + 18,
          row.size.c_str());
    }
    add("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">size</text>\n", (kLeft + kWidth - kRight) / 2,
        kHeight - 10);
    add("<text x=\"16\" y=\"%.0f\" transform=\"rotate(-90 16 %.0f)\" text-anchor=\"middle\">us of one call, by "
        "events</text>\n",
        kHeight / 2, kHeight / 2);
    for (size_t k = 0; k < names.size(); ++k) {
      const char* colour = kColours[k % std::size(kColours)];
      std::string points;
      for (const Row& row : rows_) {
        if (!row.timed() || row.solution != names[k]) continue;
        const Samples& us = row.times.one_by_events;
        char at[60];
        std::snprintf(at, sizeof at, "%.1f,%.1f ", x(row.bytes), y(us.median()));
        points += at;
        add("<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
            x(row.bytes), y(us.low()), y(us.high()), colour, x(row.bytes), y(us.median()), colour);
      }
      svg += "<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" + colour + "\"/>\n";
      const double at = kTop + 10 + 18 * static_cast<double>(k);
      add("<circle cx=\"%.0f\" cy=\"%.0f\" r=\"4\" fill=\"%s\"/><text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
          kWidth - kRight + 14, at, colour, kWidth - kRight + 24, at + 4, names[k].c_str());
    }
    return svg + "</svg>\n";
  }

 private:
  static void print_if(bool known, const char* format, double value) {
    char text[40], width[8] = "";
    std::snprintf(text, sizeof text, format, value);
    std::snprintf(width, sizeof width, "%%%zus", std::strlen(text));
    if (known)
      std::printf("%s", text);
    else
      std::printf(width, "-");
  }
  static void clocks(Json& j, const char* name, const Clocks& c) {
    j.key(name).open('{').field("multiprocessor_mhz", c.multiprocessor_mhz).field("memory_mhz", c.memory_mhz);
    j.field("celsius", c.celsius).field("throttled", c.throttled != 0).close('}');
  }

  const Card& card_;
  Place place_;
  uint64_t seed_;
  Clocks before_;
  std::vector<Row> rows_;
};

}  // namespace harness
