#include "cli/doctor.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "common/base/installed.h"
#include "common/base/numbers.h"
#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "common/base/version.h"
#include "common/record/verdict.h"
#include "common/sandbox/sandbox.h"
#include "judge/catalog/pack.h"
#include "judge/session/session.h"
#include "launcher/launch.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/cccl.h"
#include "toolchain/compile/locate.h"

namespace fb::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::chrono::minutes kTimeLimit{5};  // of each program that is tried
constexpr uint64_t kMebi = uint64_t{1} << 20;

std::string size_text(uint64_t bytes) {
  const auto mebi = static_cast<double>(bytes) / static_cast<double>(kMebi);
  return mebi < 1024 ? fmt::format("{:.0f} MiB", mebi) : fmt::format("{:.1f} GiB", mebi / 1024);
}

const std::string& first(const Errors& errors) { return errors.list.front().message; }

// A program that can't be started has failed, too.
ProcessResult attempt(const Words& command) {
  try {
    return run_command(command, kTimeLimit);
  } catch (const std::system_error& e) {
    return {.exit_code = 127, .output = e.what()};
  }
}

// What stands behind `key` up to the next space or the end of the line; empty if it is not there.
std::string word_behind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + key.size());
  return std::string(rest.substr(0, rest.find_first_of(" \n,")));
}

std::string path_text(const std::string& program, const std::string& version) {
  return version.empty() ? program : fmt::format("{}, {}", version, program);
}

// Our own programs and files.
Finding find_installation() {
  Finding f{.name = "installation"};
  Errors missing;
  const auto need = [&](const auto& found) {
    if (!found) missing.list.push_back(found.error().list.front());
  };
  need(launcher::find_machine());
  need(sandbox::find_confine());
  need(toolchain::locate_libraries());
  need(catalog::locate_problems());
  // The SDK is found with the compiler, and does not depend on it.
  const auto where = toolchain::locate();
  if (!where && toolchain::find_compiler()) missing.list.push_back(where.error().list.front());
  try {
    judge::find_rank();
  } catch (const std::runtime_error& e) {
    missing.list.push_back({{}, e.what()});
  }
  f.text = fmt::format("fabricbench {}, {}", version(), fs::path(own_program()).parent_path().string());
  if (!missing.list.empty()) {
    f.health = Health::failed;
    f.text = first(missing);
    f.remedy = "install or build FabricBench again";
  }
  return f;
}

constexpr int kClang = 19;

Finding find_compiler(const std::string& compiler) {
  Finding f{.name = "compiler", .remedy = "apt install clang-19"};
  if (compiler.empty()) {
    f.health = Health::failed;
    f.text = first(toolchain::find_compiler().error());
    return f;
  }
  const ProcessResult said = attempt({compiler, "--version"});
  const std::string version = word_behind(said.output, "clang version ");
  if (!said.succeeded() || version.empty()) {
    f.health = Health::failed;
    f.text = fmt::format("{} is no clang: {}", compiler, first_line(said.output));
    return f;
  }
  f.text = path_text(compiler, "clang " + version);
  if (leading_number<int>(version) == kClang) {
    f.remedy.clear();
  } else {
    f.health = Health::warning;
    f.text += fmt::format(" (made and tested with clang {})", kClang);
  }
  return f;
}

// Asked of the compiler, which finds it for programs.
Finding find_linker(const std::string& compiler) {
  const ProcessResult said = attempt({compiler, "-fuse-ld=lld", "-Wl,--version"});
  const std::string version = word_behind(said.output, "LLD ");
  if (said.succeeded() && !version.empty()) return {.name = "linker", .text = "lld " + version};
  return {.name = "linker",
          .health = Health::failed,
          .text = fmt::format("lld was not found: {}", first_line(said.output)),
          .remedy = "apt install lld-19"};
}

