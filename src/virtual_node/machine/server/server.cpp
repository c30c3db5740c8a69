#include "virtual_node/machine/server/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "common/base/processor_time.h"

namespace fb::machine {
namespace {

using record::IncidentReason;

constexpr size_t kMostConnections = 4096;
constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kPatienceForHello = 3'000 * kMillisecond;
constexpr uint64_t kPatienceForRanks = 20'000 * kMillisecond;
// If all threads wait this long, some of them outside the machine where it can't see why, it is a deadlock.
constexpr uint64_t kQuietIsDeadlock = 1'000 * kMillisecond;
// If they wait this long, virtual time passes for kernels that read the clock.
constexpr uint64_t kQuietPassesTime = 50 * kMillisecond;
// Of all ranks, in a run that is judged.
constexpr uint64_t kMostRequests = 150'000;
// Processor time of one step of a judged run: of the machine, of a rank, and of all ranks. The limits that do not
// depend on the computer are reached earlier by all but the strangest programs.
constexpr double kMostMachineSeconds = 9, kMostRankSeconds = 6, kMostSecondsOfRanks = 9;
// More for the machine where calls have much data: code that is slow, or slow to be checked, is right, too. What does
// not end at all does not end at the small sizes, which come first.
constexpr double kMachineSecondsPerByte = 40.0 / (1 << 20), kMostMachineSecondsOfAll = 60;
constexpr uint64_t kLookAtTimes = 100 * kMillisecond;
constexpr uint64_t kStepsAtOnce = 20'000;
// A request, in instructions.
constexpr uint64_t kLikeInstructions = 1'000;
// A rank is kept back for at most so many instructions; less after the others have once done so many without needing
// it: their polls write to memory, and do not look like polls.
constexpr uint64_t kPatienceForStraggler = 4'000'000, kLessPatience = 250'000;

uint64_t wall() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Server::Server(const platform::Platform& platform, const ServerOptions& options)
    : options_(options),
      nodes_(platform.node.nodes),
      node_(
          platform, options.node,
          [this](HostThread& thread, Answer&& answer) {
            const auto found = connections_.find(thread.connection);
            if (found == connections_.end()) return;
            if (thread.purpose == wire::Purpose::judge) return found->second->send(answer, thread.request);
            if (!thread.process->output.empty()) found->second->send_output(std::exchange(thread.process->output, {}));
            watch_.answered(thread.process->pid, thread.id);
            settled_[thread.process->number] = false;
            found->second->send(answer, thread.request);
          },
          [this](record::Incident incident) { report(std::move(incident)); }),
      watch_(options.node.mpi) {
  if (options_.judge < 0) {
    listen(options_.socket, -1);
    return;
  }
  for (int rank = 0; rank < options_.node.ranks; ++rank) listen(fmt::format("{}.{}", options_.socket, rank), rank);
  add_judge();
}

Server::~Server() {
  for (const Listener& listener : listeners_) unlink(listener.path.c_str());
}

void Server::add_judge() {
  judge_ = next_connection_++;
  auto connection = std::make_unique<Connection>(judge_, UniqueFd(options_.judge));
  fcntl(options_.judge, F_SETFD, FD_CLOEXEC);
  session_ = std::make_unique<JudgeSession>(node_.services(), static_cast<uint32_t>(options_.node.ranks), judge_);
  node_.set_judge(*session_);
  connection->thread = &session_->judge();
  connections_[judge_] = std::move(connection);
}

void Server::listen(const std::string& path, int rank) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the socket's path is too long");
  std::ranges::copy(path, address.sun_path);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail("socket");
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail(path);
  if (::listen(socket.get(), 1024) != 0) fail("listen");
  listeners_.push_back({path, std::move(socket), rank});
}

void Server::report(record::Incident incident) {
  std::printf("%s\n", to_json_line(incident).c_str());
  std::fflush(stdout);
  constexpr size_t kMostIncidents = 1000;
  finished_ |= incident.fatal;
  fatal_ |= incident.fatal;
  if (incidents_.size() < kMostIncidents) incidents_.push_back(std::move(incident));
}

void Server::accept_all(const UniqueFd& listener, int rank) {
  while (true) {
    const int fd = accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    UniqueFd socket(fd);
    if (connections_.size() >= kMostConnections) continue;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) continue;
    auto connection = std::make_unique<Connection>(next_connection_, std::move(socket));
    connection->pid = peer.pid;
    connection->since = wall();
    connection->rank = rank;
    connections_[next_connection_++] = std::move(connection);
  }
}

