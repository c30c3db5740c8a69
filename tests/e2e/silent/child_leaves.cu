// A child does the work, and does not wait for it.
// exit: 1
// says: ended before the work that it had launched
// says: kernel fill(int*)
#include <sys/wait.h>
#include <unistd.h>

#include "silent.h"
int main() {
  const pid_t child = fork();
  if (child == 0) {
    fill<<<1, 32>>>(words());
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  std::puts("PASSED");
}
