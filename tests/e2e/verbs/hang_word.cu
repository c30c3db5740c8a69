// A host that polls a word of registered memory which nothing writes: a hang, with its line.

#include <infiniband/verbs.h>

#include <cstdlib>
#include <cstring>
int main() {
  ibv_context* c = ibv_open_device(ibv_get_device_list(nullptr)[0]);
  ibv_pd* pd = ibv_alloc_pd(c);
  char* m = static_cast<char*>(std::aligned_alloc(4096, 4096));
  std::memset(m, 0, 4096);
  ibv_mr* mr = ibv_reg_mr(pd, m, 4096, IBV_ACCESS_LOCAL_WRITE);
  if (!mr) return 1;
  while (__atomic_load_n(reinterpret_cast<int*>(m), __ATOMIC_ACQUIRE) == 0) continue;  // polled here
  return 0;
}
