// What becomes SOLUTION.so: -DFABRICBENCH_SOURCE="solution.cu", with a driver also -DFABRICBENCH_DRIVER.
#ifdef FABRICBENCH_DRIVER
#include "../interface.h"
#endif
#include FABRICBENCH_SOURCE
#include <fabricbench/entry.h>
#ifdef FABRICBENCH_DRIVER
// Names of the driver are its own.
namespace driver {
#include "../driver.cu"
}
FABRICBENCH_ENTRY(driver::Driver<driver::FabricbenchSolution>)
#else
FABRICBENCH_ENTRY(Solution)
#endif
