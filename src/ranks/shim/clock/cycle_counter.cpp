// The cycle counter of x86. The system can forbid a thread to read it; the fault is then answered with virtual time if
// the program itself has read it, and with the real counter if a library has (the C library's clocks do).

#include "ranks/shim/clock/cycle_counter.h"

#if defined(__x86_64__)

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <utility>

namespace {

struct sigaction before;
uint64_t (*nanoseconds_of_node)() = nullptr;

// Length of the instruction that reads the counter; 0: it is another one. `with_processor`: rdtscp.
int length_of_reading(const uint8_t* at, bool& with_processor) {
  with_processor = at[0] == 0x0f && at[1] == 0x01 && at[2] == 0xf9;
  if (with_processor) return 3;
  return at[0] == 0x0f && at[1] == 0x31 ? 2 : 0;
}

uint64_t read_real() {
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  const uint64_t cycles = __rdtsc();
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  return cycles;
}

void on_fault(int signal, siginfo_t* info, void* state) {
  auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
  const auto at = static_cast<uintptr_t>(registers[REG_RIP]);
  bool with_processor = false;
  // A general protection fault has no address; a wild pointer has one, and its instruction need not be readable.
  const int length =
      info->si_code == SI_KERNEL ? length_of_reading(reinterpret_cast<const uint8_t*>(at), with_processor) : 0;
  if (length == 0) {
    // Not ours: as if this handler were not there.
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction) return before.sa_sigaction(signal, info, state);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGSEGV, &plain, nullptr);
    return;
  }
  bool is_of_node = false;
  uint64_t cycles = fabricbench_cycles_of(reinterpret_cast<const void*>(at), nanoseconds_of_node, is_of_node);
  if (!is_of_node) cycles = read_real();
  registers[REG_RAX] = static_cast<greg_t>(cycles & 0xffffffff);
  registers[REG_RDX] = static_cast<greg_t>(cycles >> 32);
  if (with_processor) registers[REG_RCX] = 0;
  registers[REG_RIP] += length;
}

}  // namespace

void fabricbench_trap_cycle_counter(uint64_t (*nanoseconds)()) {
  if (std::exchange(nanoseconds_of_node, nanoseconds)) return;
  pthread_atfork(nullptr, nullptr, [] { prctl(PR_SET_TSC, PR_TSC_ENABLE); });
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  // A fault inside (a library that reads the counter while the machine is asked) must be answered as well.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSEGV, &ours, &before) == 0) prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}

#else

void fabricbench_trap_cycle_counter(uint64_t (*)()) {}

#endif
