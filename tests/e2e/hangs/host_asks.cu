// cause: never signalled
// The host does not wait: it asks again and again.
#include "hang.h"

__global__ void forgotten(Word* flag) {
  while (LOAD(flag) != 5) continue;  // waits
}

int main() {
  Word* flag = make_words(0);
  forgotten<<<1, 1>>>(flag);
  while (cudaStreamQuery(nullptr) == cudaErrorNotReady) continue;
}
