// A rank that does what its arguments say: "WHAT [RANK]" does it in that rank, and exits with 0 in the others at once,
// or after they were waited for ("wait WHAT RANK": the others sleep).

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

static std::string variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "?" : value;
}

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool others_wait = !words.empty() && words[0] == "wait";
  if (others_wait) words.erase(words.begin());
  const std::string what = words.empty() ? "" : words[0];
  if (words.size() > 1 && words[1] != variable("RANK")) {
    if (others_wait) sleep(1000);
    return 0;
  }
  if (what == "exit") return 5;
  if (what == "aborted") return 128 + SIGABRT;  // as a sandbox says it
  if (what == "kill") raise(SIGKILL);
  if (what == "everything") {
    for (char** entry = environ; *entry != nullptr; ++entry) std::printf("%s\n", *entry);
  }
  if (what == "sleep") sleep(1000);
  if (what == "deaf") {  // to polite requests
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sleep(1000);
  }
  if (what == "term") kill(getppid(), SIGTERM);
  if (what == "term") sleep(1000);
  if (what == "environment") {
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR"}) {
      std::printf("%s=%s ", name, variable(name).c_str());
    }
    rlimit core{}, data{};
    getrlimit(RLIMIT_CORE, &core);
    getrlimit(RLIMIT_DATA, &data);
    const bool socket = access(variable("FABRICBENCH_SOCKET").c_str(), F_OK) == 0;
    std::printf("port=%d socket=%d core=%d data=%lld\n", atoi(variable("MASTER_PORT").c_str()) > 1023, socket,
                static_cast<int>(core.rlim_cur), static_cast<long long>(data.rlim_cur));
  }
  if (what == "addresses") {
    int local = 0;
    std::printf("%p %p %p\n", static_cast<void*>(&local), reinterpret_cast<void*>(&main), malloc(8));
  }
  if (what == "lines") {
    // In pieces, as a slow writer does.
    for (int i = 0; i < 200; ++i) {
      for (const char* piece : {"from ", "one ", "rank "}) {
        if (write(1, piece, 5 - (piece[0] != 'f' && piece[0] != 'r')) < 0) return 1;
        std::this_thread::yield();
      }
      const std::string end = variable("RANK") + "\n";
      if (write(1, end.data(), end.size()) < 0) return 1;
    }
    if (write(1, "no end", 6) < 0) return 1;
  }
  if (what == "children") {  // that try to escape
    if (fork() == 0) {
      setsid();
      if (fork() == 0) execl("/bin/sleep", "fabricbench-test-sleeper", "1000", nullptr);
      _exit(0);
    }
  }
  if (what == "grow") {
    for (std::vector<std::vector<char>> all;;) all.emplace_back(16u << 20, 'x');
  }
  if (what == "input") {
    for (int c = std::getchar(); c != EOF; c = std::getchar()) std::putchar(c);
  }
  return 0;
}
