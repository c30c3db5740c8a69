#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "campaign/report/site/code_view.h"
#include "campaign/report/site/markdown.h"
#include "campaign/report/site/pages.h"
#include "campaign/report/site/profile_view.h"
#include "campaign/report/site/roofline.h"
#include "campaign/report/site/sections.h"
#include "campaign/report/site/words.h"
#include "common/base/strings.h"

namespace fb::report::site {
namespace {

using record::Attempt;
using record::Verdict;

constexpr size_t kMostShown = 400'000;  // bytes of an answer

struct Answer {
  std::string text = {};
  bool is_cut = false;
  record::LineRange judged = {};               // unknown: no verdict, or one of a version that did not record it
  std::vector<record::LineRange> blocks = {};  // of code, as Markdown has them

  // The lines that were judged; empty where they are unknown.
  std::string_view code() const { return judged.known() ? lines(judged.first, judged.last) : std::string_view(); }

  // Empty where `first` is beyond the end.
  std::string_view lines(uint32_t first, uint32_t last) const {
    std::string_view rest = text;
    const auto next = [&](std::string_view from) { return std::min(from.find('\n'), from.size() - 1) + 1; };
    uint32_t line = 1;
    for (; line < first && !rest.empty(); ++line) rest.remove_prefix(next(rest));
    size_t length = 0;
    for (; line <= last && length < rest.size(); ++line) length += next(rest.substr(length));
    return rest.substr(0, length);
  }
};

bool overlap(record::LineRange a, record::LineRange b) { return a.first <= b.last && b.first <= a.last; }

record::LineRange lines_of(std::string_view code, uint32_t first_line) {
  return {.first = first_line, .last = first_line + static_cast<uint32_t>(std::ranges::count(code, '\n')) - 1};
}

// Empty where there is no file: a failed call has no answer.
Answer answer_of(const record::Run& run, const Attempt& attempt) {
  const std::string file = record::round_file(
      run.folder,
      {.model = attempt.model, .problem = attempt.problem, .sample = attempt.sample, .round = attempt.round},
      "answer.md");
  if (!std::filesystem::exists(file)) return {};
  Answer answer{.text = read_file(file)};
  answer.is_cut = answer.text.size() > kMostShown;
  answer.text.resize(std::min(answer.text.size(), kMostShown));
  const auto lines = static_cast<uint32_t>(std::ranges::count(answer.text, '\n')) + 1;
  if (attempt.verdict && attempt.verdict->judged_lines.first <= lines) answer.judged = attempt.verdict->judged_lines;
  render_markdown(answer.text, 1, [&](std::string_view code, uint32_t first_line) {
    if (first_line > 0) answer.blocks.push_back(lines_of(code, first_line));
    return Html();
  });
  return answer;
}

// The verdict's messages about lines of code that are on the page.
LineNotes notes_of(const Attempt& attempt, const Answer& answer) {
  if (!attempt.verdict || attempt.passed()) return {};
  LineNotes notes = mentioned_lines(attempt.verdict->summary + "\n" + attempt.verdict->explanation);
  std::erase_if(notes, [&](const auto& note) {
    const record::LineRange line{.first = note.first, .last = note.first};
    return !(answer.judged.known() && overlap(answer.judged, line)) &&
           std::ranges::none_of(answer.blocks, [&](record::LineRange block) { return overlap(block, line); });
  });
  return notes;
}

struct Round {
  const Site& site;
  const Model& model;
  const Problem& problem;
  const Sample& sample;
  uint32_t index = 0;
  const Attempt& attempt;

