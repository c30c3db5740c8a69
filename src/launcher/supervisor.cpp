#include "launcher/supervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <map>
#include <system_error>

#include "common/base/strings.h"
#include "launcher/descendants.h"

namespace fb::launcher {
namespace {

using namespace std::chrono_literals;
using record::Ending;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kStartLimit = 10s;
constexpr Milliseconds kGrace = 1s;
// After a fault or a deadlock the ranks have their error codes at once.
constexpr Milliseconds kGraceAfterIncident = 500ms;
constexpr Milliseconds kMachineLimit = 30s;           // to write record and trace
constexpr Milliseconds kMachineLimitHurried = 500ms;  // where something went wrong and no trace is wanted
constexpr size_t kMostMachineErrors = 64u << 10;
constexpr size_t kTail = 4096;  // bytes of a rank's output that are kept

// A port that is free now. Nothing listens there until a rank does.
std::string free_port() {
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (!probe || bind(probe.get(), plain, size) != 0 || getsockname(probe.get(), plain, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "no free port on 127.0.0.1");
  }
  return std::to_string(ntohs(address.sin_port));
}

std::vector<std::string> environment_of_only(const std::map<std::string, std::string>& set) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : set) variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

// This process's environment with some variables set.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& set) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!set.contains(std::string(variable.substr(0, variable.find('='))))) variables.emplace_back(variable);
  }
  std::ranges::copy(environment_of_only(set), std::back_inserter(variables));
  return variables;
}

// As torchrun sets them.
std::map<std::string, std::string> rank_variables(int rank, const LaunchRequest& request) {
  const int per_node = (request.options.ranks + request.nodes - 1) / request.nodes;
  const int node = rank / per_node;
  const int of_node = std::min(per_node, request.options.ranks - node * per_node);
  std::map<std::string, std::string> variables = {{"RANK", std::to_string(rank)},
                                                  {"WORLD_SIZE", std::to_string(request.options.ranks)},
                                                  {"LOCAL_RANK", std::to_string(rank % per_node)},
                                                  {"LOCAL_WORLD_SIZE", std::to_string(of_node)},
                                                  {"GROUP_RANK", std::to_string(node)}};
  if (const auto k = static_cast<size_t>(node); k < request.sysfs.size())
    variables["FABRICBENCH_SYSFS"] = request.sysfs[k];
  return variables;
}

UniqueFd catch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

Supervisor::Supervisor(const LaunchRequest& request, const RunDirectory& directory)
    : request_(request),
      directory_(directory),
      signals_(catch_signals()),
      machine_lines_(request.err, "fabricbench-machine: ", true) {}

Result<void> Supervisor::start_machine() {
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
  SpawnOptions start;
  write_file(directory_.file("options.json"), to_json(request_.options));
  start.command = {request_.machine,
                   "--socket",
                   directory_.file("machine.sock"),
                   "--options",
                   directory_.file("options.json"),
                   "--record",
                   directory_.file("record.json")};
  if (!request_.trace.empty()) start.command.insert(start.command.end(), {"--trace", request_.trace});
  if (!request_.events.empty()) start.command.insert(start.command.end(), {"--events", request_.events});
  if (is_judged()) {
    start.command.insert(start.command.end(), {"--judge", std::to_string(request_.judge)});
    start.inherited.push_back(request_.judge);
  }
  start.environment = environment_with({});
  start.in = in.reader.get();
  start.out = out.writer.get();
  start.err = err.writer.get();
  if (request_.prepare_machine) request_.prepare_machine(start);
  machine_ = spawn(start);
  machine_running_ = true;
  for (UniqueFd* theirs : {&in.reader, &out.writer, &err.writer}) theirs->reset();
  for (const UniqueFd* ours : {&out.reader, &err.reader}) fcntl(ours->get(), F_SETFL, O_NONBLOCK);
  machine_in_ = std::move(in.writer);
  machine_out_ = std::move(out.reader);
  machine_err_ = std::move(err.reader);

  const auto limit = Clock::now() + kStartLimit;
  while (!machine_ready_ && machine_running_ && ending_ == Ending::finished && Clock::now() < limit) wait_once(100ms);
  wall_seconds_["start machine"] = std::chrono::duration<double>(Clock::now() - born_).count();
  if (machine_ready_) return {};
  if (ending_ == Ending::interrupted) return error("interrupted");
  const std::string said = machine_errors_.empty() ? "it said nothing" : std::string(trim(machine_errors_));
  return error(machine_running_
                   ? fmt::format("the machine was not ready after {} s: {}", kStartLimit.count() / 1000, said)
                   : said);
}