// Messages

bool Server::poll(int milliseconds) {
  std::vector<pollfd> set;
  std::vector<Connection*> polled;
  set.push_back({STDIN_FILENO, POLLIN, 0});
  for (const Listener& listener : listeners_) set.push_back({listener.socket.get(), POLLIN, 0});
  const size_t first = set.size();
  const auto watch = [&](Connection& connection) {
    // A thread that waits for its answer must not send anything: it is not read, so that it can't fill the machine's
    // memory. That it has left is noticed all the same.
    const short events = static_cast<short>((is_not_read(connection) ? POLLRDHUP : POLLIN) |
                                            (connection.wants_to_write() ? POLLOUT : 0));
    set.push_back({connection.fd(), events, 0});
    polled.push_back(&connection);
  };
  for (const auto& [number, connection] : connections_) {
    if (number != judge_) watch(*connection);
  }
  // The judge last: requests that arrived before its next step arrived between steps.
  if (const auto judge = connections_.find(judge_); judge != connections_.end()) watch(*judge->second);
  if (::poll(set.data(), set.size(), milliseconds) <= 0) return false;
  bool any = false;
  for (size_t k = 1; k < first; ++k) {
    if (set[k].revents == 0) continue;
    any = true;
    accept_all(listeners_[k - 1].socket, listeners_[k - 1].rank);
  }
  if (set[0].revents != 0) {
    char buffer[256];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) finished_ = true;
  }
  std::vector<uint64_t> lost;
  for (size_t k = 0; k < polled.size(); ++k) {
    const short events = set[k + first].revents;
    if (events == 0) continue;
    any = true;
    Connection& c = *polled[k];
    if ((events & POLLOUT) != 0) c.flush();
    const bool waits = is_not_read(c);
    if (!waits && c.read()) {
      end_overtime(c);
      if (!frozen() || c.number == judge_) {
        serve(c);
      } else if (c.kind_of_message() != wire::Kind::step_next && c.kind_of_message() != wire::Kind::callback_next) {
        session_->note_late();
      }
    }
    const bool hung_up = (events & (POLLHUP | POLLERR | POLLRDHUP)) != 0 && (waits || !c.has_message());
    if (c.gone() || (waits && hung_up)) lost.push_back(c.number);
  }
  for (const uint64_t number : lost) drop(*connections_[number]);
  return any;
}

// A thread that still makes calls after everything has ended would keep the step from ending.
void Server::end_overtime(const Connection& connection) {
  if (!session_ || connection.number == judge_ || !session_->is_over()) return;
  constexpr uint32_t kMostInOvertime = 64;
  if (++overtime_ < kMostInOvertime) return;
  overtime_ = 0;
  session_->end_step();
}

bool Server::is_not_read(const Connection& connection) const {
  return (connection.thread && connection.thread->waiting) || (frozen() && connection.has_message());
}

// Requests that arrived while ranks were frozen.
void Server::serve_held() {
  for (const auto& [number, connection] : connections_) {
    if (connection->has_message() && !connection->gone()) serve(*connection);
  }
}

void Server::serve(Connection& connection) {
  wire::Received message = connection.take();
  if (connection.rank >= 0 && ++requests_ == kMostRequests) {
    report(make_incident(IncidentReason::requests_used_up, connection.rank,
                         fmt::format("The ranks made {} requests: a loop that does not end.", kMostRequests)));
    return;
  }
  if (!connection.thread) return hello(connection, message);
  Call call;
  call.thread = connection.thread;
  call.kind = message.frame.kind;
  call.body = message.body;
  call.blob = message.blob;
  call.descriptor = std::move(message.descriptor);
  if (connection.thread->process->has_shared_memory) node_.look_again();
  if (call.kind == wire::Kind::judge_step) note_processor_time();
  const bool was_frozen = frozen();
  node_.handle(call);
  if (session_ && node_.out_of_budget() && !finished_) report_work();
  if (was_frozen && !frozen()) serve_held();
}

