// Every kernel of tests/unit/machine/kernels that says how it is run (see the README there): the device side through
// clang and the SDK to PTX and on the machine, the host side of the same file, compiled to a shared object, for what
// must come out.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "common/base/process.h"
#include "common/base/rng.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "machine/cuda_program.h"
#include "machine/golden.h"
#include "toolchain/compile/locate.h"

namespace fb {
namespace {

const std::string kFolder = std::string(FB_SOURCE_DIR) + "/tests/unit/machine/kernels/";

struct Buffer {
  std::string type;
  uint64_t count = 0;
  std::string values;  // how it is filled, or for `out` its tolerance
};

struct KernelRun {
  uint32_t line = 0;
  machine::LaunchRequest launch;
  Buffer in, out;
  std::string expect, fault;
  std::vector<std::string> prints;
};

Buffer parse_buffer(const std::string& text) {
  Buffer b;
  const auto open = text.find('['), close = text.find(']');
  b.type = text.substr(0, open);
  b.count = std::stoull(text.substr(open + 1));
  b.values = trim(std::string_view(text).substr(close + 1));
  if (b.values.starts_with('=')) b.values = trim(std::string_view(b.values).substr(1));
  return b;
}

void parse_launch(const std::string& text, machine::LaunchRequest& launch) {
  std::istringstream in(text);
  in >> launch.kernel;
  std::string word;
  while (in >> word) {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "grid") launch.grid = golden::parse_dim(value);
    if (key == "block") launch.block = golden::parse_dim(value);
    if (key == "cluster") launch.cluster = golden::parse_dim(value);
    if (key == "shared") launch.dynamic_shared_bytes = static_cast<uint32_t>(std::stoul(value));
    if (key == "cooperative") launch.cooperative = value == "1";
  }
}

std::vector<KernelRun> read_runs(const std::string& text) {
  std::vector<KernelRun> runs;
  uint32_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (!line.starts_with("// ")) continue;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(3, colon - 3));
    const std::string rest(trim(line.substr(colon + 1)));
    if (key == "run") {
      runs.emplace_back().line = number;
      parse_launch(rest, runs.back().launch);
    }
    if (runs.empty()) continue;
    if (key == "in") runs.back().in = parse_buffer(rest);
    if (key == "out") runs.back().out = parse_buffer(rest);
    if (key == "expect") runs.back().expect = rest;
    if (key == "fault") runs.back().fault = rest;
    if (key == "prints") runs.back().prints.push_back(rest + "\n");
  }
  return runs;
}

void put(std::vector<std::byte>& bytes, size_t index, uint32_t width, uint64_t bits) {
  std::memcpy(bytes.data() + index * width, &bits, width);
}

uint64_t bits_of_double(const std::string& type, double v) {
  if (type == "f32") return std::bit_cast<uint32_t>(static_cast<float>(v));
  if (type == "f64") return std::bit_cast<uint64_t>(v);
  return static_cast<uint64_t>(static_cast<int64_t>(v));
}

std::vector<std::byte> fill(const Buffer& b, uint32_t line) {
  const uint32_t width = golden::bytes_of(b.type);
  std::vector<std::byte> bytes(b.count * width);
  std::istringstream in(b.values);
  std::string kind;
  std::vector<std::string> words;
  in >> kind;
  for (std::string word; in >> word;) words.push_back(word);
  if (kind == "random") {
    Rng rng(std::stoull(words.at(0)));
    for (size_t k = 0; k < b.count; ++k) {
      const uint64_t draw = rng.next();
      const bool real = b.type[0] == 'f';
      put(bytes, k, width, real ? bits_of_double(b.type, std::ldexp(static_cast<double>(draw >> 40), -23) - 1) : draw);
    }
  } else if (kind == "iota") {
    const double start = words.empty() ? 0 : std::stod(words[0]), step = words.size() < 2 ? 1 : std::stod(words[1]);
    for (size_t k = 0; k < b.count; ++k)
      put(bytes, k, width, bits_of_double(b.type, start + step * static_cast<double>(k)));
  } else if (kind == "const" || kind == "list") {
    for (size_t k = 0; k < b.count; ++k)
      put(bytes, k, width, golden::parse_value(b.type, words.at(k % words.size()), line));
  } else {
    throw std::runtime_error(fmt::format("line {}: can't fill with {}", line, b.values));
  }
  return bytes;
}

// Units in the last place between two floats; both NaN: 0.
template <class T, class Bits>
uint64_t ulps_apart(uint64_t a, uint64_t b) {
  const T x = std::bit_cast<T>(static_cast<Bits>(a)), y = std::bit_cast<T>(static_cast<Bits>(b));
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) ? 0 : ~uint64_t{0};
  // Floats of one sign are ordered like their bits.
  const auto ordered = [](Bits bits) {
    const Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    return (bits & sign) != 0 ? static_cast<Bits>(sign - (bits & ~sign)) : static_cast<Bits>(sign + bits);
  };
  const Bits p = ordered(static_cast<Bits>(a)), q = ordered(static_cast<Bits>(b));
  return p > q ? p - q : q - p;
}

