// Asks the management library what a communication library asks at its start, and prints the node's topology. What both
// APIs say of a device must agree; what is printed comes from the platform's file.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvml.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                             \
  if (const nvmlReturn_t result = (call); result != NVML_SUCCESS) {             \
    std::printf("line %d: %s: %s\n", __LINE__, #call, nvmlErrorString(result)); \
    std::exit(1);                                                               \
  }
#define CHECK_TRUE(condition)                                     \
  if (!(condition)) {                                             \
    std::printf("line %d: not true: %s\n", __LINE__, #condition); \
    std::exit(1);                                                 \
  }

static std::string ranges(const std::vector<unsigned long>& words) {
  int first = -1, last = -1;
  for (int k = 0; k < static_cast<int>(words.size()) * 64; ++k) {
    if (!(words[k / 64] >> (k % 64) & 1)) continue;
    if (first < 0) first = k;
    last = k;
  }
  return std::to_string(first) + "-" + std::to_string(last);
}

static const char* name_of(nvmlGpuTopologyLevel_t level) {
  switch (level) {
    case NVML_TOPOLOGY_INTERNAL:
      return "X";
    case NVML_TOPOLOGY_SINGLE:
      return "PIX";
    case NVML_TOPOLOGY_NODE:
      return "NODE";
    case NVML_TOPOLOGY_SYSTEM:
      return "SYS";
    default:
      return "?";
  }
}

static void compare_with_cuda(nvmlDevice_t device, int index) {
  cudaDeviceProp properties;
  CHECK_TRUE(cudaGetDeviceProperties(&properties, index) == cudaSuccess);
  char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE], uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE], bus[32];
  CHECK(nvmlDeviceGetName(device, name, sizeof name));
  CHECK_TRUE(std::strcmp(name, properties.name) == 0);
  CHECK(nvmlDeviceGetUUID(device, uuid, sizeof uuid));
  std::string expected = "GPU";
  for (int k = 0; k < 16; ++k) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(properties.uuid.bytes[k]));
    expected += (k == 0 || k == 4 || k == 6 || k == 8 || k == 10) ? "-" : "";
    expected += digits;
  }
  CHECK_TRUE(expected == uuid);
  int major = 0, minor = 0;
  CHECK(nvmlDeviceGetCudaComputeCapability(device, &major, &minor));
  CHECK_TRUE(major == properties.major && minor == properties.minor);
  CHECK_TRUE(cudaDeviceGetPCIBusId(bus, sizeof bus, index) == cudaSuccess);
  nvmlDevice_t same = nullptr;
  CHECK(nvmlDeviceGetHandleByPciBusId(bus, &same));
  CHECK_TRUE(same == device);
  CHECK(nvmlDeviceGetHandleByUUID(uuid, &same));
  CHECK_TRUE(same == device);
  nvmlPciInfo_t pci;
  CHECK(nvmlDeviceGetPciInfo(device, &pci));
  CHECK(nvmlDeviceGetHandleByPciBusId(pci.busId, &same));
  CHECK_TRUE(same == device && static_cast<int>(pci.bus) == properties.pciBusID);
  CHECK_TRUE((pci.pciDeviceId & 0xffff) == 0x10de);

  nvmlMemory_t before, after;
  CHECK(nvmlDeviceGetMemoryInfo(device, &before));
  void* memory = nullptr;
  CHECK_TRUE(cudaSetDevice(index) == cudaSuccess && cudaMalloc(&memory, 1 << 20) == cudaSuccess);
  CHECK(nvmlDeviceGetMemoryInfo(device, &after));
  CHECK_TRUE(before.total == properties.totalGlobalMem && after.used == before.used + (1 << 20));
  CHECK_TRUE(after.free + after.used == after.total && cudaFree(memory) == cudaSuccess);
}

static void print_links(nvmlDevice_t device) {
  nvmlFieldValue_t field{};
  field.fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT;
  CHECK(nvmlDeviceGetFieldValues(device, 1, &field));
  CHECK_TRUE(field.nvmlReturn == NVML_SUCCESS);
  const unsigned int links = field.value.uiVal;
  std::printf("  %u links", links);
  nvmlEnableState_t active = NVML_FEATURE_DISABLED;
  nvmlPciInfo_t remote;
  if (links == 0) {
    CHECK_TRUE(nvmlDeviceGetNvLinkState(device, 0, &active) == NVML_ERROR_NOT_SUPPORTED);
    std::printf("\n");
    return;
  }
  std::string last;
  unsigned int version = 0;
  for (unsigned int link = 0; link < links; ++link) {
    unsigned int can = 0;
    CHECK(nvmlDeviceGetNvLinkState(device, link, &active));
    CHECK(nvmlDeviceGetNvLinkCapability(device, link, NVML_NVLINK_CAP_P2P_SUPPORTED, &can));
    CHECK(nvmlDeviceGetNvLinkVersion(device, link, &version));
    CHECK(nvmlDeviceGetNvLinkRemotePciInfo(device, link, &remote));
    CHECK_TRUE(active == NVML_FEATURE_ENABLED && can == 1);
    if (last != remote.busIdLegacy) std::printf(" %s", remote.busIdLegacy);
    last = remote.busIdLegacy;
  }
  CHECK_TRUE(nvmlDeviceGetNvLinkState(device, links, &active) == NVML_ERROR_INVALID_ARGUMENT);
  field.fieldId = NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON;
  CHECK(nvmlDeviceGetFieldValues(device, 1, &field));
  std::printf(", version %u, %u MB/s\n", version, field.value.uiVal);
}

