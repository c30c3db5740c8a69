#pragma once

// The words of a command line: commands, their options and values, and the texts of their help. Only arguments.cpp
// knows the library that parses them, whose header takes longer to compile than most commands.

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fb::cli {

// What a value must be: why it is not, or empty, and what help shows behind the option's type.
struct Check {
  std::function<std::string(const std::string&)> why_not;
  std::string name;
};
template <class T>
  requires(std::same_as<T, int> || std::same_as<T, uint32_t> || std::same_as<T, uint64_t> || std::same_as<T, double>)
Check in_range(T least, T most);
Check one_of(const std::vector<std::string>& values);
Check positive_number();
Check existing_file();

template <class T, class... U>
concept AnyOf = (std::same_as<T, U> || ...);
// Types of values; arguments.cpp instantiates add_option for each.
template <class T>
concept ArgumentValue =
    AnyOf<T, std::string, int, uint32_t, uint64_t, double, std::vector<std::string>, std::vector<uint32_t>,
          std::optional<uint32_t>, std::optional<uint64_t>, std::optional<std::vector<uint32_t>>>;

class Command;

// An option or argument that is being described; copies mean the same one.
class Option {
 public:
  Option(CLI::Option* option, Command& command) : option_(option), command_(&command) {}

  Option required() const;
  Option check(const Check& check) const;
  // What stands for the value in the help, as FILE.
  Option type_name(const std::string& name) const;
  // The help shows the value that the variable has now, or this text.
  Option show_default() const;
  Option show_default(const std::string& text) const;
  Option hidden() const;
  Option needs(Option other) const;
  template <std::same_as<Option>... Others>
  Option excludes(Others... others) const {
    (exclude(others), ...);
    return *this;
  }
  // Of several values: "1,5,10" is three.
  Option delimiter(char c) const;
  // Of several values: one behind each use of the option, as further words may be something else.
  Option one_value_each() const;
  // The command writes this file, or files into this folder. Whether that is possible is looked at before anything
  // takes time; tests/e2e/commands/output_test.cpp tries what happens when it fails later.
  Option output_file() const;
  Option output_folder() const;
  // `given` becomes true where the option is used.
  Option marks(bool& given) const;

 private:
  void exclude(Option other) const;

  CLI::Option* option_;
  Command* command_;
};

// What man pages and completions say about an option or argument.
struct OptionFacts {
  bool positional = false, hidden = false, required = false, takes_value = false, is_output = false;
  std::string names;                    // as help shows them: "-o,--output", or the argument's
  std::vector<std::string> long_names;  // without dashes
  std::string type, default_text, description;
};

// A command, or the program itself.
class Command {
 public:
  Command(const std::string& name, const std::string& description);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  Command& add_command(const std::string& name, const std::string& description);
  // Heading of the commands that are added from here on; an empty one hides them.
  void begin_group(const std::string& heading);
  void footer(const std::string& text);
  // --version prints it.
  void set_version(const std::string& text);
  // Called at the end of parse() if the command line names this command.
  void callback(std::function<void()> call);
  // Words that are no option of it, wherever they stand, are remaining().
  void allow_extras();

  // `names`: "-o,--output", or an argument's name without dashes.
  template <ArgumentValue T>
  Option add_option(const std::string& names, T& value, const std::string& help);
  // `take` gets the text of each use and returns why it can't be one, or nothing.
  Option add_option_function(const std::string& names, std::function<std::string(const std::string&)> take,
                             const std::string& help);
  Option add_flag(const std::string& names, bool& value, const std::string& help);
  Option option(const std::string& name);

  // The text that --help or --version asked for, or nothing: then the command's callback was called. Errors: wrong
  // usage, as a message for people. What callbacks throw passes through.
  Result<std::string> parse(const std::vector<std::string>& words);
  std::vector<std::string> remaining() const;
  bool is_given(const std::string& option) const;

  const std::string& name() const { return name_; }
  // With the names of those it belongs to: "fabricbench check".
  std::string path() const;
  std::string description() const;
  std::string group() const;
  std::string footer() const;
  std::string help() const;
  std::vector<OptionFacts> options() const;
  std::vector<const Command*> commands() const;
  // Nullptr: there is none of this name.
  const Command* find_command(const std::string& name) const;
  const Command* parent() const { return parent_; }
  const Command& root() const { return parent_ == nullptr ? *this : parent_->root(); }

 private:
  friend class Option;
  Command(CLI::App* app, const std::string& name, const Command* parent);

  std::string name_;
  const Command* parent_ = nullptr;
  std::unique_ptr<CLI::App> owned_;  // of the program; it owns those of its commands
  CLI::App* app_;
  std::optional<std::string> heading_;
  std::set<const CLI::Option*> outputs_;
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace fb::cli