void Server::hello(Connection& connection, const wire::Received& message) {
  wire::Hello m;
  Answer refusal;
  refusal.status = wire::Status::not_permitted;
  if (message.frame.kind != wire::Kind::hello) return connection.send(refusal, message.frame.kind);
  std::memcpy(&m, message.body.data(), sizeof m);
  if (m.version != wire::kVersion || m.purpose > wire::Purpose::facts) {
    if (connection.rank >= 0)
      report(make_incident(IncidentReason::unknown_client, connection.rank,
                           fmt::format("rank {}: a connection that is not of our libraries", connection.rank)));
    return connection.send(refusal, wire::Kind::hello);
  }
  if (connection.rank >= 0) {
    if (!may_come(connection)) return connection.send(refusal, wire::Kind::hello);
    // Whatever it says.
    const auto nodes = static_cast<int>(nodes_);
    m.rank = connection.rank;
    m.node = connection.rank / ((options_.node.ranks + nodes - 1) / nodes);
    m.thread = HostWatch::find_thread(connection.pid, m.thread);
  }
  if (m.purpose == wire::Purpose::facts) {
    connection.only_asks = true;
    const auto node = static_cast<uint32_t>(m.node);
    if (m.node < 0 || node >= nodes_) return connection.send(refusal, wire::Kind::hello);
    return connection.send(node_.facts(0, node * node_.devices_per_node()), wire::Kind::hello);
  }
  Process* process = nullptr;
  for (const auto& p : node_.processes()) {
    if (p->pid == connection.pid && !p->gone) process = p.get();
  }
  if (!process) process = &node_.add_process(connection.pid, m.rank, m.node);
  const auto calls = [&](const auto& t) { return t->process == process && !t->gone && t->purpose == m.purpose; };
  if (m.purpose == wire::Purpose::calls && std::ranges::any_of(node_.threads(), calls))
    node_.mark_not_replayable("several threads of one process call CUDA: their order is the system's");
  HostThread& thread = node_.add_thread(*process, connection.number, m.thread, m.purpose);
  connection.thread = &thread;
  settled_[process->number] = false;
  watch_.answered(process->pid, m.thread);
  connection.send(node_.welcome(*process), wire::Kind::hello);
}

// A rank is one process.
bool Server::may_come(Connection& connection) {
  for (const auto& p : node_.processes()) {
    if ((p->rank == connection.rank) == (p->pid == connection.pid && !p->gone)) continue;
    report(make_incident(IncidentReason::second_process, connection.rank,
                         fmt::format("rank {}: a second process connected", connection.rank)));
    return false;
  }
  return true;
}

void Server::drop(Connection& connection) {
  if (connection.number == judge_) {
    finished_ = true;
    return;
  }
  HostThread* thread = connection.thread;
  const std::string& fault = connection.fault();
  const int32_t pid = connection.pid;
  if (!fault.empty()) {
    const int rank = thread ? thread->process->rank : -1;
    report(
        make_incident(IncidentReason::malformed_message, rank,
                      fmt::format("{} {}; its connection was closed.",
                                  rank >= 0 ? fmt::format("rank {}", rank) : fmt::format("process {}", pid), fault)));
  }
  connections_.erase(connection.number);
  if (!thread) return;
  Process& process = *thread->process;
  const bool needed = session_ && session_->needs(*thread);
  node_.remove_thread(*thread);
  settled_[process.number] = false;
  const bool others =
      std::ranges::any_of(node_.threads(), [&](const auto& t) { return t->process == &process && !t->gone; });
  if (session_ && (needed || !others)) {
    if (const auto loss = session_->explain_loss(process); loss && !finished_)
      report(make_incident(IncidentReason::rank_left_step, process.rank, *loss));
  }
  if (others) return;
  // Of a run that has gone wrong it is known why nothing ended.
  if (!fatal_) node_.report_lost_work(process);
  const std::string loss = node_.wants_lost_work() ? "" : node_.explain_loss(process);
  if (!loss.empty()) report(make_incident(IncidentReason::rank_left, process.rank, loss));
  node_.remove_process(process);
  watch_.forget(process.pid);
  settled_.erase(process.number);
}

// When time may move