int main() {
  unsigned int count = 0;
  CHECK_TRUE(nvmlDeviceGetCount(&count) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlInit());
  CHECK(nvmlInit());
  CHECK(nvmlShutdown());
  char driver[80], library[80];
  int cuda = 0, runtime = 0;
  CHECK(nvmlSystemGetDriverVersion(driver, sizeof driver));
  CHECK(nvmlSystemGetNVMLVersion(library, sizeof library));
  CHECK_TRUE(nvmlSystemGetNVMLVersion(library, 2) == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(nvmlSystemGetCudaDriverVersion(&cuda));
  CHECK_TRUE(cudaDriverGetVersion(&runtime) == cudaSuccess && cuda == runtime);
  nvmlConfComputeSystemState_t confidential;
  CHECK(nvmlSystemGetConfComputeState(&confidential));
  CHECK_TRUE(confidential.ccFeature == NVML_CC_SYSTEM_FEATURE_DISABLED);
  CHECK(nvmlDeviceGetCount(&count));
  int devices = 0;
  CHECK_TRUE(cudaGetDeviceCount(&devices) == cudaSuccess && static_cast<int>(count) == devices);
  std::printf("%u devices\n", count);

  for (unsigned int k = 0; k < count; ++k) {
    nvmlDevice_t device = nullptr;
    CHECK(nvmlDeviceGetHandleByIndex(k, &device));
    unsigned int index = 0, generation = 0, lanes = 0, numa = 0, mig[2];
    CHECK(nvmlDeviceGetIndex(device, &index));
    CHECK_TRUE(index == k);
    compare_with_cuda(device, static_cast<int>(k));
    nvmlPciInfo_t pci;
    std::vector<unsigned long> cpus(8);
    CHECK(nvmlDeviceGetPciInfo(device, &pci));
    CHECK(nvmlDeviceGetCurrPcieLinkGeneration(device, &generation));
    CHECK(nvmlDeviceGetCurrPcieLinkWidth(device, &lanes));
    CHECK(nvmlDeviceGetNumaNodeId(device, &numa));
    CHECK(nvmlDeviceGetCpuAffinity(device, static_cast<unsigned int>(cpus.size()), cpus.data()));
    CHECK_TRUE(nvmlDeviceGetMigMode(device, &mig[0], &mig[1]) == NVML_ERROR_NOT_SUPPORTED);
    nvmlGpuFabricInfoV_t fabric{};
    CHECK_TRUE(nvmlDeviceGetGpuFabricInfoV(device, &fabric) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    fabric.version = nvmlGpuFabricInfo_v2;
    CHECK(nvmlDeviceGetGpuFabricInfoV(device, &fabric));
    std::printf("%u: %s, PCIe %u x%u, NUMA node %u, processors %s, fabric %s\n", k, pci.busId, generation, lanes, numa,
                ranges(cpus).c_str(), fabric.state == NVML_GPU_FABRIC_STATE_COMPLETED ? "complete" : "none");
    print_links(device);
    std::printf("  ");
    for (unsigned int other = 0; other < count; ++other) {
      nvmlDevice_t peer = nullptr;
      nvmlGpuTopologyLevel_t level;
      nvmlGpuP2PStatus_t read, nvlink;
      CHECK(nvmlDeviceGetHandleByIndex(other, &peer));
      CHECK(nvmlDeviceGetTopologyCommonAncestor(device, peer, &level));
      CHECK(nvmlDeviceGetP2PStatus(device, peer, NVML_P2P_CAPS_INDEX_READ, &read));
      CHECK(nvmlDeviceGetP2PStatus(device, peer, NVML_P2P_CAPS_INDEX_NVLINK, &nvlink));
      int can = 1;
      if (other != k) cudaDeviceCanAccessPeer(&can, static_cast<int>(k), static_cast<int>(other));
      CHECK_TRUE((read == NVML_P2P_STATUS_OK) == (can == 1));
      std::printf(" %s%s", name_of(level), nvlink == NVML_P2P_STATUS_OK && other != k ? "+NV" : "");
    }
    unsigned int near = 0;
    CHECK(nvmlDeviceGetTopologyNearestGpus(device, NVML_TOPOLOGY_SINGLE, &near, nullptr));
    std::printf(", %u on the same switch\n", near);
  }

  // As libraries find it that do not link it.
  void* opened = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  CHECK_TRUE(opened && dlsym(opened, "nvmlInit_v2") && dlsym(opened, "nvmlDeviceGetNvLinkRemotePciInfo"));
  CHECK(nvmlShutdown());
  CHECK_TRUE(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
  return 0;
}
