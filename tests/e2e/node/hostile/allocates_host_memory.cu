// Rank 0 allocates memory of the host without end and touches it.
#include <cstring>

#include "waits_for_other.h"

int main() {
  CHECK(cudaSetDevice(0));
  (void)zeroed_word();
  begin(0);
  for (;;) {
    constexpr size_t kBytes = 16 << 20;
    char* volatile pointer = new char[kBytes];
    std::memset(pointer, 1, kBytes);
  }
}