std::vector<uint32_t> Server::inside(const Process& process) const {
  std::vector<uint32_t> threads;
  for (const auto& t : node_.threads()) {
    if (t->process != &process || t->gone) continue;
    // Answered, but it has not read the answer yet: it looks blocked and is not. An empty pipe alone says nothing: the
    // thread may just have read it.
    if (t->waiting || (node_.outside_wait(*t) == OutsideWait::waits && HostWatch::is_blocked(process.pid, t->id)))
      threads.push_back(t->id);
  }
  std::ranges::sort(threads);
  return threads;
}

// The busiest of all host threads.
Activity Server::settle() {
  const Activity activity = look_at_all();
  if (activity == Activity::runs) return activity;
  // Threads that wait outside the machine wait for each other's messages.
  if (std::ranges::all_of(settled_, [](const auto& s) { return s.second; })) return activity;
  if (!watch_.delivery_is_idle()) return Activity::runs;
  // Time that polls let pass would be lost to the rank that the message is for.
  if (node_.polls_alone() && watch_.has_unacknowledged_bytes()) return Activity::runs;
  return look_at_all();
}

Activity Server::look_at_all() {
  Activity busiest = Activity::waits;
  if (bool& everybody_came = node_.services().everybody_came; !everybody_came) {
    everybody_came = wall() - started_ > kPatienceForRanks;
    if (!everybody_came) return Activity::runs;
  }
  for (const auto& [number, connection] : connections_) {
    if (connection->only_asks) continue;
    if (!connection->thread) {  // will say hello
      if (connection->rank >= 0 && wall() - connection->since > kPatienceForHello)
        report(make_incident(IncidentReason::silent_connection, connection->rank,
                             fmt::format("rank {}: a connection sends nothing", connection->rank)));
      return Activity::runs;
    }
    if (!connection->thread->waiting && connection->unread()) return Activity::runs;
  }
  for (const auto& process : node_.processes()) {
    if (process->gone) continue;
    bool& settled = settled_[process->number];
    const auto reads_pipe = [&](const auto& t, OutsideWait how) {
      return t->process == process.get() && node_.outside_wait(*t) == how;
    };
    // What is in a pipe will be read. A pipe that is empty may be filled: that the process waits is no lasting fact.
    for (const auto& t : node_.threads()) {
      if (reads_pipe(t, OutsideWait::is_told)) return Activity::runs;
      if (reads_pipe(t, OutsideWait::waits)) settled = false;
    }
    if (settled) continue;
    const auto in_library = [&](const auto& t) { return t->process == process.get() && t->in_library && !t->gone; };
    if (std::ranges::any_of(node_.threads(), in_library)) return Activity::runs;
    const auto threads = inside(*process);
    const Activity a = watch_.look(process->pid, threads, process->has_shared_memory);
    if (a == Activity::runs) return a;
    busiest = std::min(busiest, a);
    // All its threads wait in the machine, and none of them can change that.
    const auto known =
        std::ranges::count_if(node_.threads(), [&](const auto& t) { return t->process == process.get() && !t->gone; });
    settled = a == Activity::waits && static_cast<size_t>(known) == threads.size() &&
              HostWatch::count(process->pid) == threads.size();
  }
  return busiest;
}

void Server::run(record::RunRecord& record) {
  started_ = wall();
  straggler_patience_ = kPatienceForStraggler;
  while (!finished_) {
    const bool heard = poll(0);
    if (finished_ || is_out_of_time()) break;
    if (heard) {
      quiet_since_ = 0;
      continue;
    }
    if (frozen()) {
      poll(200);
      continue;
    }
    const Activity activity = settle();
    if (activity != Activity::waits) waiting_since_ = 0;
    if (activity == Activity::runs) {
      poll(1);
      continue;
    }
    // A thread that looks blocked may already have written its request: poll once more.
    if (poll(0) || finished_) {
      quiet_since_ = 0;
      continue;
    }
    if (activity == Activity::spins) {
      node_.mark_not_replayable("a host thread polls memory without calling CUDA: what it sees depends on real time");
      node_.look_again();
    }
    const bool all_inside = std::ranges::all_of(settled_, [](const auto& s) { return s.second; });
    const bool more = node_.run(activity == Activity::spins ? 200 : kStepsAtOnce);
    // Results of a run that was ended must not reach the judge: wrong values would hide the race that caused them.
    if (finished_) break;
    if (more && !(session_ && let_straggler_go())) {
      if (node_.polls_in_vain() && (all_inside || others_wait_long(activity))) end_vain_polls();
      quiet_since_ = 0;
      continue;
    }
    if (!more) idle(activity);
  }
  // What a rank has started may outlive it.
  for (const auto& process : node_.processes()) {
    if (!process->gone && !fatal_) node_.report_lost_work(*process);
  }
  if (std::string history = node_.history(); !history.empty())
    report(make_incident(IncidentReason::byte_history, std::nullopt, std::move(history)));
  record.incidents = incidents_;
  node_.fill(record);
  if (processor_seconds_.empty()) return;
  processor_seconds_["machine"] = process_seconds() - processor_seconds_["machine start"];
  record.processor_seconds = processor_seconds_;
}

