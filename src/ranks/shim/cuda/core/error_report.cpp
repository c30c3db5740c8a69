#include "ranks/shim/cuda/core/error_report.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/core/thread_state.h"
#include "ranks/shim/where/where.h"

namespace fb::shim {
namespace {

// What programs ask for as a question, or handle as a matter of course, is no failure.
bool is_worth_telling(Error error) {
  return error != cudaSuccess && error != cudaErrorNotReady && error != cudaErrorPeerAccessAlreadyEnabled &&
         error != cudaErrorPeerAccessNotEnabled && error != cudaErrorHostMemoryAlreadyRegistered &&
         error != cudaErrorNotSupported && !is_sticky(error);
}

struct Deferred {
  std::mutex mutex;
  std::vector<std::pair<wire::ReportUnsupported, std::string>> reports;
};
Deferred& deferred() {
  static auto* const all = new Deferred;
  return *all;
}

void send(wire::Channel& channel, const wire::ReportUnsupported& request, const std::string& text) {
  channel.call<wire::Kind::report_unsupported>(request, nullptr,
                                               {reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

// False: it has been told before, or cannot be. `kernel`: of a launch.
bool tell(wire::Problem problem, const std::string& what, Error error, const std::string& kernel = {}) {
  Session& session = Session::get();
  const bool later = thread().in_callback && problem == wire::Problem::launch;
  if (thread().in_callback && !later) return false;
  if (!later && session.connect() != cudaSuccess) return false;
  const char* const name = error_name(error);
  std::string text = what + ": " + (name ? name : "an error") + " (" + error_text(error) + ")";
  if (problem == wire::Problem::launch && session.launch_lines()) {
    char line[wire::kLongestLaunchLine] = {};
    line_of_launch(kernel, line);
    text += '\0';
    text += line;
  }
  // A launch that fails at several lines, or for several reasons, is told several times.
  if (!session.first_report_of(problem == wire::Problem::launch ? text : what)) return false;
  const wire::ReportUnsupported request{.problem = problem, .zero = 0};
  if (!later) {
    send(thread().channel, request, text);
    return true;
  }
  const std::lock_guard lock(deferred().mutex);
  deferred().reports.emplace_back(request, std::move(text));
  return true;
}

}  // namespace

void tell_deferred(wire::Channel& channel) {
  std::vector<std::pair<wire::ReportUnsupported, std::string>> reports;
  {
    const std::lock_guard lock(deferred().mutex);
    reports.swap(deferred().reports);
  }
  for (const auto& [request, text] : reports) send(channel, request, text);
}

Error tell_launch(Error error, const std::string& launch, const std::string& name) {
  // What a context has died of was reported when it did.
  if (error != cudaSuccess && !is_sticky(error)) tell(wire::Problem::launch, launch, error, name);
  return error;
}

void tell_work(const std::string& what, const std::string& where) {
  Session& session = Session::get();
  if (thread().in_callback || !session.launch_lines() || session.sticky(thread().device) != cudaSuccess) return;
  const std::string text = what + '\0' + where;
  if (session.connect() == cudaSuccess && session.first_report_of(text))
    send(thread().channel, {.problem = wire::Problem::launch, .zero = 0}, text);
}

Error record_launch(Error error, const std::string& launch, const std::string& name) {
  return record(tell_launch(error, launch, name), nullptr);
}

std::unexpected<Error> tell_problem(const std::string& problem, Error error) {
  if (tell(wire::Problem::call, problem, error)) std::fprintf(stderr, "fabricbench: %s\n", problem.c_str());
  return failure(error);
}

std::unexpected<Error> tell_module(const std::string& problem, Error error) {
  if (tell(wire::Problem::module, problem, error)) std::fprintf(stderr, "fabricbench: %s\n", problem.c_str());
  return failure(error);
}

Error record(Error error, const char* function) {
  if (function != nullptr && is_worth_telling(error)) tell(wire::Problem::call, function, error);
  ThreadState& mine = thread();
  // The runtime makes a context current by being used; the driver API wants it said.
  mine.has_context = true;
  if (error != cudaSuccess) mine.last_error = error;
  return error;
}

Error not_supported(const char* function) {
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return e;
  if (session.first_report_of(function)) {
    send(thread().channel, {}, function);
    if (std::strstr(function, "Launch") != nullptr)
      tell(wire::Problem::launch, std::string("the launch by ") + function, cudaErrorNotSupported);
  }
  return cudaErrorNotSupported;
}

}  // namespace fb::shim