void Supervisor::start_ranks() {
  const std::string port = is_judged() ? "" : free_port();
  started_ = Clock::now();
  if (request_.options.mpi) {
    start_mpi(port);
  } else {
    ranks_.reserve(static_cast<size_t>(request_.options.ranks));
    for (int rank = 0; rank < request_.options.ranks; ++rank) start_rank(rank, port);
  }
  wall_seconds_["start ranks"] = seconds_since_start();
  launch_seconds_ = thread_seconds() - born_seconds_;
}

std::vector<std::string> Supervisor::environment_of(int rank, const std::string& port) const {
  auto set = rank_variables(rank, request_);
  if (request_.options.mpi) set.clear();
  set["FABRICBENCH_SOCKET"] = socket_of(rank);
  if (is_judged()) return environment_of_only(set);
  set["MASTER_ADDR"] = "127.0.0.1";
  set["MASTER_PORT"] = port;
  if (!request_.library_path.empty()) {
    const char* path = getenv("LD_LIBRARY_PATH");
    set["LD_LIBRARY_PATH"] = path == nullptr ? request_.library_path : request_.library_path + ":" + path;
  }
  // mpirun itself needs none of them.
  if (!request_.preload.empty() && !request_.options.mpi) set["LD_PRELOAD"] = preload();
  return environment_with(set);
}

std::string Supervisor::preload() const {
  const char* others = getenv("LD_PRELOAD");
  std::string list = others == nullptr ? "" : others;
  for (const auto& library : request_.preload) list = list.empty() ? library : fmt::format("{}:{}", library, list);
  return list;
}

// The machine listens at one socket, or at one for each rank that is judged.
std::string Supervisor::socket_of(int rank) const {
  const std::string socket = directory_.file("machine.sock");
  return is_judged() ? fmt::format("{}.{}", socket, rank) : socket;
}

void Supervisor::add_rank(int rank, SpawnOptions start) {
  Pipe out = make_pipe(), err = make_pipe();
  start.out = out.writer.get();
  start.err = err.writer.get();
  start.data_limit = request_.rank_memory;
  start.fixed_addresses = true;
  // Input that is a file or a pipe is for the first rank; a terminal is not shared.
  if (!is_judged() && rank <= 0 && isatty(STDIN_FILENO) == 0 && fcntl(STDIN_FILENO, F_GETFD) >= 0)
    start.in = STDIN_FILENO;
  for (const UniqueFd* ours : {&out.reader, &err.reader}) fcntl(ours->get(), F_SETFL, O_NONBLOCK);
  if (request_.prepare_rank) request_.prepare_rank(rank, start);
  const bool many = request_.options.ranks > 1;
  const std::string prefix = request_.prefix && !request_.options.mpi ? fmt::format("[rank {}] ", rank) : "";
  ranks_.push_back(Rank{.process = request_.start_rank ? request_.start_rank(rank, start) : spawn(start),
                        .out = std::move(out.reader),
                        .err = std::move(err.reader),
                        .out_lines = {request_.out, prefix, many, request_.options.mpi && request_.prefix},
                        .err_lines = {request_.err, prefix, many, request_.options.mpi && request_.prefix},
                        .end = {.rank = rank}});
}

void Supervisor::start_rank(int rank, const std::string& port) {
  SpawnOptions start;
  start.command = {request_.program};
  start.command.insert(start.command.end(), request_.arguments.begin(), request_.arguments.end());
  start.environment = environment_of(rank, port);
  add_rank(rank, std::move(start));
}