// All that was used before the first step is the start. Ranks are looked at with each step, because they are gone at
// the end.
void Server::note_processor_time() {
  double ranks = 0;
  for (const auto& process : node_.processes()) {
    if (!process->gone) ranks += process_seconds(process->pid);
  }
  if (processor_seconds_.empty()) processor_seconds_ = {{"machine start", process_seconds()}, {"ranks start", ranks}};
  processor_seconds_["ranks"] = ranks - processor_seconds_["ranks start"];
}

const record::Trace* Server::finish_trace() {
  const auto fatal = std::ranges::find_if(incidents_, [](const record::Incident& i) { return i.fatal; });
  return node_.finish_trace(fatal == incidents_.end() ? "" : to_string(fatal->kind));
}

// While the others only poll, or have worked for long, a rank that is kept back begins.
bool Server::let_straggler_go() {
  const uint64_t work = node_.instructions() + kLikeInstructions * requests_;
  if (!session_->has_straggler()) last_straggler_ = work;
  const bool late = work - last_straggler_ > straggler_patience_;
  if (!node_.only_polls() && !late) return false;
  if (late) straggler_patience_ = kLessPatience;
  last_straggler_ = work;
  return session_->let_straggler_go();
}

// Polls are all that moves, and threads outside the machine wait for those that poll: for long enough, that is a
// deadlock as well. A thread that has computed meanwhile is none that waits.
bool Server::others_wait_long(Activity activity) {
  const uint64_t now = wall();
  if (activity != Activity::waits || now - last_vain_ > kQuietIsDeadlock / 10) vain_since_ = now;
  last_vain_ = now;
  return now - vain_since_ > kQuietIsDeadlock;
}

// All that still runs are polls which nothing answers: time passes for those that look at the clock or wait for an
// event to come; otherwise nothing can end them but a counter of polls, and that is a deadlock as well.
void Server::end_vain_polls() {
  if (node_.pass_time()) return;
  node_.sleep_on_polls();
  report(make_incident(IncidentReason::all_wait, std::nullopt, node_.explain_deadlock() + explain_outside()));
}

// Work without end.
void Server::report_work() {
  report(make_incident(IncidentReason::instructions_used_up, std::nullopt,
                       "The run has used up its budget of instructions (blocks, launches and requests cost some, too): "
                       "a kernel or a loop that does not end.\n" +
                           node_.explain_work()));
}

