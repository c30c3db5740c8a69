// fabricbench-rank --candidate OBJECT [--driver OBJECT] [--confine [--data BYTES] [--file BYTES] [--cpu SECONDS]
// [--processes N] [--open-files N]]: the process of one rank while it is judged; fabricbench-rank --zygote DESCRIPTOR
// [LIBRARY…]: the process from which such ranks are forked (ranks/rank/zygote.h). It loads a candidate and executes the
// machine's steps with it. Once the candidate is loaded nothing here can be trusted: whatever matters is in the machine
// and in the judge.

#include <cuda_runtime_api.h>
#include <rank_steps.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/sandbox/confine.h"
#include "ranks/rank/candidate.h"
#include "ranks/rank/zygote.h"

namespace {

constexpr size_t kMostWords = 1024;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "fabricbench-rank: %s\n", what.c_str());
  _exit(1);
}

int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text) fail(std::string(variable) + " is not set: the judge starts this program");
  return std::atoi(text);
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(error));
}

int gather(void* context, const void* mine, size_t bytes, void* all) {
  return fabricbench_exchange(mine, bytes, all, bytes * static_cast<size_t>(*static_cast<const int*>(context)));
}
int share(void*, int root, int descriptor, int* shared) {
  return fabricbench_share_descriptor(root, descriptor, shared);
}

struct Thrown {
  int kind = 1;  // as fabricbench_step_next has it: 2 is std::bad_alloc
  std::string text = {};
};

// The exception that the candidate threw; none if it returned.
template <class Do>
std::optional<Thrown> attempt(Do&& work) {
  try {
    work();
    return std::nullopt;
  } catch (const std::bad_alloc& e) {
    return Thrown{.kind = 2, .text = e.what()};
  } catch (const std::exception& e) {
    return Thrown{.text = e.what()};
  } catch (const char* text) {
    return Thrown{.text = text};
  } catch (...) {
    return Thrown{.text = "an object that is not a std::exception"};
  }
}

// run() is called with this device: a constructor that uses others goes back to it.
void expect_current(int device) {
  int current = device;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current != device)
    throw std::runtime_error("it left device " + std::to_string(current) + " current, where device " +
                             std::to_string(device) + " was when it was called");
}

struct Options {
  std::string candidate, driver;
  bool confined = false;
  fb::sandbox::Limits limits;
};

Options read_options(const std::vector<std::string>& words) {
  Options options;
  for (size_t k = 0; k < words.size(); ++k) {
    const std::string_view name = words[k];
    if (name == "--confine") {
      options.confined = true;
      continue;
    }
    if (++k == words.size()) fail(std::string(name) + " is unknown, or needs a value");
    const auto number = [&] { return std::strtoull(words[k].c_str(), nullptr, 10); };
    if (name == "--candidate") {
      options.candidate = words[k];
    } else if (name == "--driver") {
      options.driver = words[k];
    } else if (name == "--data") {
      options.limits.data_bytes = number();
    } else if (name == "--file") {
      options.limits.file_bytes = number();
    } else if (name == "--cpu") {
      options.limits.cpu_seconds = number();
    } else if (name == "--processes") {
      options.limits.processes = static_cast<uint32_t>(number());
    } else if (name == "--open-files") {
      options.limits.open_files = static_cast<uint32_t>(number());
    } else {
      fail(std::string(name) + " is unknown");
    }
  }
  if (options.candidate.empty()) fail("--candidate PATH is missing");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const fb::sandbox::CompiledFilter* filter = nullptr;
  if (arguments.size() >= 2 && arguments[0] == "--zygote") {
    fb::rank::Forked forked =
        fb::rank::serve_as_zygote(std::atoi(arguments[1].c_str()), std::span(arguments).subspan(2));
    arguments = std::move(forked.arguments);
    filter = forked.filter;
  }
  const Options options = read_options(arguments);
  // Close descriptors inherited from the parent: the candidate must not have them.
  if (options.confined) close_range(3, ~0u, 0);
  if (const auto problem = attempt([&] {
        if (!options.confined) return;
        if (filter != nullptr) {
          fb::sandbox::confine(options.limits, *filter);
        } else {
          fb::sandbox::confine(options.limits, fb::sandbox::Filter::rank);
        }
      }))
    fail("cannot confine itself: " + problem->text);
  // Nothing is flushed at the end.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  int world = number_of("WORLD_SIZE");
  const int device = number_of("LOCAL_RANK");
  check(cudaSetDevice(device), "cudaSetDevice");
  cudaStream_t stream = nullptr;
  // As frameworks make theirs: work that a candidate puts on the default stream instead is not ordered with it.
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  const fabricbench::Rank rank(number_of("RANK"), world, device, {&world, &gather, &share});

  fb::rank::Candidate candidate;
  std::optional<Thrown> thrown = attempt([&] { candidate.load(options.candidate, options.driver); });
  while (true) {
    uint32_t step = 0, call = 0;
    std::vector<uint64_t> words(kMostWords);
    size_t got = 0;
    if (fabricbench_step_next(stream, thrown ? thrown->kind : 0, thrown ? thrown->text.c_str() : nullptr, &step, &call,
                              words.data(), words.size(), &got) != 0)
      fail("the machine has no next step for this rank");
    words.resize(std::min(got, kMostWords));
    switch (step) {
      case FABRICBENCH_STEP_CONSTRUCT:
        check(cudaSetDevice(device), "cudaSetDevice");
        thrown = attempt([&] {
          candidate.construct(rank, words);
          expect_current(device);
        });
        break;
      case FABRICBENCH_STEP_RUN:
        thrown = attempt([&] { candidate.run(stream); });
        break;
      case FABRICBENCH_STEP_DESTROY:
        thrown = attempt([&] { candidate.destroy(); });
        break;
      default:
        // Destructors of the candidate's static objects are not waited for.
        _exit(step == FABRICBENCH_STEP_LEAVE ? 0 : 1);
    }
  }
}