std::string compare(const Buffer& out, const std::vector<std::byte>& expected, const std::vector<std::byte>& got) {
  const uint32_t width = golden::bytes_of(out.type);
  uint64_t tolerance = 0;
  if (out.values.starts_with("tolerance=")) tolerance = std::stoull(out.values.substr(10));
  std::string wrong;
  for (size_t k = 0, shown = 0; k < out.count && shown < 8; ++k) {
    uint64_t a = 0, b = 0;
    std::memcpy(&a, expected.data() + k * width, width);
    std::memcpy(&b, got.data() + k * width, width);
    if (a == b) continue;
    if (tolerance != 0) {
      const uint64_t apart = width == 4 ? ulps_apart<float, uint32_t>(a, b) : ulps_apart<double, uint64_t>(a, b);
      if (apart <= tolerance) continue;
    }
    ++shown;
    wrong += fmt::format("out[{}]: expected {:#x}, got {:#x}\n", k, a, b);
  }
  return wrong;
}

// The host functions of a .cu file.
class HostSide {
 public:
  explicit HostSide(const std::string& path) {
    const auto where = toolchain::locate();
    if (!where) throw std::runtime_error(to_string(where.error(), path));
    const std::string object = scratch_.path() + "/host.so";
    const auto run = run_command({where->compiler,
                                  "-x",
                                  "cuda",
                                  "-std=c++20",
                                  "--cuda-host-only",
                                  "-nocudainc",
                                  "-nocudalib",
                                  "--cuda-path=/nonexistent",
                                  "-Xclang",
                                  "-target-sdk-version=12.5",
                                  "-isystem",
                                  where->sdk + "/include",
                                  "-include",
                                  "cuda_runtime.h",
                                  "-O1",
                                  "-ffp-contract=off",
                                  "-fPIC",
                                  "-shared",
                                  "-o",
                                  object,
                                  path},
                                 std::chrono::seconds(60));
    if (run.exit_code != 0) throw std::runtime_error(run.output);
    // Lazily: kernel launches of the file need a runtime library that nothing here calls.
    library_ = dlopen(object.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library_) throw std::runtime_error(dlerror());
  }
  ~HostSide() {
    if (library_) dlclose(library_);
  }
  HostSide(const HostSide&) = delete;
  HostSide& operator=(const HostSide&) = delete;

  using Expect = void (*)(const void* in, void* out, int n);
  Expect find(const std::string& name) const { return reinterpret_cast<Expect>(dlsym(library_, name.c_str())); }

 private:
  TempDir scratch_;
  void* library_ = nullptr;
};

std::vector<std::string> kernel_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

class Kernels : public testing::TestWithParam<std::string> {};

void run_kernel(CudaProgram& program, const HostSide& host, const KernelRun& run) {
  const std::vector<std::byte> input = fill(run.in, run.line);
  std::vector<std::byte> expected(run.out.count * golden::bytes_of(run.out.type));
  const auto in = program.buffer(input), out = program.buffer(expected);
  program.request() = run.launch;
  const auto outcome =
      program.run(run.launch.kernel, run.launch.grid, run.launch.block, {}, in, out, static_cast<int>(run.in.count));
  const std::string printed = program.device().take_output();
  if (!run.fault.empty()) {
    ASSERT_EQ(outcome.ending, machine::Ending::fault);
    EXPECT_EQ(to_string(outcome.fault.kind), run.fault);
    return;
  }
  ASSERT_EQ(outcome.ending, machine::Ending::finished) << describe(outcome);
  for (const std::string& line : run.prints) EXPECT_NE(printed.find(line), std::string::npos) << printed;
  if (!run.expect.empty()) {
    Buffer list = run.out;
    list.values = run.expect;
    expected = fill(list, run.line);
  } else {
    const auto expect = host.find("expect_" + run.launch.kernel);
    ASSERT_NE(expect, nullptr) << "no host function expect_" << run.launch.kernel;
    expect(input.data(), expected.data(), static_cast<int>(run.in.count));
  }
  EXPECT_EQ(compare(run.out, expected, program.read<std::byte>(out, expected.size())), "");
}

TEST_P(Kernels, GiveWhatTheHostSays) {
  const std::string path = kFolder + GetParam() + ".cu";
  const auto runs = read_runs(read_file(path));
  if (runs.empty()) {
    SUCCEED() << "only compiled, by tools/check_cuda.sh";
    return;
  }
  const HostSide host(path);
  for (const bool reference : {false, true}) {
    SCOPED_TRACE(reference ? "reference engine" : "fast engine");
    CudaProgram program = CudaProgram::from_file(path, {.reference = reference});
    for (const KernelRun& run : runs) {
      SCOPED_TRACE(fmt::format("{}.cu:{} {}", GetParam(), run.line, run.launch.kernel));
      run_kernel(program, host, run);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sdk, Kernels, testing::ValuesIn(kernel_files()), [](const auto& file) { return file.param; });

}  // namespace
}  // namespace fb