// Processor time, from time to time. True: the run has ended.
bool Server::is_out_of_time() {
  if (!session_ || finished_ || wall() - looked_at_times_ < kLookAtTimes) return finished_;
  looked_at_times_ = wall();
  if (session_->steps() != timed_step_) {
    timed_step_ = session_->steps();
    seconds_before_step_.clear();
  }
  const auto in_this_step = [&](pid_t pid) {
    const double now = process_seconds(pid);
    return now - seconds_before_step_.try_emplace(pid, now).first->second;
  };
  const double most_of_machine =
      std::min(kMostMachineSeconds + kMachineSecondsPerByte * static_cast<double>(session_->step_bytes()),
               kMostMachineSecondsOfAll);
  if (in_this_step(0) > most_of_machine) {
    node_.mark_not_replayable("the limit of the machine's processor time was reached");
    report(make_incident(
        IncidentReason::machine_time_used_up, std::nullopt,
        fmt::format("The virtual node has computed for {:.0f} s in one step: work without end, or far too "
                    "much.\n{}",
                    most_of_machine, node_.explain_work())));
    return true;
  }
  double all = 0;
  const Process* busiest = nullptr;
  double most = 0;
  for (const auto& process : node_.processes()) {
    if (process->gone) continue;
    const double seconds = in_this_step(process->pid);
    all += seconds;
    if (!busiest || seconds > most) {
      busiest = process.get();
      most = seconds;
    }
  }
  if (!busiest || (most <= kMostRankSeconds && all <= kMostSecondsOfRanks)) return false;
  node_.mark_not_replayable("the limit of the ranks' processor time was reached");
  const std::string phase = session_->where(*busiest);
  report(make_incident(
      IncidentReason::host_time_used_up, busiest->rank,
      most > kMostRankSeconds
          ? fmt::format("rank {} has computed on the host for {} s, {}: a loop that does not end, or a thread that was "
                        "left running.\n{}",
                        busiest->rank, kMostRankSeconds, phase, node_.explain_work())
          : fmt::format(
                "The ranks have computed on their hosts for {} s, rank {} most, {}: a loop that does not end, or "
                "threads that were left running.\n{}",
                kMostSecondsOfRanks, busiest->rank, phase, node_.explain_work())));
  return true;
}

// Nothing can make progress by itself.
void Server::idle(Activity activity) {
  if (node_.out_of_budget()) {
    report_work();
    return;
  }
  if (session_) {
    if (session_->end_step()) return;
    // Ranks wait for the judge.
    if (!session_->step_is_under_way()) {
      poll(20);
      return;
    }
    if (session_->let_straggler_go()) return;
  }
  if (connections_.empty()) {
    poll(1000);
    return;
  }
  const bool all_inside = std::ranges::all_of(settled_, [](const auto& s) { return s.second; });
  const uint64_t now = wall();
  if (quiet_since_ == 0) quiet_since_ = now;
  if (waiting_since_ == 0) waiting_since_ = now;
  // Kernels that read the clock can make progress, unless a host thread is about to act.
  if ((all_inside || now - quiet_since_ > kQuietPassesTime) && node_.pass_time()) return;
  if (all_inside || (activity == Activity::waits && now - std::max(quiet_since_, waiting_since_) > kQuietIsDeadlock)) {
    // A thread that has begun to wait says where, if it lasts.
    const bool line_follows = std::ranges::any_of(node_.threads(), [&](const auto& t) {
      return node_.outside_wait(*t) == OutsideWait::waits && t->note.value == wire::kLineFollows;
    });
    if (line_follows && now - quiet_since_ < kQuietIsDeadlock) {
      poll(5);
      return;
    }
    // A thread that listens waits for a rank that has not begun.
    const bool all_began = static_cast<int>(node_.processes().size()) >= options_.node.ranks;
    const bool known = std::ranges::any_of(connections_, [&](const auto& c) {
      const auto* const thread = c.second->thread;
      if (!thread || (thread->note.wait == wire::VerbsWait::connections && !all_began)) return false;
      return thread->waiting || thread->note.wait != wire::VerbsWait::none;
    });
    if (known || node_.waits_for_card()) {
      report(make_incident(IncidentReason::all_wait, std::nullopt, node_.explain_deadlock() + explain_outside()));
      return;
    }
  }
  node_.look_again();
  poll(activity == Activity::spins ? 0 : 5);
}

std::string Server::explain_outside() const {
  std::string text;
  for (const auto& process : node_.processes()) {
    if (process->gone) continue;
    std::vector<uint32_t> known = inside(*process);
    // Those that poll, or wait for a card, have been named.
    for (const auto& t : node_.threads()) {
      if (t->process == process.get() && !t->gone && (t->note.wait != wire::VerbsWait::none || !t->polled.empty()))
        known.push_back(t->id);
    }
    std::ranges::sort(known);
    const std::string where = HostWatch::describe(process->pid, known);
    if (where.empty()) continue;
    text += fmt::format(
        "\n{}: {}\n",
        process->rank >= 0 ? fmt::format("rank {}", process->rank) : fmt::format("process {}", process->number), where);
  }
  return text;
}

}  // namespace fb::machine
