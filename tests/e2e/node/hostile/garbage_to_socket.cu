// Rank 1 writes garbage to the machine's socket: on a connection of its own, or (argument "mine") on the one that its
// CUDA library uses.
#include <cstring>
#include <random>

#include "waits_for_other.h"

static int connect_to_machine() {
  const char* path = std::getenv("FABRICBENCH_SOCKET");
  if (!path) fail("FABRICBENCH_SOCKET is not set");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int machine = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(machine, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("can't connect: %m");
  return machine;
}

// Writes to every Unix stream socket of this process.
static void write_to_all(const void* data, size_t bytes) {
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    sockaddr_un peer{};
    socklen_t length = sizeof peer;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) == 0 && peer.sun_family == AF_UNIX) {
      (void)!::send(descriptor, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }
}

int main(int argc, char** argv) {
  Bootstrap bootstrap;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  unsigned int* word = zeroed_word();
  bootstrap.barrier();
  if (bootstrap.rank == 1) {
    begin(1);
    std::mt19937 random(1);
    unsigned int garbage[1024];
    for (unsigned int& value : garbage) value = static_cast<unsigned int>(random());
    if (argc > 1 && std::strcmp(argv[1], "mine") == 0) {
      write_to_all(garbage, sizeof garbage);
    } else {
      (void)!::send(connect_to_machine(), garbage, sizeof garbage, MSG_NOSIGNAL);
    }
  }
  wait_for_word<<<1, 32>>>(word);
  cudaDeviceSynchronize();
  pause();
}
