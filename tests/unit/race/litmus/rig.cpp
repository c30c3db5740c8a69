#include "litmus/rig.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "litmus/ptx.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/engine/launch.h"
#include "virtual_node/mem/address_space.h"

namespace fb::litmus {
namespace {

constexpr uint32_t kDevices = 2;

machine::DeviceLimits small_device() {
  machine::DeviceLimits limits;
  limits.sms = 8;  // a block each
  return limits;
}

machine::EngineOptions at_random(uint64_t seed) {
  machine::EngineOptions options;
  options.schedule = machine::ScheduleKind::random;
  options.seed = seed;
  return options;
}

}  // namespace

// Memory and engine of one run.
class Rig::Node final : public simt::Environment {
 public:
  Node(const Program& program, uint64_t seed) : program_(program), engine_(at_random(seed)) {
    const uint64_t bytes = kLocationStride * program.locations.size();
    memory_ = place(mem::allocate(1, 1, bytes, "memory"));
    results_ = place(mem::allocate(2, 0, results_bytes(), "results"));
    std::memset(bytes_at(results_), 0xff, results_bytes());
    // The reader's own memory is that of device 1.
    auto object = std::make_shared<mem::Multicast>();
    object->id = 1;
    object->size = bytes;
    for (uint32_t d = 0; d < kDevices; ++d) {
      auto part = d == 1 ? space_.find(memory_)->allocation : mem::allocate(3, d, bytes, "member");
      std::byte* host = part->bytes.get();
      object->members.push_back({d, {{0, bytes, host, std::move(part)}}});
    }
    multicast_ = space_.reserve(bytes, kLocationStride);
    space_.map(multicast_, std::move(object), 0, bytes);
  }
  ~Node() override { engine_.abandon(*this); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Outcome run(const machine::LoadedModule& module, simt::Listener* listener) {
    const machine::DeviceLimits limits = small_device();
    uint32_t running = 0;
    for (uint32_t d = 0; d < kDevices; ++d) engine_.add_gpu(limits);
    for (uint32_t d = 0; d < kDevices; ++d) {
      machine::LaunchRequest request = request_for(d);
      if (request.grid.x == 0) continue;
      auto grid = machine::make_grid(module, request, limits);
      if (!grid) throw std::runtime_error("litmus: " + grid.error().message);
      auto run = std::make_unique<machine::GridRun>();
      run->grid = std::move(*grid);
      run->grid.id = d + 1;
      run->gpu = d;
      run->environment = this;
      run->listener = listener;
      run->on_end = [&](machine::GridRun&, machine::Outcome&& outcome) {
        --running;
        if (outcome.ending != machine::Ending::finished) trouble_ = machine::describe(outcome);
      };
      ++running;
      engine_.launch(std::move(run));
    }
    while (running > 0) {
      if (!engine_.step() && !engine_.pass_time()) throw std::runtime_error("litmus: the run hangs");
    }
    if (!trouble_.empty()) throw std::runtime_error("litmus: " + trouble_);
    return outcome();
  }

 private:
  static uint64_t results_bytes() { return sizeof(uint32_t) * kMostRegisters * 8; }

  mem::Address place(std::shared_ptr<mem::Allocation> allocation) {
    const mem::Address a = space_.reserve(allocation->size, kLocationStride);
    space_.map(a, std::move(allocation));
    return a;
  }
  std::byte* bytes_at(mem::Address a) {
    const mem::Window* w = space_.find(a);
    return w->host + (a - w->begin);
  }
  uint32_t word_at(mem::Address a) {
    uint32_t word = 0;
    std::memcpy(&word, bytes_at(a), sizeof word);
    return word;
  }

  machine::LaunchRequest request_for(uint32_t device) const {
    machine::LaunchRequest request;
    request.kernel = "litmus";
    request.grid.x = 0;
    for (const Thread& t : program_.threads) {
      if (t.place.device != device) continue;
      request.grid.x = std::max(request.grid.x, t.place.block + 1u);
      request.block.x = std::max(request.block.x, t.place.warp * simt::kLanes + t.place.lane + 1u);
    }
    const std::array<uint64_t, 3> pointers{memory_, multicast_, results_};
    request.params.resize(sizeof pointers + sizeof device);
    std::memcpy(request.params.data(), pointers.data(), sizeof pointers);
    std::memcpy(request.params.data() + sizeof pointers, &device, sizeof device);
    return request;
  }

  Outcome outcome() {
    Outcome result;
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      for (uint32_t r = 0; r < program_.registers(t); ++r) {
        result.push_back(word_at(results_ + (t * kMostRegisters + r) * sizeof(uint32_t)));
      }
    }
    for (const int16_t l : observed_locations(program_)) {
      result.push_back(word_at(memory_ + static_cast<uint64_t>(l) * kLocationStride));
    }
    return result;
  }

  // simt::Environment
  mem::AddressSpace& global() override { return space_; }
  simt::Watch& watch() override { return engine_.watch(); }
  void make_ready(simt::Warp& warp, Cause cause) override { engine_.make_ready(warp, cause); }
  void print(std::string_view) override {}
  uint64_t cycles() override { return engine_.cycles(); }
  uint64_t nanoseconds() override { return engine_.nanoseconds(); }
  void start(simt::AsyncCopy copy) override { engine_.start(std::move(copy)); }
  mem::Address heap_allocate(uint64_t) override { return 0; }
  bool heap_release(mem::Address) override { return false; }

  const Program& program_;
  mem::AddressSpace space_;
  mem::Address memory_ = 0, results_ = 0, multicast_ = 0;
  std::string trouble_;
  machine::Engine engine_;
};

Rig::Rig(const Program& program) : program_(program), ptx_(to_ptx(program)) {
  auto loaded = machine::LoadedModule::load(ptx_, {.observed = true},
                                            [](const ptx::Variable&) { return machine::LoadedModule::Storage{}; });
  if (!loaded) throw std::runtime_error("litmus: " + to_string(loaded.error(), "kernel") + "\n" + ptx_);
  module_ = std::move(*loaded);
}
Rig::~Rig() = default;

Outcome Rig::run(uint64_t seed, simt::Listener* listener) { return Node(program_, seed).run(*module_, listener); }

}  // namespace fb::litmus
