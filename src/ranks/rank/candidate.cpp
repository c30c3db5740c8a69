#include "ranks/rank/candidate.h"

#include <dlfcn.h>

#include <stdexcept>
#include <utility>

namespace fb::rank {
namespace {

template <class Function>
void find(void* object, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(object, name));
  if (!function) throw std::runtime_error(std::string("the object has no ") + name);
}

void* open(const std::string& path) {
  void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) throw std::runtime_error(dlerror());
  return object;
}

}  // namespace

void Candidate::load(const std::string& candidate, const std::string& driver) {
  // The driver first: no code of the candidate has run when its symbols are bound.
  void* const entry = driver.empty() ? nullptr : open(driver);
  void* object = open(candidate);
  if (entry != nullptr) {
    static void* border = nullptr;
    border = object;
    void (*bind)(void* (*)(const char*)) = nullptr;
    find(entry, "fabricbench_bind", bind);
    bind([](const char* name) { return dlsym(border, name); });
    object = entry;
  }
  find(object, "fabricbench_args_words", args_words_);
  find(object, "fabricbench_construct", construct_);
  find(object, "fabricbench_run", run_);
  find(object, "fabricbench_destroy", destroy_);
}

void Candidate::construct(const fabricbench::Rank& rank, std::vector<uint64_t> words) {
  if (words.size() != args_words_())
    throw std::runtime_error("Args has " + std::to_string(args_words_()) + " fields where the judge has " +
                             std::to_string(words.size()));
  words_ = std::move(words);
  solution_ = construct_(&rank, words_.data());
}

void Candidate::run(cudaStream_t stream) { run_(solution_, words_.data(), stream); }

void Candidate::destroy() { destroy_(std::exchange(solution_, nullptr)); }

}  // namespace fb::rank
