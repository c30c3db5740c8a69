// Keeps the machine's side of the contract with the launcher and nothing else. $TEST_MACHINE says what it does:
// "refuse" ends with a message, "die" ends after 100 ms, "incident" reports a deadlock after 100 ms, "mute" is never
// ready. It says its socket to the judge, where there is one.

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
  const char* wish = getenv("TEST_MACHINE");
  const std::string what = wish == nullptr ? "" : wish;
  std::string record, socket;
  int judge = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--record") record = argv[i + 1];
    if (std::string(argv[i]) == "--socket") socket = argv[i + 1];
    if (std::string(argv[i]) == "--judge") judge = atoi(argv[i + 1]);
  }
  if (what == "refuse") {
    std::fprintf(stderr, "unknown platform\n");
    return 2;
  }
  std::ofstream(socket) << "";  // stands for the socket
  if (judge >= 0 && write(judge, socket.data(), socket.size()) < 0) return 4;
  std::printf("ready\n");
  std::fflush(stdout);
  pollfd input{0, POLLIN, 0};
  poll(&input, 1, what.empty() ? -1 : 100);
  if (what == "die") return 3;
  if (what == "incident") {
    std::printf("{\"kind\":\"deadlock\",\"rank\":null,\"text\":\"everything waits\\nfor ever\",\"fatal\":true}\n");
    std::fflush(stdout);
    poll(&input, 1, -1);
  }
  std::ofstream(record) << "{\"event_log_hash\":\"abc\",\"instructions\":7,\"virtual_seconds\":0.5}";
  return 0;
}
