#pragma once

#include <cstdint>

// From now on a program that reads the processor's cycle counter (rdtsc) gets the virtual time of the node: the counter
// runs at 1 GHz. In this thread and those that it makes later. Called by libraries whose programs are known to read the
// counter, and by no others.
extern "C" __attribute__((visibility("default"))) void fabricbench_trap_cycle_counter(uint64_t (*nanoseconds)());

// clock.cpp: nanoseconds of virtual time as `nanoseconds` says, if the caller is the program.
uint64_t fabricbench_cycles_of(const void* caller, uint64_t (*nanoseconds)(), bool& is_of_node);
