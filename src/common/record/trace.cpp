#include "common/record/trace.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "common/base/strings.h"

namespace fb::record {
namespace {

// JSON holds UTF-8 only; other bytes come from a guest's names and become "?".
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += byte < 0x80 ? c : '?';
    }
  }
  return out += '"';
}

// The format counts microseconds; six decimals keep every picosecond.
std::string microseconds(uint64_t ps) { return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000); }

// Behind the last event of a file.
constexpr std::string_view kEnd = "\n]}\n";

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "0"; }

std::string to_text(const Trace::Value& value) {
  if (const auto* whole = std::get_if<uint64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) return number(*real);
  return quoted(std::get<std::string_view>(value));
}

std::string to_text(Trace::Arguments arguments) {
  if (arguments.size() == 0) return "";
  std::string text = ",\"args\":{";
  for (const auto& [name, value] : arguments) {
    if (text.back() != '{') text += ',';
    text += quoted(name) + ":" + to_text(value);
  }
  return text += '}';
}

}  // namespace

void Trace::append(std::string_view event) {
  if (body_.size() + event.size() + 2 > most_bytes_) {
    ++left_out_;
    return;
  }
  if (!body_.empty()) body_ += ",\n";
  body_ += event;
  ++events_;
}

void Trace::name_process(uint32_t process, std::string_view name) {
  append(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process, quoted(name)));
  append(
      fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", process, process));
}

void Trace::name_thread(uint32_t process, uint32_t thread, std::string_view name) {
  append(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process, thread,
                     quoted(name)));
  append(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process,
                     thread, thread));
}

void Trace::add_span(uint32_t process, uint32_t thread, std::string_view name, uint64_t begin_ps, uint64_t end_ps,
                     Arguments arguments) {
  append(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{}{}}})", quoted(name), process, thread,
                     microseconds(begin_ps), microseconds(end_ps > begin_ps ? end_ps - begin_ps : 0),
                     to_text(arguments)));
}

void Trace::add_instant(uint32_t process, uint32_t thread, std::string_view name, uint64_t at_ps, Arguments arguments) {
  append(fmt::format(R"({{"ph":"i","s":"t","name":{},"pid":{},"tid":{},"ts":{}{}}})", quoted(name), process, thread,
                     microseconds(at_ps), to_text(arguments)));
}

void Trace::add_counter(uint32_t process, std::string_view name, uint64_t at_ps, double value) {
  append(fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})", quoted(name), process,
                     microseconds(at_ps), number(value)));
}

std::string Trace::to_json() const {
  return fmt::format(
      "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"events\":{},\"left_out\":{}}},\"traceEvents\":[\n{}{}", events_,
      left_out_, body_, kEnd);
}

void Trace::write(const std::string& path) const { write_file(path, to_json()); }

void Trace::append_to(const std::string& path) const {
  std::string text = read_file(path);
  if (!text.ends_with(kEnd)) throw std::runtime_error(path + " is no timeline of ours");
  text.resize(text.size() - kEnd.size());
  if (!body_.empty()) text += (text.ends_with("[\n") ? "" : ",\n") + body_;
  write_file(path, text += kEnd);
}

}  // namespace fb::record
