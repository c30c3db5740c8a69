#pragma once

// Modules of processes: texts that were parsed, and the code and variables that each context has loaded from them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/record/run_record.h"
#include "virtual_node/machine/process/checking.h"
#include "virtual_node/machine/process/driver_link.h"
#include "virtual_node/machine/process/node_memory.h"
#include "virtual_node/machine/process/process.h"

namespace fb::machine {

class ModuleTable {
 public:
  using Report = std::function<void(record::Incident)>;

  ModuleTable(const LoadOptions& options, DriverLink driver, NodeMemory& memory, Checking* checking,
              const Report& report)
      : options_(options), driver_(std::move(driver)), memory_(memory), checking_(checking), report_(report) {}

  // Each text is parsed once: processes of a node run the same program. Device code of several files comes as their
  // names and texts in turn, each with a NUL behind it, and is linked. False: not PTX, or it does not link; reported.
  bool parse(Process& process, std::string text, Module& module);
  // Loads it into the context on first use. Null: there is no such module, or the machine can't run it; then `problem`,
  // if given, says why.
  LoadedModule* loaded(Process& process, uint32_t device, wire::Id module, std::string* problem);
  void drop(Process& process, uint32_t device, wire::Id module);
  // To be called before code is destroyed: race reports can't name its instructions any more.
  void forget_code(const LoadedModule& module);
  // Of code that was destroyed.
  const std::vector<record::BranchWays>& past_branches() const { return past_branches_; }

 private:
  struct ParsedText {
    std::string text;
    ptx::Module module;
  };

  std::shared_ptr<const ptx::Module> parse(Process& process, std::string text);
  std::optional<ptx::Module> parse_one(Process& process, std::string_view text, const std::string& name);
  std::optional<ptx::Module> link(Process& process, std::string_view texts);
  void note(Process& process, record::IncidentReason reason, std::string text);

  const LoadOptions options_;
  const DriverLink driver_;
  NodeMemory& memory_;
  Checking* checking_;
  const Report& report_;
  std::unordered_map<size_t, std::weak_ptr<const ParsedText>> parsed_;  // by hash
  size_t prune_at_ = 64;
  std::vector<record::BranchWays> past_branches_;
};

}  // namespace fb::machine
