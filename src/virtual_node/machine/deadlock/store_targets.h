#pragma once

// The memory that a kernel may still write from an instruction on: its stores and atomic operations, each traced back
// to the pointers that its address can come from. The granularity is an allocation; offsets are not tracked.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ptx/module.h"
#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/inst.h"

namespace fb::machine {

// An instruction that stores: the function's name and the index in its body. The same in every process that has loaded
// the module.
using StoreSite = std::pair<std::string, uint32_t>;

struct StoreTargets {
  std::set<const mem::Allocation*> allocations;
  std::set<StoreSite> sites;
  bool shared = false;    // shared memory
  bool mbarrier = false;  // arrivals, or transaction bytes of copies

  bool has(const mem::Allocation* a) const { return allocations.contains(a); }
  void add(const StoreTargets& other);
};

// One launch: its code, its parameters, and the memory that they are pointers to.
struct LaunchFacts {
  const ptx::Module* module = nullptr;
  uint32_t function = 0;  // the kernel
  const std::vector<std::byte>* params = nullptr;
  const std::vector<uint32_t>* param_offsets = nullptr;
  const mem::AddressSpace* space = nullptr;
  std::function<mem::Address(std::string_view)> address_of;  // of the module's variables; 0: unknown
};

class StoreAnalysis {
 public:
  explicit StoreAnalysis(LaunchFacts facts) : facts_(std::move(facts)) {}

  const StoreTargets& from_entry() { return from(facts_.function, 0); }
  // From an instruction in the body of a function to the end of the function.
  const StoreTargets& from(uint32_t function, uint32_t index);

 private:
  struct Pointees {
    std::set<const mem::Allocation*> allocations;
    bool shared = false;
    bool params = false;   // an address of the parameters themselves
    bool unknown = false;  // anything that the kernel can reach
  };

  void add_store(const ptx::Function& f, const ptx::Instruction& inst, StoreTargets& out);
  void add_pointees(const ptx::Function& f, uint32_t reg, std::set<uint32_t>& visited, Pointees& out);
  void add_loaded(const ptx::Function& f, const ptx::Operand& address, uint64_t bytes, std::set<uint32_t>& visited,
                  Pointees& out);
  void add_symbol(const ptx::Function& f, const ptx::Operand& symbol, Pointees& out) const;
  void add_pointer(mem::Address a, Pointees& out) const;
  void add_words(const std::byte* begin, uint64_t bytes, Pointees& out) const;
  const std::set<const mem::Allocation*>& everything();

  LaunchFacts facts_;
  std::map<std::pair<uint32_t, uint32_t>, StoreTargets> known_;
  std::set<uint32_t> under_way_;  // functions: calls may be recursive
  bool has_everything_ = false;
  std::set<const mem::Allocation*> everything_;
};

}  // namespace fb::machine