  std::string address(uint32_t other) const {
    return "../../../" + attempt_address(model, problem, sample, site.attempt(sample, other).round);
  }
};

// The rounds of the sample in order, this one marked. Widths are the seconds of model and judge.
Html timeline(const Round& round) {
  Html items;
  double most = 0;
  const auto judged = [](const Attempt& a) {
    if (!a.verdict || a.cached) return 0.0;
    const auto all = a.verdict->wall_seconds.find("all");
    return all == a.verdict->wall_seconds.end() ? 0.0 : all->second;
  };
  for (uint32_t i = 0; i < round.sample.attempts; ++i) {
    const Attempt& a = round.site.attempt(round.sample, i);
    most = std::max(most, a.call.seconds + judged(a));
  }
  for (uint32_t i = 0; i < round.sample.attempts; ++i) {
    const Attempt& a = round.site.attempt(round.sample, i);
    const OutcomeWords words = outcome_words(record::outcome(a));
    const double scale = most > 0 ? 100 / most : 0;
    const Html speed = a.passed() && a.verdict->speed ? html(" <b>{}×</b>", ratio_text(*a.verdict->speed)) : Html();
    const Html inner = html(
        "<span class=\"dot o-{}\" aria-hidden=\"true\">{}</span><span class=\"what\"><b>Round {}{}</b> "
        "<span>{}{}</span><span class=\"took\"><i class=\"call\" style=\"width:{:.2f}%\"></i>"
        "<i class=\"judge\" style=\"width:{:.2f}%\"></i></span><small>answer {}{}</small></span>",
        words.name, words.sign, a.round, a.for_speed ? ", for speed" : "", words.label, speed, a.call.seconds * scale,
        judged(a) * scale, time_text(a.call.seconds),
        a.cached        ? std::string(", verdict from the cache")
        : judged(a) > 0 ? ", judge " + time_text(judged(a))
                        : "");
    if (i == round.index) {
      items += html("<li aria-current=\"step\"><span>{}</span></li>\n", inner);
    } else if (round.site.has_page(round.sample, i)) {
      items += html("<li><a href=\"{}\">{}</a></li>\n", round.address(i), inner);
    } else {
      items += html("<li><span>{}</span></li>\n", inner);
    }
  }
  return html("<ol class=\"timeline\" aria-label=\"Rounds of this sample\">{}</ol>\n", items);
}

// Links to the model's other attempts at the problem.
Html other_samples(const Round& round, const Cell& cell) {
  if (cell.samples.size() < 2) return {};
  constexpr size_t kMostSamples = 24;
  Html samples;
  for (const Sample& sample : cell.samples) {
    if (&sample - cell.samples.data() >= static_cast<ptrdiff_t>(kMostSamples)) {
      samples += html("<a href=\"../../../{}#{}\">and {} more</a>", problem_address(round.problem),
                      model_anchor(round.model), cell.samples.size() - kMostSamples);
      break;
    }
    Html chips;
    for (uint32_t i = 0; i < sample.attempts; ++i)
      chips += attempt_chip(round.site, "../../../", round.model, round.problem, sample, i);
    samples += html("<span class=\"rounds{}\">{}</span>", sample.number == round.sample.number ? " here" : "", chips);
  }
  return html("<p class=\"muted\">All samples of this model for this problem: {}</p>\n", samples);
}

// "1.02 (0.98–1.05)"
std::string speed_text(const record::Timing& t) {
  std::string speed = ratio_text(t.speed());
  if (!t.speed_range.known()) return speed;
  return fmt::format("{} ({}–{})", speed, ratio_text(t.speed_range.low), ratio_text(t.speed_range.high));
}

Html timings(const Verdict& verdict) {
  if (verdict.timings.empty()) return {};
  Html rows, bounds;
  for (const record::Timing& t : verdict.timings) {
    const double most = std::max({t.seconds, t.yardstick_seconds(), t.limit_seconds});
    const auto bar = [&](std::string_view kind, double seconds) {
      return most > 0 && seconds > 0
                 ? html("<span class=\"tbar {}\" style=\"width:{:.2f}%\"></span>", kind, 100 * seconds / most)
                 : Html();
    };
    rows += html(
        "<tr><th scope=\"row\">{}<small>{}</small></th><td class=\"num\">{}<small>{}</small></td><td "
        "class=\"num\">{}</td>"
        "<td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"wide\">{}{}{}</td></tr>\n",
        t.size, plural(static_cast<uint64_t>(std::max(t.world, 0)), "rank", "ranks"), time_text(t.seconds),
        t.range.known() ? fmt::format("{} – {}", time_text(t.range.low), time_text(t.range.high)) : std::string(),
        t.yardstick_seconds() > 0 ? time_text(t.yardstick_seconds()) : std::string(kNothing),
        t.limit_seconds > 0 ? time_text(t.limit_seconds) : std::string(kNothing),
        t.speed() > 0 ? speed_text(t) : std::string(kNothing), bar("", t.seconds),
        bar("reference", t.yardstick_seconds()), bar("limit", t.limit_seconds));
    if (!t.refusal.empty())
      bounds +=
          html("<li>{}: figures are those of {} = {}: {}.</li>\n", t.size, t.scale, t.samples.back().value, t.refusal);
    if (t.refusal.empty() && !t.scale.empty())
      bounds += html("<li>{}: extrapolated from {} = {} to {}.</li>\n", t.size, t.scale, t.samples.front().value,
                     t.samples.back().value);
    if (!t.bound.empty()) bounds += html("<li>{}: {}.</li>\n", t.size, t.bound);
  }
  if (!bounds.empty()) bounds = html("<ul class=\"muted\">\n{}</ul>\n", bounds);
  return html(
      "<h3>{} on {}</h3>\n<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Size</th>"
      "<th scope=\"col\" class=\"num\">This</th><th scope=\"col\" class=\"num\">{}</th>"
      "<th scope=\"col\" class=\"num\">Limit</th><th scope=\"col\" class=\"num\">Speed</th>"
      "<th scope=\"col\" class=\"wide\"></th></tr></thead><tbody>{}</tbody></table></div>\n{}",
      verdict.backend == "virtual" ? "Modelled time" : "Time", verdict.platform,
      verdict.has_baseline() ? "Baseline" : "Reference", rows, bounds);
}

// The explanation without the summary at its beginning.
std::string_view rest_of(const Verdict& verdict) {
  std::string_view rest = verdict.explanation;
  if (!verdict.summary.empty() && rest.starts_with(verdict.summary)) {
    rest.remove_prefix(verdict.summary.size());
    if (rest.starts_with('.')) rest.remove_prefix(1);
  }
  return trim(rest);
}

Html roofline_of(const Verdict& verdict, const Problem& problem, const Model& model) {
  Roofline roofline;
  roofline.set(verdict.peaks);
  for (const record::Timing& t : verdict.timings) {
    if (!t.refusal.empty()) continue;  // figures of another size
    const ProblemCost* cost = cost_of(problem, t.size, t.world);
    roofline.add("limit", "limit", cost, t.limit_seconds);
    roofline.add("reference", "reference", cost, t.reference_seconds);
    roofline.add("baseline", "baseline", cost, t.baseline_seconds);
    roofline.add(model.label, "model", cost, t.seconds);
  }
  return roofline.figure();
}

Html verdict_box(const Round& round, const LineNotes& notes) {
  const Attempt& attempt = round.attempt;
  const OutcomeWords words = outcome_words(record::outcome(attempt));
  Html inner = html("<p class=\"head\"><b class=\"class\"><span aria-hidden=\"true\">{}</span> {}</b> {}</p>\n",
                    words.sign, words.label, words.meaning);
  if (!attempt.verdict) {
    const std::string why = attempt.call.error.empty() ? attempt.call.stop_reason : attempt.call.error;
    if (!why.empty()) inner += html("<p class=\"summary\">{}</p>\n", why);
    return html("<div class=\"verdict o-{}\">{}</div>\n", words.name, inner);
  }
  const Verdict& verdict = *attempt.verdict;
  if (attempt.passed()) {
    std::string figures;
    if (verdict.speed)
      figures = fmt::format("{} of the {}’s speed", ratio_text(*verdict.speed),
                            verdict.has_baseline() ? "baseline" : "reference");
    if (verdict.sol)
      figures += fmt::format("{}{} of the hardware’s limit", figures.empty() ? "" : ", ", percent_text(*verdict.sol));
    if (!figures.empty()) inner += html("<p class=\"summary\">{}</p>\n", figures);
  } else {
    if (!verdict.summary.empty()) inner += html("<p class=\"summary\">{}</p>\n", linked_text(verdict.summary, notes));
    if (const std::string place = place_text(verdict.location); !place.empty())
      inner += html("<p class=\"place\">Seen with {}.</p>\n", place);
    if (const auto rest = rest_of(verdict); !rest.empty())
      inner += html("<pre class=\"said-all\" tabindex=\"0\">{}</pre>\n", linked_text(rest, notes));
  }
  for (const std::string& note : verdict.notes) inner += html("<p class=\"note\">Note: {}</p>\n", note);
  if (verdict.sandbox == "none")
    inner += html("<p class=\"note\">Judged without a sandbox: this verdict can’t be trusted.</p>\n");
  return html("<div class=\"verdict o-{}\">{}</div>\n", words.name, inner);
}

Html facts(const Round& round) {
  const Attempt& attempt = round.attempt;
  const record::Call& call = attempt.call;
  Html rows;
  const auto fact = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) rows += html("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
  };
  fact("Model", call.model.empty() || call.model == attempt.model ? "" : call.model);
  fact("Answer",
       std::string(record::to_string(call.end)) + (call.stop_reason.empty() ? "" : " (" + call.stop_reason + ")"));
  const record::Usage& u = call.usage;
  if (u.input_tokens + u.output_tokens > 0) {
    fact("Tokens in", count_text(u.input_tokens) +
                          (u.cached_tokens > 0 ? fmt::format(", {} cached", count_text(u.cached_tokens)) : ""));
    fact("Tokens out",
         count_text(u.output_tokens) +
             (u.reasoning_tokens > 0 ? fmt::format(", {} of them reasoning", count_text(u.reasoning_tokens)) : ""));
  }
  fact("Price", call.usd ? usd_text(*call.usd) : "not known");
  fact("Answered in", call.seconds > 0 ? time_text(call.seconds) : "");
  if (call.tries > 1)
    fact("Tries",
         fmt::format("{}{}", call.tries, call.lost > 0 ? fmt::format(", {} with unknown end", call.lost) : ""));
  if (attempt.verdict) {
    const Verdict& v = *attempt.verdict;
    const auto all = v.wall_seconds.find("all");
    fact("Judged in", attempt.cached ? "from the cache" : all != v.wall_seconds.end() ? time_text(all->second) : "");
    if (v.calls > 0) {
      fact("Tried", fmt::format("{}, {}, {} compared", plural(v.sessions, "session", "sessions"),
                                plural(v.calls, "call", "calls"), plural(v.values, "value", "values")));
    }
    if (v.instructions > 0) fact("Warp instructions", count_text(v.instructions));
    fact("Thoroughness", v.thoroughness);
    fact("Seed", fmt::format("{}{}", v.seed, v.replayable ? "" : " (not replayable)"));
    fact("Candidate", v.candidate_hash.substr(0, 12));
    fact("FabricBench", v.version);
  }
  return html("<dl class=\"facts stacked rows\">{}</dl>\n", rows);
}

struct Section {
  std::string id, title;
  Html body;
};

// Lines of the code that was judged, which is on the page with its numbers.
AnswerLine judged_line(const Answer& answer) {
  return [&answer](uint32_t line) {
    const record::LineRange here{.first = line, .last = line};
    return answer.judged.known() && overlap(answer.judged, here) ? answer.lines(line, line) : std::string_view();
  };
}

Html code_section(const Answer& answer, const LineNotes& notes, const LineShares& shares) {
  std::string about = "Line numbers are those of the answer.";
  if (!shares.empty()) about += " Behind them: the line’s share of its kernel’s time.";
  if (!notes.empty()) about += " Lines that the verdict names are marked.";
  if (answer.is_cut) about += " The answer is very long; this is its beginning.";
  return html("<p class=\"muted\">{}</p>\n{}", about, code_view(answer.code(), answer.judged.first, notes, shares));
}

// The answer as Markdown. A link takes the place of the code that was judged; other code has its line numbers.
Html answer_section(const Answer& answer, const LineNotes& notes) {
  const Html link = html("<p class=\"muted\">… <a href=\"#code\">the code that was judged</a> …</p>\n");
  bool is_linked = false;
  const auto render = [&](std::string_view text, uint32_t lines_before) {
    return render_markdown(text, 4, [&](std::string_view code, uint32_t first_line) {
      if (first_line == 0) return code_block(code);
      first_line += lines_before;
      if (!answer.judged.known() || !overlap(lines_of(code, first_line), answer.judged))
        return code_view(code, first_line, notes);
      return std::exchange(is_linked, true) ? Html() : link;
    });
  };
  const bool is_fenced =
      std::ranges::any_of(answer.blocks, [&](record::LineRange block) { return overlap(block, answer.judged); });
  if (!answer.judged.known() || is_fenced) return html("<div class=\"prose\">{}</div>\n", render(answer.text, 0));
  // Code without a fence is not rendered as Markdown.
  constexpr uint32_t kToTheEnd = UINT32_MAX - 1;
  const std::string_view before = answer.lines(1, answer.judged.first - 1),
                         after = answer.lines(answer.judged.last + 1, kToTheEnd);
  if (trim(before).empty() && trim(after).empty()) return {};
  return html("<div class=\"prose\">{}{}{}</div>\n", render(before, 0), link, render(after, answer.judged.last));
}

std::vector<Section> answer_sections(const Round& round, const Answer& answer, const LineNotes& notes) {
  if (answer.text.empty()) return {{"code", "Code", html("<p class=\"muted\">There is no answer.</p>\n")}};
  if (answer.code().empty()) return {{"answer", "Answer", answer_section(answer, notes)}};
  std::vector<Section> sections;
  LineShares shares;
  if (round.attempt.verdict) {
    const record::Profile& profile = round.attempt.verdict->profile;
    shares = line_shares(profile, judged_line(answer));
    if (Html view = profile_view(profile, judged_line(answer)); !view.empty())
      sections.push_back({"profile", "Where the time goes", std::move(view)});
  }
  sections.push_back({"code", "Code", code_section(answer, notes, shares)});
  if (round.index > 0) {
    const Attempt& before = round.site.attempt(round.sample, round.index - 1);
    const Answer old = answer_of(round.site.runs[round.sample.run], before);
    if (!old.code().empty()) {
      sections.push_back({"diff", fmt::format("Changes since round {}", before.round),
                          diff_view(old.code(), old.judged.first, answer.code(), answer.judged.first)});
    }
  }
  if (Html words = answer_section(answer, notes); !words.empty())
    sections.push_back({"answer", "The rest of the answer", std::move(words)});
  return sections;
}

}  // namespace