// One mpirun with one program context per rank, so that each gets its own variables. Everything it writes stays in the
// run's folder, and it uses no network.
void Supervisor::start_mpi(const std::string& port) {
  SpawnOptions start;
  start.low_priority = true;  // MPI's waiting is spinning: the machine must not have to share with it
  start.environment = environment_of(0, port);
  start.environment.push_back("OMPI_ALLOW_RUN_AS_ROOT=1");
  start.environment.push_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  start.command = {request_.mpirun, "--oversubscribe", "--bind-to", "none"};
  if (request_.prefix) start.command.emplace_back("--tag-output");
  const std::vector<std::pair<std::string, std::string>> settings = {{"orte_tmpdir_base", directory_.path()},
                                                                     {"btl_vader_backing_directory", directory_.path()},
                                                                     {"pml", "ob1"},
                                                                     {"btl", "self,vader"},
                                                                     {"oob_tcp_if_include", "lo"},
                                                                     {"plm", "isolated"},
                                                                     {"mpi_yield_when_idle", "1"}};
  for (const auto& [name, value] : settings) start.command.insert(start.command.end(), {"--mca", name, value});
  for (int rank = 0; rank < request_.options.ranks; ++rank) {
    if (rank > 0) start.command.emplace_back(":");
    start.command.insert(start.command.end(), {"-n", "1"});
    for (const auto& [name, value] : rank_variables(rank, request_)) {
      start.command.insert(start.command.end(), {"-x", fmt::format("{}={}", name, value)});
    }
    if (!request_.preload.empty()) start.command.insert(start.command.end(), {"-x", "LD_PRELOAD=" + preload()});
    start.command.push_back(request_.program);
    start.command.insert(start.command.end(), request_.arguments.begin(), request_.arguments.end());
  }
  add_rank(-1, std::move(start));
}

void Supervisor::watch() {
  while (any_running()) {
    auto until = Clock::time_point::max();
    if (kill_at_ && !killed_) until = *kill_at_;
    if (request_.timeout && !kill_at_) until = std::min(until, started_ + *request_.timeout);
    const auto left =
        until == Clock::time_point::max() ? Milliseconds(1000) : std::chrono::ceil<Milliseconds>(until - Clock::now());
    // A judged run may exceed its wall time while the machine computes: poll it.
    constexpr Milliseconds kPollInterval{50};
    const auto least = is_judged() && !kill_at_ ? kPollInterval : Milliseconds(0);
    wait_once(std::clamp(left, least, Milliseconds(1000)));
    if (kill_at_ && !killed_ && Clock::now() >= *kill_at_) kill_ranks();
    if (!kill_at_ && is_late()) {
      trouble(Ending::timeout,
              fmt::format("the run took longer than {} s", std::chrono::duration<double>(*request_.timeout).count()),
              0ms);
    }
  }
  drain();
  wall_seconds_["run"] = seconds_since_start();
}

// The machine's computation has a limit of its own, in instructions, and a verdict must not depend on the load of this
// computer, or on how long the judge computes inputs and expected values: for a judge, time in which the machine or
// this process runs or is runnable does not count, nor does that in which a rank waits for a processor, up to ten times
// the limit.
bool Supervisor::is_late() const {
  if (!request_.timeout) return false;
  const auto passed = Clock::now() - started_;
  if (passed < *request_.timeout) return false;
  constexpr int kAtMost = 10;
  std::chrono::nanoseconds delay{};
  for (const Rank& rank : ranks_) {
    if (rank.running) delay = std::max(delay, delay_of(rank.process.id()));
  }
  return !is_judged() || passed >= kAtMost * *request_.timeout ||
         passed - busy_time(machine_.id()) - own_busy_time() - delay >= *request_.timeout;
}

bool Supervisor::wait_once(Milliseconds longest) {
  std::vector<pollfd> watched;
  std::vector<Rank*> of_rank;
  const auto watch = [&](int fd, Rank* rank) {
    watched.push_back({fd, POLLIN, 0});  // a closed one is -1, which poll leaves out
    of_rank.push_back(rank);
  };
  watch(signals_.get(), nullptr);
  watch(machine_out_.get(), nullptr);
  watch(machine_err_.get(), nullptr);
  watch(machine_.handle(), nullptr);
  for (Rank& rank : ranks_) {
    watch(rank.out.get(), &rank);
    watch(rank.err.get(), &rank);
    watch(rank.process.handle(), &rank);
  }
  const int ready = poll(watched.data(), watched.size(), static_cast<int>(longest.count()));
  if (ready <= 0) return ready < 0;
  const auto is_ready = [&](size_t i) { return watched[i].revents != 0; };
  if (is_ready(0)) take_signal();
  if (is_ready(1)) read_machine();
  if (is_ready(2)) read_output(machine_err_, machine_lines_, nullptr);
  for (size_t i = 4; i < watched.size(); i += 3) {
    Rank& rank = *of_rank[i];
    if (is_ready(i)) read_output(rank.out, rank.out_lines, &rank);
    if (is_ready(i + 1)) read_output(rank.err, rank.err_lines, &rank);
    if (is_ready(i + 2)) rank_ended(rank);
  }
  // Last: what it said before it ended explains the end.
  if (is_ready(3)) {
    read_machine();
    read_output(machine_err_, machine_lines_, nullptr);
    const int status = machine_.reap();
    machine_running_ = false;
    const bool asked = !machine_in_;
    // The machine ends by itself after something fatal, and when the judge has left. Ranks fail for want of it.
    const bool judge_left = is_judged() && !asked && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (judge_left) {
      trouble(Ending::interrupted, "the judge has left", 0ms);
      if (ending_ != Ending::timeout && std::ranges::none_of(incidents_, &record::Incident::fatal))
        ending_ = Ending::interrupted;
    } else if (!asked || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      trouble(Ending::machine_lost,
              WIFEXITED(status) ? fmt::format("the machine exited with {}", WEXITSTATUS(status))
                                : fmt::format("the machine was ended by SIG{}", sigabbrev_np(WTERMSIG(status))),
              kGraceAfterIncident);
    }
  }
  return true;
}

