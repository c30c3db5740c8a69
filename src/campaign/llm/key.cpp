#include "campaign/llm/key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "common/base/strings.h"

namespace fb::llm {
namespace {

constexpr std::string_view kInstead = "[key]";
// Shorter keys are placeholders for local servers, not secrets, and may occur in any answer.
constexpr size_t kShortestSecret = 8;
constexpr size_t kTellingPart = 8;

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : std::string(trim(value));
}

Result<std::string> checked(std::string key, const std::string& source) {
  if (std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; })) return key;
  return error(fmt::format("{} does not hold a key: it has characters that no key has", source));
}

// The value of a line NAME=value.
std::string line_of(const std::string& content, const std::string& name) {
  for (std::string_view line : split(content, '\n')) {
    line = trim(line);
    if (line.starts_with("export ")) line = trim(line.substr(7));
    if (!line.starts_with(name + "=")) continue;
    line = trim(line.substr(name.size() + 1));
    const bool quoted =
        line.size() >= 2 && line.front() == line.back() && (line.front() == '"' || line.front() == '\'');
    return std::string(quoted ? line.substr(1, line.size() - 2) : line);
  }
  return {};
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~").contains(c);
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string replace_all(std::string_view text, std::string_view what) {
  std::string out;
  size_t from = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, from)) {
    out += text.substr(from, at - from);
    out += kInstead;
    from = at + what.size();
  }
  return out += text.substr(from);
}

}  // namespace

Result<std::string> read_secret_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return error(fmt::format("cannot read the key file {}: {}", path, std::strerror(errno)));
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } const closer{fd};
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return error(fmt::format("{} is not a file", path));
  if (status.st_uid != geteuid()) return error(fmt::format("the key file {} belongs to another user", path));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return error(fmt::format("the key file {} can be read by others: chmod 600 {}", path, path));
  std::string content;
  std::array<char, 4096> buffer;
  constexpr size_t kMost = 64 * 1024;
  for (ssize_t got = 0; (got = read(fd, buffer.data(), buffer.size())) > 0 && content.size() < kMost;)
    content.append(buffer.data(), static_cast<size_t>(got));
  return content;
}

Result<std::string> find_key(const std::vector<std::string>& variables) {
  for (const std::string& name : variables) {
    if (std::string key = environment(name); !key.empty()) return checked(std::move(key), name);
    if (const std::string file = environment(name + "_FILE"); !file.empty()) {
      auto content = read_secret_file(file);
      if (!content) return content;
      return checked(std::string(trim(*content)), file);
    }
  }
  const std::string file = environment("FABRICBENCH_KEY_FILE");
  if (file.empty()) return "";
  auto content = read_secret_file(file);
  if (!content) return content;
  for (const std::string& name : variables) {
    if (std::string key = line_of(*content, name); !key.empty()) return checked(std::move(key), file);
  }
  return "";
}

Redactor::Redactor(std::string key) : key_(std::move(key)) {
  if (key_.size() < kShortestSecret) return;
  const std::string quoted = nlohmann::json(key_).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  forms_ = {key_, quoted.substr(1, quoted.size() - 2), percent_encoded(key_)};
  std::string slashes;  // some JSON writers escape "/"
  for (const char c : forms_[1]) slashes += c == '/' ? "\\/" : std::string(1, c);
  forms_.push_back(slashes);
}

std::string Redactor::text(std::string_view text) const {
  std::string out(text);
  for (const std::string& form : forms_) {
    if (out.contains(form)) out = replace_all(out, form);
  }
  return out;
}

std::string Redactor::complaint(std::string_view complaint) const {
  if (forms_.empty()) return std::string(complaint);
  const std::string whole = text(complaint);
  std::unordered_set<std::string_view> parts;
  for (size_t i = 0; i + kTellingPart <= key_.size(); ++i) parts.insert(std::string_view(key_).substr(i, kTellingPart));
  std::string out;
  const std::string_view view(whole);
  for (size_t at = 0; at < view.size();) {
    // Overlapping parts of the key.
    size_t end = at;
    for (size_t i = at; i + kTellingPart <= view.size() && i <= end && parts.contains(view.substr(i, kTellingPart));
         ++i)
      end = i + kTellingPart;
    if (end == at) {
      out += view[at++];
    } else {
      out += kInstead;
      at = end;
    }
  }
  return out;
}

}  // namespace fb::llm
