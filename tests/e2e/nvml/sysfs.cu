// What /sys says of the devices, by each of the ways in which programs read it, is what CUDA and NVML say.
#include <cuda_runtime.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <nvml.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#define EXPECT(condition)                                            \
  do {                                                               \
    if (!(condition)) {                                              \
      std::printf("line %d: " #condition " is wrong\n", __LINE__);   \
      return 1;                                                      \
    }                                                                \
  } while (0)

static std::string line_of(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

static std::string line_by_fopen(const std::string& path) {
  char text[64] = "";
  FILE* const file = std::fopen(path.c_str(), "r");
  if (!file) return "none";
  if (!std::fgets(text, sizeof text, file)) text[0] = 0;
  std::fclose(file);
  return text;
}

static std::string line_by_open(const std::string& path) {
  char text[64] = "";
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) return "none";
  if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
  close(file);
  return text;
}

static int look_at(int device) {
  char id[32];
  EXPECT(cudaDeviceGetPCIBusId(id, sizeof id, device) == cudaSuccess);
  for (char* c = id; *c; ++c) *c = static_cast<char>(std::tolower(*c));
  nvmlDevice_t nvml;
  EXPECT(nvmlDeviceGetHandleByPciBusId(id, &nvml) == NVML_SUCCESS);
  unsigned int node, width;
  EXPECT(nvmlDeviceGetNumaNodeId(nvml, &node) == NVML_SUCCESS);
  EXPECT(nvmlDeviceGetMaxPcieLinkWidth(nvml, &width) == NVML_SUCCESS);
  nvmlPciInfo_t pci;
  EXPECT(nvmlDeviceGetPciInfo(nvml, &pci) == NVML_SUCCESS);

  const std::string at = std::string("/sys/bus/pci/devices/") + id;
  EXPECT(line_of(at + "/numa_node") == std::to_string(node));
  EXPECT(line_by_fopen(at + "/max_link_width") == std::to_string(width) + "\n");
  EXPECT(line_by_open(at + "/class") == "0x030200\n");
  char ids[16];
  std::snprintf(ids, sizeof ids, "0x%04x", pci.pciDeviceId >> 16);
  EXPECT(line_of(at + "/device") == ids);
  struct stat facts;
  EXPECT(stat(at.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode));
  EXPECT(lstat(at.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode));
  EXPECT(access((at + "/nothing").c_str(), F_OK) != 0);

  // Its place on the bus, as NCCL looks for it: over the bus that it is on.
  char path[PATH_MAX];
  const std::string bus = std::string("/sys/class/pci_bus/") + std::string(id, 7) + "/../../" + id;
  EXPECT(realpath(bus.c_str(), path) != nullptr);
  EXPECT(std::strncmp(path, "/sys/devices/pci", 16) == 0 && std::strstr(path, id) != nullptr);
  EXPECT(std::filesystem::exists(std::string(path) + "/local_cpus"));
  EXPECT(line_of(std::string(path) + "/../vendor") != "");
  EXPECT(line_of("/sys/devices/system/node/node" + std::to_string(node) + "/cpumap") == line_of(at + "/local_cpus"));
  return 0;
}

int main() {
  EXPECT(nvmlInit() == NVML_SUCCESS);
  int devices = 0;
  EXPECT(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 1);
  for (int d = 0; d < devices; ++d) {
    if (look_at(d) != 0) return 1;
  }
  int entries = 0;
  DIR* const folder = opendir("/sys/bus/pci/devices");
  EXPECT(folder != nullptr);
  while (const dirent* entry = readdir(folder)) entries += entry->d_name[0] != '.';
  closedir(folder);
  EXPECT(entries > devices);                       // bridges, too
  EXPECT(line_of("/sys/class/net/lo/address") == "00:00:00:00:00:00");  // the rest is the host's
  std::puts("OK");
  return 0;
}
