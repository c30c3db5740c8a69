#pragma once

// Operations of cuBLAS on streams. One takes multiprocessors as they are free, wave by wave, as
// virtual_node/fabric/cublas_model.h says; its bytes go through the memories and links of its operands meanwhile; it
// reads its operands and writes its results at the end. For the race checker it is one agent that reads and writes what
// the call names.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "virtual_node/machine/process/operation.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/process/services.h"

namespace fb::machine {

struct BlasLaunch;

class BlasOperations {
 public:
  explicit BlasOperations(ProcessServices& node) : node_(node) {}

  wire::Status make(Process& process, const wire::Blas& m, OperationPtr& op);

 private:
  using LaunchPtr = std::shared_ptr<BlasLaunch>;

  void start(const LaunchPtr& launch);
  bool find_operands(BlasLaunch& launch, std::string& fault) const;
  void plan(BlasLaunch& launch) const;
  void run_waves(const LaunchPtr& launch);
  Time end_of_wave(BlasLaunch& launch, uint64_t blocks) const;
  void compute(const LaunchPtr& launch);
  void note_accesses(BlasLaunch& launch);
  void finish(const LaunchPtr& launch);
  static void give_back(ProcessServices& node, BlasLaunch& launch);

  ProcessServices& node_;
};

// "cublasSgemm 128x64x32 f32".
std::string name_without_line(const wire::Blas& m);

}  // namespace fb::machine