void Supervisor::read_output(UniqueFd& from, LineForwarder& lines, Rank* rank) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(from.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    lines.finish();
    from.reset();
    return;
  }
  const std::string_view text(buffer.data(), static_cast<size_t>(got));
  if (rank != nullptr) return take_output(*rank, lines, text);
  if (&lines == &machine_lines_) {
    machine_errors_.append(text.substr(0, kMostMachineErrors - std::min(kMostMachineErrors, machine_errors_.size())));
    if (!machine_ready_) return;  // it will be the text of an error
  }
  lines.take(text);
}

void Supervisor::take_output(Rank& rank, LineForwarder& lines, std::string_view text) const {
  rank.tail += text;
  if (rank.tail.size() > kTail) rank.tail.erase(0, rank.tail.size() - kTail);
  const uint64_t limit = request_.output_limit == 0 ? UINT64_MAX : request_.output_limit;
  text = text.substr(0, limit - rank.passed_on);
  rank.passed_on += text.size();
  lines.take(text);
}

void Supervisor::read_machine() {
  std::array<char, 65536> buffer;
  const ssize_t got = read(machine_out_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    machine_out_.reset();
    return;
  }
  machine_text_.append(buffer.data(), static_cast<size_t>(got));
  for (size_t end = machine_text_.find('\n'); end != std::string::npos; end = machine_text_.find('\n')) {
    take_machine_line(std::string_view(machine_text_).substr(0, end));
    machine_text_.erase(0, end + 1);
  }
}

void Supervisor::take_machine_line(std::string_view line) {
  if (line == "ready") {
    machine_ready_ = true;
    return;
  }
  auto incident = record::parse_incident(line);
  if (!incident) {
    machine_lines_.take(fmt::format("{}\n", line));
    return;
  }
  // Losing ranks that the launcher has killed, and their work, is expected.
  const Ending ending = record::ending_of(incident->kind);
  if (killed_ && (ending == Ending::rank_lost || ending == Ending::bad_message ||
                  incident->reason == record::IncidentReason::work_not_done))
    return;
  if (request_.err >= 0) write_all(request_.err, text_of(*incident));
  incidents_.push_back(*incident);
  if (!incident->finding.empty() && !found_) found_ = ending;
  if (!incident->fatal) return;
  // The machine knows why; that a rank failed is what followed.
  if (ending_ == Ending::failed || (ending_ == Ending::rank_lost && ending != Ending::rank_lost)) ending_ = ending;
  trouble(ending, "see above", kGraceAfterIncident);
}

void Supervisor::take_signal() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof info) != sizeof info) return;
  const int signal = static_cast<int>(info.ssi_signo);
  if (ending_ == Ending::interrupted) {  // asked twice: no more patience
    kill_ranks();
    return;
  }
  trouble(Ending::interrupted, fmt::format("interrupted by SIG{}", sigabbrev_np(signal)), kGrace);
  ending_ = Ending::interrupted;
  send_to_ranks(signal);
}

