#pragma once

// The machine as a process: sockets of host threads, the node, and the rule that virtual time moves only when every
// host thread waits. Single-threaded.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "virtual_node/machine/judging/judge_session.h"
#include "virtual_node/machine/requests/node.h"
#include "virtual_node/machine/server/connection.h"
#include "virtual_node/machine/server/host_watch.h"

namespace fb::machine {

struct ServerOptions {
  std::string socket;  // with a judge the rank's number is appended, "<socket>.3"
  int judge = -1;      // a connected socket: the judge is at its other end, and need not say hello
  NodeOptions node;
};

class Server {
 public:
  Server(const platform::Platform& platform, const ServerOptions& options);
  ~Server();

  // Until standard input ends, or until something fatal. Fills the record.
  void run(record::RunRecord& record);
  // Null unless it was asked for. After run(), once.
  const record::Trace* finish_trace();
  // Throws std::system_error if the file of events is not complete.
  void finish_events() { node_.finish_events(); }

 private:
  void listen(const std::string& path, int rank);
  void accept_all(const UniqueFd& listener, int rank);
  void add_judge();
  void report(record::Incident incident);
  // Waits for sockets up to `milliseconds` and reads what came; true if anything did.
  bool poll(int milliseconds);
  bool is_not_read(const Connection& connection) const;
  void serve(Connection& connection);
  void serve_held();
  void end_overtime(const Connection& connection);
  bool may_come(Connection& connection);
  void hello(Connection& connection, const wire::Received& message);
  void drop(Connection& connection);
  bool frozen() const { return session_ && session_->frozen(); }
  Activity settle();
  Activity look_at_all();
  void idle(Activity activity);
  bool let_straggler_go();
  void report_work();
  bool is_out_of_time();
  void note_processor_time();
  bool others_wait_long(Activity activity);
  void end_vain_polls();
  std::vector<uint32_t> inside(const Process& process) const;
  std::string explain_outside() const;

  ServerOptions options_;
  struct Listener {
    std::string path;
    UniqueFd socket;
    int rank = -1;  // of processes that connect there; -1: as hello says
  };
  std::vector<Listener> listeners_;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;
  uint64_t next_connection_ = 1;
  std::vector<record::Incident> incidents_;
  uint64_t judge_ = 0;  // connection; 0: there is none
  uint32_t nodes_ = 1;  // of the platform
  Node node_;
  std::unique_ptr<JudgeSession> session_;  // null: the run is not judged
  HostWatch watch_;
  std::map<uint32_t, bool> settled_;  // by process: all its threads wait in the machine, and nothing has changed since
  uint64_t started_ = 0;              // wall nanoseconds
  uint64_t waiting_since_ = 0;        // all host threads wait since then; 0: some do not
  uint64_t quiet_since_ = 0;          // nothing has moved since then; 0: something has
  // Nothing but polls has moved since then, and was seen to last.
  uint64_t vain_since_ = 0, last_vain_ = 0;
  uint64_t requests_ = 0;  // of ranks that are judged
  uint64_t looked_at_times_ = 0;
  uint64_t timed_step_ = 0;                               // JudgeSession::steps()
  std::map<pid_t, double> seconds_before_step_;           // processor time by process; 0: the machine
  uint64_t last_straggler_ = 0, straggler_patience_ = 0;  // in instructions
  std::map<std::string, double> processor_seconds_;       // as the record has them
  uint32_t overtime_ = 0;                                 // requests since everything of a step was done
  bool finished_ = false;
  bool fatal_ = false;  // … by an incident: what was under way is not missed
};

}  // namespace fb::machine