std::string attempt_page(const Site& site, const Model& model, size_t problem_index, const Sample& sample,
                         uint32_t index) {
  const Problem& problem = site.summary->problems[problem_index];
  const Round round{site, model, problem, sample, index, site.attempt(sample, index)};
  const Attempt& attempt = round.attempt;
  Page page{.title = fmt::format("{} at {}, sample {} round {} · {}", model.label, problem.name, sample.number,
                                 attempt.round, site.title),
            .root = "../../../",
            .wants_code = true,
            .trail = {{site.title, "index.html"}, {problem.name, problem_address(problem)}}};
  const Answer answer = answer_of(site.runs[sample.run], attempt);
  const LineNotes notes = notes_of(attempt, answer);
  page.body = html(
      "<div class=\"hero\"><p class=\"kicker\"><a href=\"../../../{}\">{}</a></p><h1>{}</h1>"
      "<p class=\"lead\">Sample {}, round {}{}.</p></div>\n",
      problem_address(problem), problem.title.empty() ? problem.name : problem.title, model.label, sample.number,
      attempt.round, attempt.for_speed ? ", asked for a faster solution" : "");
  page.body += timeline(round);
  page.body += other_samples(round, model.cells[problem_index]);
  Html main = verdict_box(round, notes);
  if (attempt.verdict) main += timings(*attempt.verdict);
  if (attempt.verdict && site.has_bundles) {
    const Html figure = roofline_of(*attempt.verdict, problem, model);
    page.wants_plots = !figure.empty();
    main += figure;
  }
  page.body +=
      html("<section id=\"verdict\" class=\"split\"><div>{}</div><aside>{}</aside></section>\n", main, facts(round));
  const auto sections = answer_sections(round, answer, notes);
  if (sections.size() > 1) {
    Html links;
    for (const auto& [id, title, body] : sections) links += html("<a href=\"#{}\">{}</a>", id, title);
    page.body += html("<nav class=\"jump\" aria-label=\"On this page\">{}</nav>\n", links);
  }
  for (const auto& [id, title, body] : sections)
    page.body += html("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", id, title, body);
  return render(site, page);
}

}  // namespace fb::report::site
