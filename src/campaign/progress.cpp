#include "campaign/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "common/base/output.h"

namespace fb::campaign {
namespace {

using Seconds = std::chrono::duration<double>;

std::string duration_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.0f} h {:02.0f} min", std::floor(seconds / kHour), std::fmod(seconds, kHour) / kMinute);
}

// Estimate of the remaining time from the samples this process has done; empty before the first.
std::string time_left(const Status& s) {
  const size_t done = s.done - s.done_before, left = s.samples - s.done - s.stuck;
  if (done == 0 || left == 0) return "";
  return duration_text(Seconds(s.elapsed).count() / static_cast<double>(done) * static_cast<double>(left));
}

// A cost that is not known is not a cost of nothing.
std::string cost_text(const Status& s) {
  const std::string calls = fmt::format("{} call{}", s.unpriced, s.unpriced == 1 ? "" : "s");
  if (s.unpriced == 0) return fmt::format("${:.2f}", s.usd);
  if (s.usd == 0) return fmt::format("cost unknown ({} without a price)", calls);
  return fmt::format("${:.2f} and {} without a price", s.usd, calls);
}

std::string line_of(const record::Attempt& a, const Status& s) {
  std::string text = fmt::format("[{}/{}] {} {} sample {} round {}: {}", s.done, s.samples, a.model, a.problem,
                                 a.sample, a.round, outcome(a));
  if (a.passed() && a.verdict->speed) text += fmt::format(" {:.2f}x", *a.verdict->speed);
  if (a.call.usd) text += fmt::format(" ${:.4f}", *a.call.usd);
  if (a.cached) text += " (judged before)";
  return text;
}

class Plain final : public Progress {
 public:
  explicit Plain(std::FILE* out) : out_(out) {}

  void began(const Status& s) override { say(fmt::format("{} samples, {} done before", s.samples, s.done)); }
  void attempted(const record::Attempt& attempt, const Status& s) override { say(line_of(attempt, s)); }
  void note(const std::string& text) override { say(text); }
  void looked(const Status& s) override {
    // A sign of life during long steps.
    constexpr auto kOften = std::chrono::seconds(60);
    if (s.elapsed < last_ + kOften) return;
    last_ = s.elapsed;
    say(headline(s));
  }
  void ended(const Status& s) override { say(headline(s)); }

 private:
  void say(const std::string& text) {
    print_to(out_, "{}\n", text);
    flush(out_);
  }

  std::FILE* out_;
  std::chrono::steady_clock::duration last_ = {};
};

// The last attempts scroll; below them a bar, the headline and the work in progress.
class Live final : public Progress {
 public:
  Live(std::FILE* out, int columns) : out_(out), columns_(static_cast<size_t>(std::max(columns, 20))) {}

  void began(const Status& s) override { draw(s); }
  void attempted(const record::Attempt& attempt, const Status& s) override {
    above(line_of(attempt, s));
    draw(s);
  }
  void note(const std::string& text) override { above(text); }
  void looked(const Status& s) override {
    constexpr auto kOften = std::chrono::milliseconds(150);
    if (s.elapsed >= last_ + kOften) draw(s);
  }
  void ended(const Status& s) override {
    erase();
    print_to(out_, "{}\n", headline(s));
    flush(out_);
  }

 private:
  void above(const std::string& text) {
    erase();
    print_to(out_, "{}\n", text);
  }
  // A wrapped line would break the redraw. Texts are ASCII except for a few dots, counted by bytes.
  std::string cut(const std::string& text) const { return text.substr(0, columns_ - 1); }

  void erase() {
    if (lines_ > 0) print_to(out_, "\x1b[{}A\r\x1b[J", lines_);
    lines_ = 0;
  }

  void draw(const Status& s) {
    erase();
    last_ = s.elapsed;
    const size_t width = std::min<size_t>(columns_ - 3, 60);
    const size_t full = s.samples == 0 ? 0 : width * s.done / s.samples;
    print_to(out_, "[{:#>{}}{:.>{}}]\n{}\n", "", full, "", width - full, cut(headline(s)));
    for (const std::string& text : s.now) print_to(out_, "{}\n", cut("  " + text));
    lines_ = 2 + s.now.size();
    flush(out_);
  }

  std::FILE* out_;
  size_t columns_, lines_ = 0;
  std::chrono::steady_clock::duration last_ = {};
};

}  // namespace

std::string headline(const Status& s) {
  std::string text = fmt::format("{} of {} samples done, {} passed", s.done, s.samples, s.passed);
  if (s.stuck > 0) text += fmt::format(", {} left for another time", s.stuck);
  text += fmt::format(", {}, {}", cost_text(s), duration_text(Seconds(s.elapsed).count()));
  if (const std::string left = time_left(s); !left.empty()) text += ", about " + left + " to go";
  return text;
}

std::unique_ptr<Progress> plain_progress(std::FILE* out) { return std::make_unique<Plain>(out); }

std::unique_ptr<Progress> live_progress(std::FILE* out, int columns) { return std::make_unique<Live>(out, columns); }

std::unique_ptr<Progress> make_progress(std::FILE* out) {
  winsize size{};
  if (isatty(fileno(out)) == 0 || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return plain_progress(out);
  return live_progress(out, size.ws_col);
}

}  // namespace fb::campaign
