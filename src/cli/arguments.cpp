#include "cli/arguments.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace fb::cli {
namespace {

// Empty: a file can be written there.
std::string why_not_writable(const std::string& file) {
  if (file == "-") return "";  // standard output
  const std::filesystem::path path = std::filesystem::absolute(file);
  const bool exists = std::filesystem::exists(path);
  if (std::filesystem::is_directory(path)) return "cannot write " + file + ": Is a directory";
  if (access(exists ? path.c_str() : path.parent_path().c_str(), W_OK) == 0) return "";
  return fmt::format("cannot write {}: {}", file, std::generic_category().message(errno));
}

Check from_validator(const CLI::Validator& validator) {
  return {.why_not = [validator](const std::string& text) { return validator(text); },
          .name = validator.get_description()};
}

}  // namespace

template <class T>
  requires(std::same_as<T, int> || std::same_as<T, uint32_t> || std::same_as<T, uint64_t> || std::same_as<T, double>)
Check in_range(T least, T most) {
  return from_validator(CLI::Range(least, most));
}
template Check in_range(int, int);
template Check in_range(uint32_t, uint32_t);
template Check in_range(uint64_t, uint64_t);
template Check in_range(double, double);

Check one_of(const std::vector<std::string>& values) { return from_validator(CLI::IsMember(values)); }
Check positive_number() { return from_validator(CLI::PositiveNumber); }
Check existing_file() { return from_validator(CLI::ExistingFile); }

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::check(const Check& check) const {
  option_->check(check.why_not, check.name);
  return *this;
}

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::show_default() const {
  option_->capture_default_str();
  return *this;
}

Option Option::show_default(const std::string& text) const {
  option_->default_str(text);
  return *this;
}

Option Option::hidden() const {
  option_->group("");
  return *this;
}

Option Option::needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

void Option::exclude(Option other) const { option_->excludes(other.option_); }

Option Option::delimiter(char c) const {
  option_->delimiter(c);
  return *this;
}

Option Option::one_value_each() const {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::output_file() const {
  command_->outputs_.insert(option_);
  return type_name("FILE").check({.why_not = why_not_writable, .name = ""});
}

Option Option::output_folder() const {
  command_->outputs_.insert(option_);
  return type_name("DIR");
}

Option Option::marks(bool& given) const {
  option_->each([&given](const std::string&) { given = true; });
  return *this;
}

Command::Command(const std::string& name, const std::string& description)
    : name_(name), owned_(std::make_unique<CLI::App>(description, name)), app_(owned_.get()) {
  app_->require_subcommand(0, 1);
  app_->fallthrough(false);
}

Command::Command(CLI::App* app, const std::string& name, const Command* parent)
    : name_(name), parent_(parent), app_(app) {}

Command::~Command() = default;

Command& Command::add_command(const std::string& name, const std::string& description) {
  CLI::App* app = app_->add_subcommand(name, description);
  if (heading_) app->group(*heading_);
  commands_.push_back(std::unique_ptr<Command>(new Command(app, name, this)));
  return *commands_.back();
}

void Command::begin_group(const std::string& heading) { heading_ = heading; }
void Command::footer(const std::string& text) { app_->footer(text); }
void Command::set_version(const std::string& text) { app_->set_version_flag("--version", text); }
void Command::callback(std::function<void()> call) { app_->callback(std::move(call)); }
void Command::allow_extras() { app_->allow_extras(); }

template <ArgumentValue T>
Option Command::add_option(const std::string& names, T& value, const std::string& help) {
  if constexpr (std::same_as<T, std::optional<std::vector<uint32_t>>>) {
    const std::function<void(const std::vector<uint32_t>&)> take = [&value](const auto& numbers) { value = numbers; };
    return Option(app_->add_option_function(names, take, help), *this);
  } else {
    return Option(app_->add_option(names, value, help), *this);
  }
}
template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, uint32_t&, const std::string&);
template Option Command::add_option(const std::string&, uint64_t&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<uint32_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<uint32_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<uint64_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::vector<uint32_t>>&, const std::string&);

Option Command::add_option_function(const std::string& names, std::function<std::string(const std::string&)> take,
                                    const std::string& help) {
  const std::function<void(const std::string&)> read = [names, take = std::move(take)](const std::string& text) {
    if (const std::string why = take(text); !why.empty()) throw CLI::ValidationError(names, why);
  };
  return Option(app_->add_option_function(names, read, help), *this);
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help), *this);
}

Option Command::option(const std::string& name) { return Option(app_->get_option(name), *this); }

Result<std::string> Command::parse(const std::vector<std::string>& words) {
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
    return "";
  } catch (const CLI::CallForHelp&) {
    return app_->help();
  } catch (const CLI::CallForVersion& e) {
    return std::string(e.what()) + "\n";
  } catch (const CLI::ParseError& e) {
    return error(e.what());
  }
}

std::vector<std::string> Command::remaining() const { return app_->remaining(); }
bool Command::is_given(const std::string& option) const { return app_->count(option) != 0; }

std::string Command::path() const { return parent_ == nullptr ? name_ : parent_->path() + " " + name_; }
std::string Command::description() const { return app_->get_description(); }
std::string Command::group() const { return app_->get_group(); }
std::string Command::footer() const { return app_->get_footer(); }

// App::help() would describe the command that was invoked.
std::string Command::help() const { return app_->get_formatter()->make_help(app_, path(), CLI::AppFormatMode::Normal); }

std::vector<OptionFacts> Command::options() const {
  std::vector<OptionFacts> all;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    const bool positional = option->get_positional();
    all.push_back({.positional = positional,
                   .hidden = option->get_group().empty(),
                   .required = option->get_required(),
                   .takes_value = option->get_items_expected_max() > 0,
                   .is_output = outputs_.contains(option),
                   .names = positional ? option->get_name(true) : option->get_name(false, true),
                   .long_names = option->get_lnames(),
                   .type = option->get_type_name(),
                   .default_text = option->get_default_str(),
                   .description = option->get_description()});
  }
  return all;
}

std::vector<const Command*> Command::commands() const {
  std::vector<const Command*> all;
  for (const auto& command : commands_) all.push_back(command.get());
  return all;
}

const Command* Command::find_command(const std::string& name) const {
  const auto found = std::ranges::find(commands_, name, [](const auto& command) { return command->name(); });
  return found == commands_.end() ? nullptr : found->get();
}

}  // namespace fb::cli