// Likewise. clang takes the newest GCC that it sees, even where its C++ library is not installed.
Finding find_standard_library(const std::string& compiler) {
  const ProcessResult said = attempt({compiler, "-v", "-x", "c++", "-dM", "-E", "-include", "version", "/dev/null"});
  const std::string gnu = word_behind(said.output, "#define _GLIBCXX_RELEASE "),
                    llvm = word_behind(said.output, "#define _LIBCPP_VERSION ");
  if (said.succeeded() && !gnu.empty()) return {.name = "C++ library", .text = "libstdc++ " + gnu};
  if (said.succeeded() && !llvm.empty()) return {.name = "C++ library", .text = "libc++ " + llvm};
  const std::string gcc = fs::path(word_behind(said.output, "Selected GCC installation: ")).filename().string();
  return {.name = "C++ library",
          .health = Health::failed,
          .text = "the headers of the standard library were not found",
          .remedy = gcc.empty() ? "apt install g++" : fmt::format("apt install libstdc++-{}-dev", gcc)};
}

Finding find_cccl() {
  Finding f{.name = "CCCL"};
  std::string missing;
  for (const auto& [name, package, version] : toolchain::cccl_parts("")) {
    if (version.empty()) {
      missing += " " + package;
    } else {
      f.text += fmt::format("{}{} {}", f.text.empty() ? "" : ", ", name, version);
    }
  }
  if (missing.empty()) return f;
  f.health = Health::absent;
  f.text += f.text.empty() ? "not found: for programs that include cub/, thrust/ or most of cuda/std/"
                           : "; the rest is missing, which some programs include";
  f.remedy = "apt install" + missing;
  return f;
}

Finding find_sandbox() {
  const auto found = sandbox::probe();
  if (found)
    return {.name = "sandbox",
            .text = fmt::format("{}{}", found->bubblewrap,
                                found->user_namespaces ? ", user namespaces" : ", as root, without user namespaces")};
  return {.name = "sandbox",
          .health = Health::failed,
          .text = first(found.error()),
          .remedy = found.error().list.back().message};
}

// The machine says what it was compiled for and what this processor has.
std::string simd_text() {
  const auto machine = launcher::find_machine();
  if (!machine) return "unknown";
  const ProcessResult said = attempt({*machine, "--simd"});
  const std::string best = word_behind(said.output, "");
  if (!said.succeeded() || best.empty()) return "unknown";
  if (best.starts_with("AVX3")) return "AVX-512";
  return best.starts_with("EMU") ? "no vector instructions (a build for tests)" : best;
}

Finding find_processors() {
  return {.name = "processors",
          .text = fmt::format("{}; lanes of warps are computed with {}",
                              std::max(1u, std::thread::hardware_concurrency()), simd_text())};
}

