// Checks and measures solutions of one problem on the GPUs of this computer: see README.md.

#include "correctness.h"
#include "options.h"
#include "results.h"

namespace {

using namespace harness;

int gather(void* context, const void* mine, size_t bytes, void* all) {
  if (Instance::in_run()) return 1;
  static_cast<Ranks*>(context)->all_gather(mine, bytes, all);
  return 0;
}
int share(void* context, int root, int descriptor, int* shared) {
  if (Instance::in_run()) return 1;
  *shared = static_cast<Ranks*>(context)->share(root, descriptor);
  return 0;
}

// As many ranks as the problem is judged with, and GPUs are here. A process that asks for GPUs can't fork ranks.
int ranks_that_fit() {
  int ends[2] = {};
  if (pipe(ends) != 0) throw CannotRun("pipe");
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    _exit(write(ends[1], &count, sizeof count) == sizeof count ? 0 : 1);
  }
  close(ends[1]);
  int count = 0, most = 1;
  if (child < 0 || read(ends[0], &count, sizeof count) != sizeof count) count = 0;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  for (const int world : problem::worlds) most = world <= count ? std::max(most, world) : most;
  return most;
}

bool is_chosen(const problem::Size& size, const Options& options) {
  if (!options.sizes.empty())
    return std::find(options.sizes.begin(), options.sizes.end(), size.name) != options.sizes.end();
  return !options.quick || size.quick;
}

// The rows of a size, one for each solution.
std::vector<Row> run_size(const problem::Size& size, const Options& options, const std::vector<Library>& libraries,
                          const fabricbench::Rank& rank, Ranks& ranks, cudaStream_t stream) {
  const uint64_t seed = oracle::mix(options.seed, static_cast<uint64_t>(&size - problem::sizes.data()));
  Data data(ranks, size, seed);
  std::vector<std::unique_ptr<Instance>> instances;
  for (const Library& library : libraries)
    instances.push_back(std::make_unique<Instance>(library, rank, data, size, stream));
  std::vector<Row> rows;
  {
    Check check(ranks, data, size, options.calls, seed, rank.device(), stream);
    for (auto& instance : instances) check.run(*instance);
    say_progress("the oracle", size.name, "expected values");
    const auto wrong = check.find_mismatches();
    for (size_t k = 0; k < libraries.size(); ++k) rows.push_back({size.name, libraries[k].name(), wrong[k]});
  }
  double bytes = 0;
  for (int r = 0; r < rank.world(); ++r) {
    double in = 0, out = 0;
    for (size_t t = 0; t < problem::tensors.size(); ++t)
      (problem::tensors[t].output ? out : in) += static_cast<double>(data.bytes(r, t));
    bytes = std::max({bytes, in, out});
  }
  for (Row& row : rows) {
    row.bytes = bytes;
    row.link_bytes = static_cast<double>(problem::link_bytes({size.values.data(), rank.world(), rank.rank()}));
  }
  if (options.times && size.timed) {
    Timer timer(ranks, stream, options.iterations);
    for (size_t k = 0; k < instances.size(); ++k) {
      say_progress(instances[k]->name(), size.name, "warm-up");
      for (int call = 0; call < options.warm_up; ++call) instances[k]->run();
      check(cudaStreamSynchronize(stream), instances[k]->name());
    }
    // They take turns: clocks and temperature are the same for all.
    for (int sample = 0; sample < options.samples; ++sample) {
      for (size_t k = 0; k < instances.size(); ++k) {
        say_progress(instances[k]->name(), size.name, "timed calls");
        timer.sample(*instances[k], rows[k].times);
      }
    }
  }
  for (auto& instance : instances) instance->end(size.name);
  return rows;
}

int run_all(const Options& options, Ranks& ranks) {
  const Place& place = ranks.place();
  const bool speaks = place.rank == 0;
  const Card card(ranks);
  if (speaks &&
      std::find(std::begin(problem::worlds), std::end(problem::worlds), place.world) == std::end(problem::worlds))
    std::printf("note: the judge never has %d ranks for this problem\n", place.world);
  if (speaks && !card.peers())
    std::printf("note: these GPUs can't reach each other's memory: solutions that read or write it fail\n");
  if (card.capability() < problem::least_capability)
    throw CannotRun(std::string(problem::name) + " needs compute capability " +
                    std::to_string(problem::least_capability / 10) + "." +
                    std::to_string(problem::least_capability % 10) + "; " + card.name() + " has " +
                    std::to_string(card.capability() / 10) + "." + std::to_string(card.capability() % 10));
  const fabricbench::Rank rank(place.rank, place.world, card.device(), {&ranks, &gather, &share});
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  std::vector<Library> libraries;
  for (const std::string& path : options.solutions) libraries.emplace_back(path);

  Results results(card, place, options.seed);
  if (speaks) results.print_head(options.times);
  bool any = false;
  for (const problem::Size& size : problem::sizes) {
    if (!is_chosen(size, options)) continue;
    any = true;
    alarm(static_cast<unsigned>(options.seconds));
    const auto rows = run_size(size, options, libraries, rank, ranks, stream);
    for (const Row& row : rows) {
      if (speaks) results.add(row);
    }
  }
  alarm(0);
  if (!any)
    throw CannotRun("the problem has no such size; it has:" + [] {
      std::string names;
      for (const problem::Size& size : problem::sizes) names += std::string(" ") + size.name;
      return names;
    }());
  int code = kRight;
  if (speaks) {
    write_file(options.results + ".json", results.json());
    if (results.timed()) write_file(options.results + ".svg", results.plot());
    std::printf(
        "%s\nNot looked for: races that these runs did not meet, stores that arrive late, calls that the problem "
        "forbids.\n",
        results.all_right() ? "all right" : "WRONG");
    code = results.all_right() ? kRight : kWrong;
  }
  return ranks.all_of(code)[0];
}

void end_hang(int) {
  char text[300];
  const int length = std::snprintf(text, sizeof text, "rank %d: no end in the time of --seconds: %s. A hang?\n",
                                   progress.rank, progress.text);
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) _exit(kHang);
  _exit(kHang);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    // A kernel that is loaded in the middle of a call waits for kernels that wait for it. CUDA reads this when it
    // begins.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    const Options options = read_options(argc, argv);
    if (options.help) {
      std::printf("%s", kHelp);
      return kRight;
    }
    const auto launched = place_of_launcher();
    const Place place =
        launched && options.ranks == 0 ? *launched : fork_ranks(options.ranks > 0 ? options.ranks : ranks_that_fit());
    progress.rank = place.rank;
    std::signal(SIGALRM, end_hang);
    alarm(static_cast<unsigned>(options.seconds));
    Ranks ranks(place);
    const int code = run_all(options, ranks);
    std::fflush(stdout);
    // Destructors of libraries may wait for other ranks.
    _exit(std::ferror(stdout) ? kCannotRun : code);
  } catch (const CannotRun& e) {
    std::fprintf(stderr, "rank %d: %s\n", progress.rank, e.what());
    _exit(kCannotRun);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: %s (at %s)\n", progress.rank, e.what(), progress.text);
    _exit(kRankDied);
  }
}