void Supervisor::rank_ended(Rank& rank) {
  rank.process.kill_group();  // what it left running
  const int status = rank.process.reap();
  rank.running = false;
  rank.end.seconds = seconds_since_start();
  rank.end.ended = killed_;
  if (WIFSIGNALED(status)) {
    rank.end.signal = WTERMSIG(status);
  } else {
    rank.end.exit_code = WEXITSTATUS(status);
    // A sandbox around the rank says so when a signal has ended it.
    constexpr int kSignalled = 128;
    if (is_judged() && rank.end.exit_code > kSignalled && rank.end.exit_code < kSignalled + SIGRTMIN) {
      rank.end.signal = rank.end.exit_code - kSignalled;
      rank.end.exit_code = 0;
    }
  }
  if (killed_ || status == 0) return;
  const std::string name = rank.end.rank < 0 ? "mpirun" : fmt::format("rank {}", rank.end.rank);
  if (rank.end.signal != 0) {
    trouble(Ending::rank_lost, fmt::format("{} was ended by SIG{}", name, sigabbrev_np(rank.end.signal)), kGrace);
  } else {
    trouble(Ending::failed, fmt::format("{} exited with {}", name, rank.end.exit_code), kGrace);
  }
}

// What is still in the pipes; a process that keeps one open is not waited for.
void Supervisor::drain() {
  for (Rank& rank : ranks_) {
    for (auto [from, lines] : {std::pair{&rank.out, &rank.out_lines}, std::pair{&rank.err, &rank.err_lines}}) {
      if (!*from) continue;
      pollfd more{from->get(), POLLIN, 0};
      while (*from && poll(&more, 1, 0) > 0) read_output(*from, *lines, &rank);
      if (*from) lines->finish();
      from->reset();
    }
  }
}

void Supervisor::finish_machine() {
  const auto begin = Clock::now();
  // Ranks that are judged fail when the machine ends: was that first?
  if (is_judged() && ending_ == Ending::failed) {
    while (machine_running_ && Clock::now() < begin + kGraceAfterIncident) wait_once(50ms);
  }
  // Incidents that are still on their way come before the end of the input.
  machine_in_.reset();
  // A judge wants the record, unless time was up anyway: then the machine may be what took it.
  const bool unwanted = !is_judged() || ending_ == Ending::timeout || ending_ == Ending::interrupted;
  const bool hurry = ending_ != Ending::finished && request_.trace.empty() && unwanted;
  const auto limit = begin + (hurry ? kMachineLimitHurried : kMachineLimit);
  while (machine_running_ && Clock::now() < limit) wait_once(50ms);
  if (machine_running_) {
    machine_.kill_group();
    machine_.reap();
    machine_running_ = false;
    if (!hurry) trouble(Ending::machine_lost, "the machine did not end and was killed", 0ms);
  }
  machine_lines_.finish();
  wall_seconds_["finish"] = std::chrono::duration<double>(Clock::now() - begin).count();
}

LaunchResult Supervisor::result() {
  LaunchResult result;
  // Where the machine wrote none, the record holds what is known here.
  if (access(directory_.file("record.json").c_str(), R_OK) == 0) {
    auto of_machine = record::parse_run_record(read_file(directory_.file("record.json")));
    if (of_machine) result.record = std::move(*of_machine);
  }
  auto& record = result.record;
  record.options = request_.options;
  if (ending_ != Ending::finished) record.ending = ending_;  // else as the machine saw it
  // What went wrong behind a finding may have followed from it.
  if (found_ && ending_ != Ending::interrupted && ending_ != Ending::machine_lost) record.ending = *found_;
  record.incidents = incidents_;
  if (request_.build_seconds > 0) record.wall_seconds["build"] = request_.build_seconds;
  for (const auto& [phase, seconds] : wall_seconds_) record.wall_seconds[phase] = seconds;
  if (is_judged()) record.processor_seconds["launch"] = launch_seconds_;
  for (const Rank& rank : ranks_) {
    record.ranks.push_back(rank.end);
    result.output_tail.push_back(rank.tail);
  }
  result.problem = problem_;
  const bool fine = ending_ == Ending::finished && !found_;
  result.exit_code = fine ? 0 : ending_ == Ending::machine_lost ? 2 : 1;
  return result;
}

bool Supervisor::any_running() const { return std::ranges::any_of(ranks_, &Rank::running); }

void Supervisor::trouble(Ending ending, std::string what, Milliseconds grace) {
  if (kill_at_) return;  // the first one counts
  kill_at_ = Clock::now() + grace;
  ending_ = ending;
  problem_ = std::move(what);
}

void Supervisor::send_to_ranks(int signal) {
  for (const Rank& rank : ranks_) {
    if (rank.running) rank.process.send_signal_to_group(signal);
  }
}

void Supervisor::kill_ranks() {
  killed_ = true;
  send_to_ranks(SIGKILL);
}

double Supervisor::seconds_since_start() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

}  // namespace fb::launcher