// In bytes; none: the kernel does not say, or there is no limit.
std::optional<uint64_t> number_in(const std::string& file) {
  try {
    return as_number<uint64_t>(trim(read_file(file)));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

// What may still be taken, of the computer and of this control group (a container's memory).
uint64_t available_memory() {
  constexpr std::string_view kKey = "MemAvailable:";
  const std::string facts = read_file("/proc/meminfo");
  uint64_t bytes = 0;
  if (const size_t at = facts.find(kKey); at != std::string::npos)
    bytes = leading_number<uint64_t>(trim(std::string_view(facts).substr(at + kKey.size()))) << 10;
  const auto limit = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) bytes = std::min(bytes, *limit - std::min(*limit, *used));
  return bytes;
}

Finding find_memory() {
  // Of a full check on 8 ranks, with a session for each of 2 processors (docs/reference/judge.md); compilers need less.
  constexpr uint64_t kUsual = 2 * 1024 * kMebi;
  const uint64_t available = available_memory();
  Finding f{
      .name = "memory",
      .text = fmt::format("{} available; a check on 8 ranks takes up to {}", size_text(available), size_text(kUsual))};
  if (available < kUsual) {
    f.health = Health::warning;
    f.remedy = "fabricbench check --jobs 1, or more memory";
  }
  return f;
}

std::optional<uint64_t> free_bytes(const std::string& folder) {
  struct statvfs facts{};
  if (statvfs(folder.c_str(), &facts) != 0) return std::nullopt;
  return uint64_t{facts.f_bavail} * facts.f_frsize;
}

// The virtual node's own memory is in no file system.
Finding find_shared_memory() {
  constexpr uint64_t kLeast = 64 * kMebi;
  const auto free = free_bytes("/dev/shm");
  if (free && *free >= kLeast)
    return {.name = "shared memory", .text = fmt::format("/dev/shm: {} free; only MPI takes it", size_text(*free))};
  return {.name = "shared memory",
          .health = Health::warning,
          .text = free ? fmt::format("/dev/shm: {} free, which is little for MPI programs", size_text(*free))
                       : "there is no /dev/shm: MPI programs may fail",
          .remedy = "mount -o remount,size=1G /dev/shm, or docker run --shm-size 1g"};
}

Finding find_cache() {
  constexpr uint64_t kLeast = 512 * kMebi;
  Finding f{.name = "cache"};
  const toolchain::Cache cache = toolchain::Cache::of_user();
  const std::string wanted = toolchain::Cache::preferred_folder();
  f.remedy = "export FABRICBENCH_CACHE=FOLDER, of one that you can write to";
  if (!cache.keeps()) {
    f.health = Health::warning;
    f.text = fmt::format("{} can't be written: everything is compiled each time", wanted);
    return f;
  }
  const uint64_t room = free_bytes(cache.folder()).value_or(0);
  f.text = fmt::format("{}, {} free", cache.folder(), size_text(room));
  if (cache.folder() != wanted) {
    f.health = Health::warning;
    f.text = fmt::format("{} can't be written, {} is used instead", wanted, cache.folder());
  } else if (room < kLeast) {
    f.health = Health::warning;
  } else {
    f.remedy.clear();
  }
  return f;
}

// Not needed; `enables` says what for.
struct Extra {
  const char *name, *program, *enables, *remedy;
};

Finding find_extra(const Extra& extra) {
  if (auto found = toolchain::find_program(extra.program); !found.empty())
    return {.name = extra.name, .text = std::move(found)};
  return {.name = extra.name,
          .health = Health::absent,
          .text = fmt::format("{} not found: for {}", extra.program, extra.enables),
          .remedy = extra.remedy};
}

Finding find_nvcc() {
  const auto found = toolchain::locate_nvcc();
  if (found)
    return {.name = "nvcc",
            .text = path_text(*found, word_behind(attempt({*found, "--version"}).output, "release ")) +
                    ": --device-compiler nvcc"};
  return {.name = "nvcc",
          .health = Health::absent,
          .text = "not found: for --device-compiler nvcc, exported folders, and dev prove for GPUs",
          .remedy =
              "in a virtual environment: pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt "
              "nvidia-nvvm nvidia-cuda-cccl; or NVIDIA's CUDA toolkit"};
}

std::string seconds_since(std::chrono::steady_clock::time_point begin) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

// Host code that needs the C++ library, a kernel, and what it computes.
constexpr const char* kProgram = R"(#include <cstdio>
#include <vector>
__global__ void fill(int* numbers) { numbers[threadIdx.x] = 3 * threadIdx.x; }
int main() {
  std::vector<int> found(32);
  int* numbers = nullptr;
  cudaMalloc(&numbers, found.size() * sizeof(int));
  fill<<<1, 32>>>(numbers);
  cudaMemcpy(found.data(), numbers, found.size() * sizeof(int), cudaMemcpyDeviceToHost);
  printf("thread 31 wrote %d\n", found[31]);
}
)";

// As a user would run it: by the same program.
Finding try_exec(const TempDir& folder) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string file = folder.path() + "/doctor.cu";
  write_file(file, kProgram);
  const ProcessResult ran = attempt({own_program(), "exec", "--no-cache", file});
  if (ran.succeeded() && ran.output.contains("thread 31 wrote 93\n"))
    return {.name = "exec", .text = "a kernel was compiled and run on the virtual node, in " + seconds_since(begin)};
  return {.name = "exec",
          .health = Health::failed,
          .text = ran.timed_out ? "a small program did not end" : "a small program fails: " + first_line(ran.output)};
}

