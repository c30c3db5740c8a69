#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/base/strings.h"
#include "common/ptx/parse/module_parser.h"
#include "common/ptx/parse/parser.h"

namespace fb::ptx {

Result<Module> parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) return error("the text is too long");
  return ModuleParser(text).parse();
}

Result<Module> ModuleParser::parse() {
  while (token().kind != Token::Kind::end && errors_.list.size() < kMaxErrors) {
    if (parse_top_level()) continue;
    const Location before = token().at;
    skip_statement();
    // A stray '}' stops skip_statement; step over it or reading would stand still.
    if (token().is('}') || token().at == before) lexer_.advance();
  }
  if (!errors_.list.empty()) return std::unexpected(std::move(errors_));
  if (module_.version_major == 0) return error("there is no .version");
  finish_files();
  return std::move(module_);
}

bool ModuleParser::parse_top_level() {
  if (accept(';')) return true;
  if (accept_directive(".version")) return parse_version();
  if (accept_directive(".target")) return parse_target();
  if (accept_directive(".address_size")) return parse_address_size();
  if (accept_directive(".file")) return parse_file();
  if (accept_directive(".section")) return parse_section();
  if (accept_directive(".pragma")) return parse_pragma();
  if (accept_directive(".visible")) return parse_global(Linkage::visible);
  if (accept_directive(".extern")) return parse_global(Linkage::external);
  if (accept_directive(".weak")) return parse_global(Linkage::weak);
  if (accept_directive(".common")) return parse_global(Linkage::common);
  return parse_global(Linkage::local);
}

// A function or variables, after their linkage.
bool ModuleParser::parse_global(Linkage linkage) {
  if (accept_directive(".entry")) return parse_function(linkage, true);
  if (accept_directive(".func")) return parse_function(linkage, false);
  if (const auto space = at_space()) {
    lexer_.advance();
    return parse_module_variables({.space = *space, .linkage = linkage});
  }
  return fail_expected("a directive, a function or a variable");
}

bool ModuleParser::parse_version() {
  const auto parts = split(token().text, '.');
  uint32_t numbers[2] = {0, 0};
  bool good = token().kind == Token::Kind::float64 && parts.size() == 2;
  for (size_t i = 0; good && i < 2; ++i) {
    const char *first = parts[i].data(), *last = first + parts[i].size();
    const auto [end, code] = std::from_chars(first, last, numbers[i]);
    good = code == std::errc() && end == last;
  }
  if (!good || numbers[0] == 0) return fail_expected("a version such as 8.3");
  module_.version_major = numbers[0];
  module_.version_minor = numbers[1];
  lexer_.advance();
  return true;
}

bool ModuleParser::parse_target() {
  std::string_view name;
  if (!take_name(name)) return false;
  module_.target = name;
  while (accept(',')) {  // texmode_…, debug: nothing for us
    if (!take_name(name)) return false;
  }
  return true;
}

bool ModuleParser::parse_address_size() {
  uint64_t bits = 0;
  if (!take_integer(bits, 64, "an address size")) return false;
  if (bits != 32 && bits != 64) return fail_here("an address has 32 or 64 bits");
  module_.address_bits = static_cast<uint32_t>(bits);
  return true;
}

// .file 1 "path" [, timestamp, size]
bool ModuleParser::parse_file() {
  uint64_t number = 0;
  if (!take_integer(number, kMaxFiles - 1, "a file number")) return false;
  if (token().kind != Token::Kind::string) return fail_expected("a file name");
  std::string path(token().text);
  lexer_.advance();
  // DWARF 5 gives directory and file as two strings.
  if (token().kind == Token::Kind::string) {
    path = path + "/" + std::string(token().text);
    lexer_.advance();
  }
  while (accept(',')) {
    uint64_t ignored = 0;
    if (!take_integer(ignored, ~uint64_t{0}, "a number")) return false;
  }
  if (module_.files.size() <= number) module_.files.resize(number + 1);
  module_.files[number] = std::move(path);
  return true;
}

// Debug sections hold nothing that runs.
bool ModuleParser::parse_section() {
  while (token().kind == Token::Kind::directive || token().kind == Token::Kind::name) lexer_.advance();
  return skip_braces();
}

namespace {

void read_assembled(std::string_view text, Assembled& made) {
  if (!text.starts_with(kAssembledPragma)) return;
  text.remove_prefix(kAssembledPragma.size());
  for (uint32_t* value : {&made.registers, &made.spill_store_bytes, &made.spill_load_bytes}) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const auto read = std::from_chars(text.data(), text.data() + text.size(), *value);
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  }
}

}  // namespace

// Those that are not ours are NVIDIA's assembler's.
bool ModuleParser::parse_pragma(Function* function) {
  do {
    if (token().kind != Token::Kind::string) return fail_expected("a string");
    if (function) read_assembled(token().text, function->assembled);
    lexer_.advance();
  } while (accept(','));
  return expect(';');
}

// .loc may name files whose .file never came: they are unknown, but their numbers must index `files`.
void ModuleParser::finish_files() {
  if (max_loc_file_ != kNoIndex && module_.files.size() <= max_loc_file_) module_.files.resize(max_loc_file_ + 1);
}

}  // namespace fb::ptx
