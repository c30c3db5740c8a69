#include "common/wire/identity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace fb::wire {
namespace {

int read_number(std::initializer_list<const char*> variables, int otherwise) {
  for (const char* variable : variables) {
    const char* text = std::getenv(variable);
    if (!text || !*text) continue;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end == '\0' && value >= 0 && value < (1 << 24)) return static_cast<int>(value);
  }
  return otherwise;
}

}  // namespace

Hello hello_of_this_thread() {
  Hello hello;
  hello.rank = read_number({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}, -1);
  hello.local_rank = read_number({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}, -1);
  hello.node = read_number({"FABRICBENCH_NODE", "GROUP_RANK"}, 0);
  hello.thread = static_cast<uint32_t>(::syscall(SYS_gettid));
  return hello;
}

}  // namespace fb::wire
