#include "judge_link/judged_run.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "common/base/temp_dir.h"
#include "toolchain/driver/program.h"

namespace fb {
namespace {

constexpr uint64_t kArena = 16 << 20;

const std::string& candidate() {
  static const TempDir folder;
  static const std::string path = [] {
    setenv("FABRICBENCH_LIB", FB_BINARY_DIR "/lib/fabricbench", 0);
    toolchain::ProgramBuild build;
    build.sources = {FB_SOURCE_DIR "/tests/e2e/judge_link/candidate.cu"};
    build.extra_flags = {"-shared", "-fPIC"};
    std::string object = folder.path() + "/candidate.so";
    const auto built = toolchain::build_program(build, object);
    if (!built) throw std::runtime_error(to_string(built.error(), "candidate.cu"));
    return object;
  }();
  return path;
}

}  // namespace

JudgedRun::JudgedRun(uint32_t ranks, uint64_t seed, bool confined)
    : ranks_(ranks), arena_file_(memfd_create("arena", MFD_CLOEXEC)) {
  launcher::LaunchRequest request;
  request.program = FB_BINARY_DIR "/bin/fabricbench-rank";
  request.machine = FB_BINARY_DIR "/bin/fabricbench-machine";
  request.arguments = {"--candidate", candidate()};
  if (confined) {
    request.prepare_machine = [](SpawnOptions& start) { start.command.emplace_back("--confine"); };
    request.prepare_rank = [](int, SpawnOptions& start) {
      start.command.insert(start.command.end(), {"--confine", "--open-files", "64"});
    };
  }
  request.options.ranks = static_cast<int>(ranks);
  request.options.seed = seed;
  request.out = request.err = -1;
  request.timeout = std::chrono::seconds(60);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || ftruncate(arena_file_.get(), kArena) != 0)
    throw std::runtime_error("no socket or memory");
  arena_ = static_cast<uint32_t*>(mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_SHARED, arena_file_.get(), 0));
  request.judge = pair[1];
  link_ = std::make_unique<wire::JudgeLink>(UniqueFd(pair[0]), ranks);
  directory_ = std::make_unique<launcher::RunDirectory>();
  launcher_ = std::thread([this, request] {
    auto result = launcher::run_program(request, *directory_);
    if (result) {
      result_ = std::move(*result);
    } else {
      problem_ = to_string(result.error(), "launcher");
    }
  });
  (void)link_->begin(arena_file_.get(), kArena);
}

JudgedRun::~JudgedRun() {
  if (launcher_.joinable()) {
    link_->interrupt();
    launcher_.join();
  }
  munmap(arena_, kArena);
}

uint64_t JudgedRun::input_offset(uint32_t rank, uint32_t call) const {
  return (uint64_t{call} * ranks_ + rank) * n_ * (1 + ranks_) * 4;
}
uint64_t JudgedRun::output_offset(uint32_t rank, uint32_t call) const {
  return input_offset(rank, call) + uint64_t{n_} * 4;
}
uint64_t JudgedRun::poison_offset() const { return input_offset(0, calls_); }

uint32_t JudgedRun::input(uint32_t rank, uint32_t call, uint32_t k) const {
  return arena_[input_offset(rank, call) / 4 + k];
}
const uint32_t* JudgedRun::output(uint32_t rank, uint32_t call) const { return arena_ + output_offset(rank, call) / 4; }

bool JudgedRun::construct(What what, uint32_t n) {
  n_ = n;
  made_ = 0;
  in_.clear();
  out_.clear();
  std::vector<uint64_t> words;
  for (uint32_t r = 0; r < ranks_; ++r) {
    const auto in = link_->make_tensor(r, uint64_t{n} * 4), out = link_->make_tensor(r, uint64_t{n} * ranks_ * 4);
    if (!in || !out) return false;
    in_.push_back(*in);
    out_.push_back(*out);
    words.insert(words.end(), {*in, *out, n, what});
  }
  return link_->construct(words).has_value();
}

std::vector<wire::StepResult> JudgedRun::run(uint32_t calls) {
  calls_ = calls;
  std::vector<wire::Transfer> transfers;
  std::fill_n(arena_ + poison_offset() / 4, uint64_t{n_} * ranks_, kPoison);
  for (uint32_t c = 0; c < calls; ++c) {
    for (uint32_t r = 0; r < ranks_; ++r) {
      for (uint32_t k = 0; k < n_; ++k) arena_[input_offset(r, c) / 4 + k] = (made_ + c) << 20 | r << 16 | k;
      std::fill_n(arena_ + output_offset(r, c) / 4, uint64_t{n_} * ranks_, 0u);
      const auto move = [&](wire::Direction direction, uint64_t address, uint64_t bytes, uint64_t offset) {
        transfers.push_back({r, c, direction, 0, address, bytes, offset});
      };
      move(wire::Direction::store, out_[r], uint64_t{n_} * ranks_ * 4, output_offset(r, c));
      move(wire::Direction::load, in_[r], uint64_t{n_} * 4, input_offset(r, c));
      move(wire::Direction::load, out_[r], uint64_t{n_} * ranks_ * 4, poison_offset());
    }
  }
  auto result = link_->run(transfers, calls, made_);
  made_ += calls;
  if (!result) return {};
  return {std::move(*result)};
}

bool JudgedRun::destroy() {
  if (!link_->destroy()) return false;
  for (uint32_t r = 0; r < ranks_; ++r) {
    if (!link_->release(r, in_[r]) || !link_->release(r, out_[r])) return false;
  }
  return true;
}

launcher::LaunchResult JudgedRun::finish() {
  (void)link_->leave();
  launcher_.join();
  EXPECT_EQ(problem_, "");
  return result_;
}

testing::AssertionResult JudgedRun::is_gathered(uint32_t call) const {
  for (uint32_t r = 0; r < ranks_; ++r) {
    for (uint32_t from = 0; from < ranks_; ++from) {
      for (uint32_t k = 0; k < n_; ++k) {
        const uint32_t got = output(r, call)[from * n_ + k], wanted = input(from, call, k);
        if (got != wanted)
          return testing::AssertionFailure() << "rank " << r << ", call " << call << ", word " << k << " of rank "
                                             << from << ": " << std::hex << got << " instead of " << wanted;
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace fb