Finding try_check(const TempDir& folder) {
  constexpr const char* kProblem = "push_copy";
  const auto begin = std::chrono::steady_clock::now();
  Finding f{.name = "check", .health = Health::failed};
  const auto root = catalog::locate_problems();
  if (!root) return f.text = first(root.error()), f;
  const auto pack = catalog::load_from_pack(*root, kProblem);
  if (!pack) return f.text = first(pack.error()), f;
  const std::string file = folder.path() + "/solution.cu";
  write_file(file, pack->problems.front().reference);
  const ProcessResult ran =
      attempt({own_program(), "check", "--quick", "--json", "--no-cache", "--problems", *root, kProblem, file});
  const auto verdict = record::parse_verdict(ran.output);
  if (verdict && verdict->verdict == record::VerdictClass::pass) {
    f.health = Health::good;
    f.text =
        fmt::format("the reference of {} passes, {} sessions in {}", kProblem, verdict->sessions, seconds_since(begin));
  } else if (ran.timed_out) {
    f.text = fmt::format("the judgement of {}'s reference did not end", kProblem);
  } else {
    f.text = fmt::format("the reference of {} is not judged right: {}", kProblem,
                         verdict ? verdict->summary : first_line(ran.output));
    // What bubblewrap may do, by a profile of its own, ranks may not.
    if (f.text.contains("namespace") || f.text.contains("no sandbox")) f.remedy = sandbox::what_helps();
  }
  return f;
}

// Where something that it needs is missing.
Finding untried(const char* name, const std::string& missing) {
  return {.name = name, .health = Health::failed, .text = fmt::format("can't run without {}", missing)};
}

class Doctor {
 public:
  Doctor(const std::function<void(const std::string&)>& before, const std::function<void(const Finding&)>& after)
      : before_(before), after_(after) {}

  Diagnosis run() {
    std::string for_exec, for_check;  // what is missing
    const auto need = [](const Finding& f, std::string& what) {
      if (f.health == Health::failed) what += (what.empty() ? "" : ", ") + f.name;
    };
    need(add("installation", find_installation), for_exec);
    const std::string compiler = toolchain::find_compiler().value_or("");
    need(add("compiler", [&] { return find_compiler(compiler); }), for_exec);
    if (!compiler.empty()) {
      need(add("linker", [&] { return find_linker(compiler); }), for_exec);
      need(add("C++ library", [&] { return find_standard_library(compiler); }), for_exec);
    }
    add("CCCL", find_cccl);
    for_check = for_exec;
    need(add("sandbox", find_sandbox), for_check);
    add("processors", find_processors);
    add("memory", find_memory);
    add("shared memory", find_shared_memory);
    add("cache", find_cache);
    add("nvcc", find_nvcc);
    for (const Extra& extra : {Extra{"MPI", "mpirun", "exec --mpi", "apt install openmpi-bin libopenmpi-dev"},
                               Extra{"Slurm", "sbatch", "run --executor slurm", "apt install slurm-client"},
                               Extra{"npm", "npm", "building the plots of reports from source", "apt install npm"}})
      add(extra.name, [&] { return find_extra(extra); });
    const TempDir folder;
    done_.exec_runs = tried("exec", for_exec, [&] { return try_exec(folder); });
    done_.check_runs = tried("check", for_check, [&] { return try_check(folder); });
    return std::move(done_);
  }

 private:
  template <class Find>
  const Finding& add(const std::string& name, Find&& find) {
    before_(name);
    const Finding& found = done_.findings.emplace_back(find());
    after_(found);
    return found;
  }

  template <class Try>
  bool tried(const char* name, const std::string& missing, Try&& find) {
    return add(name, [&] { return missing.empty() ? find() : untried(name, missing); }).health == Health::good;
  }

  const std::function<void(const std::string&)>& before_;
  const std::function<void(const Finding&)>& after_;
  Diagnosis done_;
};

}  // namespace

Diagnosis diagnose(const std::function<void(const std::string&)>& before,
                   const std::function<void(const Finding&)>& after) {
  return Doctor(before, after).run();
}

}  // namespace fb::cli
