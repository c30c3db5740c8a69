// The management library: between its first start and its last end, wrong arguments, sizes and versions, fields.

#include <gtest/gtest.h>
#include <nvml.h>

#include <cctype>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/unit/shim/machine_process.h"
#include "tests/unit/shim/requests.h"

// In the library, and not in its header any more.
extern "C" nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, void* info);

namespace {

std::optional<fb::MachineProcess> machine;

class Node : public testing::Environment {
 public:
  void SetUp() override { machine.emplace("h100x8"); }
  void TearDown() override { machine.reset(); }
};
[[maybe_unused]] testing::Environment* const kNode = testing::AddGlobalTestEnvironment(new Node);

class Nvml : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetHandleByIndex(0, &first_), NVML_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS); }

  nvmlDevice_t first_ = nullptr;
};

// Functions of the table that take a device: they are called with this one, and zeros and null pointers behind it.
using Try = std::function<nvmlReturn_t(nvmlDevice_t)>;
template <class... More>
Try with_device(nvmlReturn_t (*function)(nvmlDevice_t, More...)) {
  return [function](nvmlDevice_t device) { return function(device, More{}...); };
}
template <class Function>
Try with_device(Function*) {
  return nullptr;
}
struct Named {
  std::string name;
  Try call;
};
std::vector<Named> functions_of_devices() {
  const Named all[] = {
#define GROUP(title)
#define DECLARED(name)
#define REAL(name) {#name, with_device(&name)},
#include "common/api/nvml.def"
#undef REAL
#undef DECLARED
#undef GROUP
  };
  std::vector<Named> some;
  for (const Named& f : all) {
    if (f.call) some.push_back(f);
  }
  return some;
}

TEST_F(Nvml, StartsAreCounted) {
  unsigned int count = 0;
  EXPECT_LOCAL(nvmlInit(), NVML_SUCCESS);  // what never changes was asked for at the first start
  EXPECT_LOCAL(nvmlInitWithFlags(NVML_INIT_FLAG_NO_ATTACH), NVML_SUCCESS);
  EXPECT_LOCAL(nvmlInitWithFlags(1u << 9), NVML_ERROR_INVALID_ARGUMENT);
  for (int k = 0; k < 2; ++k) EXPECT_LOCAL(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_LOCAL(nvmlDeviceGetCount(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 8u);
  EXPECT_LOCAL(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_LOCAL(nvmlDeviceGetCount(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_LOCAL(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  // The handle of before is the same device's.
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  unsigned int index = 7;
  EXPECT_LOCAL(nvmlDeviceGetIndex(first_, &index), NVML_SUCCESS);
  EXPECT_EQ(index, 0u);
}

TEST_F(Nvml, EveryFunctionOfADeviceRefusesWhatIsNone) {
  const auto functions = functions_of_devices();
  EXPECT_GT(functions.size(), 40u);
  const auto handle = reinterpret_cast<uintptr_t>(first_);
  nvmlDevice_t second = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByIndex(1, &second), NVML_SUCCESS);
  const uintptr_t step = reinterpret_cast<uintptr_t>(second) - handle;
  const std::vector<uintptr_t> no_devices = {0, handle - step, handle + 1, handle + 8 * step, ~uintptr_t{0}};
  unsigned int index = 0;
  for (const uintptr_t none : no_devices)
    EXPECT_LOCAL(nvmlDeviceGetIndex(reinterpret_cast<nvmlDevice_t>(none), &index), NVML_ERROR_INVALID_ARGUMENT);
  for (const Named& f : functions) {
    SCOPED_TRACE(f.name);
    for (const uintptr_t none : no_devices)
      EXPECT_LOCAL(f.call(reinterpret_cast<nvmlDevice_t>(none)), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_LOCAL(f.call(first_), NVML_ERROR_INVALID_ARGUMENT);  // with null pointers for its results
  }
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  for (const Named& f : functions) {
    SCOPED_TRACE(f.name);
    EXPECT_LOCAL(f.call(first_), NVML_ERROR_UNINITIALIZED);
  }
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
}

TEST_F(Nvml, OtherWrongArguments) {
  nvmlDevice_t found = nullptr;
  unsigned int count = 0;
  char text[96] = {};
  const auto wrong = NVML_ERROR_INVALID_ARGUMENT;
  EXPECT_LOCAL(nvmlDeviceGetCount(nullptr), wrong);
  EXPECT_LOCAL(nvmlDeviceGetHandleByIndex(0, nullptr), wrong);
  EXPECT_LOCAL(nvmlDeviceGetHandleByIndex(8, &found), wrong);
  EXPECT_LOCAL(nvmlDeviceGetHandleByUUID(nullptr, &found), wrong);
  EXPECT_LOCAL(nvmlDeviceGetHandleByUUID("GPU-0", &found), NVML_ERROR_NOT_FOUND);
  EXPECT_LOCAL(nvmlSystemGetDriverVersion(nullptr, 80), wrong);
  EXPECT_LOCAL(nvmlSystemGetNVMLVersion(nullptr, 80), wrong);
  EXPECT_LOCAL(nvmlSystemGetCudaDriverVersion(nullptr), wrong);
  EXPECT_LOCAL(nvmlSystemGetConfComputeState(nullptr), wrong);
  EXPECT_LOCAL(nvmlSystemGetTopologyGpuSet(0, nullptr, nullptr), wrong);
  EXPECT_LOCAL(nvmlDeviceGetClockInfo(first_, NVML_CLOCK_COUNT, &count), wrong);
  EXPECT_LOCAL(nvmlDeviceGetNvLinkState(first_, 18, nullptr), wrong);
  unsigned long words[2] = {};
  EXPECT_LOCAL(nvmlDeviceGetCpuAffinityWithinScope(first_, 2, words, 5), wrong);
  EXPECT_LOCAL(nvmlDeviceGetCpuAffinity(first_, 0, words), wrong);
  EXPECT_STREQ(nvmlErrorString(fb::no_such<nvmlReturn_t>(12345)), "Unknown Error");
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_GPU_IS_LOST), "GPU is lost");
  // A text needs room for its end.
  ASSERT_EQ(nvmlDeviceGetUUID(first_, text, sizeof text), NVML_SUCCESS);
  const auto length = static_cast<unsigned int>(std::strlen(text));
  EXPECT_EQ(length, 40u);
  EXPECT_LOCAL(nvmlDeviceGetUUID(first_, text, length), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_LOCAL(nvmlDeviceGetUUID(first_, text, length + 1), NVML_SUCCESS);
  EXPECT_LOCAL(nvmlDeviceGetHandleByUUID(text, &found), NVML_SUCCESS);
  EXPECT_EQ(found, first_);
}

TEST_F(Nvml, AddressesAreReadInAllTheirForms) {
  nvmlPciInfo_t pci{};
  ASSERT_EQ(nvmlDeviceGetPciInfo(first_, &pci), NVML_SUCCESS);
  const std::string long_form = pci.busId, short_form = pci.busIdLegacy;
  std::string lower = long_form;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string& text : {long_form, short_form, lower, long_form.substr(0, long_form.size() - 2),
                                  long_form.substr(long_form.find(':') + 1)}) {
    nvmlDevice_t found = nullptr;
    EXPECT_LOCAL(nvmlDeviceGetHandleByPciBusId(text.c_str(), &found), NVML_SUCCESS);
    EXPECT_EQ(found, first_) << text;
  }
  nvmlDevice_t found = nullptr;
  for (const std::string& text :
       {std::string(), std::string("GPU"), long_form + "z", std::string("0000"), "x" + long_form}) {
    SCOPED_TRACE(text);
    const nvmlReturn_t result = nvmlDeviceGetHandleByPciBusId(text.c_str(), &found);
    EXPECT_TRUE(result == NVML_ERROR_INVALID_ARGUMENT || result == NVML_ERROR_NOT_FOUND) << result;
  }
  EXPECT_LOCAL(nvmlDeviceGetHandleByPciBusId("0000:FE:1F.0", &found), NVML_ERROR_NOT_FOUND);
  EXPECT_LOCAL(nvmlDeviceGetHandleByPciBusId((short_form.substr(0, short_form.size() - 1) + "1").c_str(), &found),
               NVML_ERROR_NOT_FOUND);  // another function of the device
}

// A struct says which version it is; another is not written to.
TEST_F(Nvml, VersionsOfStructsAreChecked) {
  nvmlMemory_v2_t memory{};
  EXPECT_LOCAL(nvmlDeviceGetMemoryInfo_v2(first_, &memory), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  memory.version = nvmlMemory_v2;
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(first_, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.version, nvmlMemory_v2);
  EXPECT_EQ(memory.free + memory.used, memory.total);
  nvmlPciInfoExt_t pci{};
  EXPECT_LOCAL(nvmlDeviceGetPciInfoExt(first_, &pci), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  EXPECT_EQ(pci.bus, 0u);
  pci.version = (1u << 24) | sizeof pci;
  EXPECT_LOCAL(nvmlDeviceGetPciInfoExt(first_, &pci), NVML_SUCCESS);
  nvmlPciInfo_t plain{};
  EXPECT_LOCAL(nvmlDeviceGetPciInfo(first_, &plain), NVML_SUCCESS);
  EXPECT_STREQ(pci.busId, plain.busId);
  EXPECT_EQ(pci.bus, plain.bus);
  nvmlGpuFabricInfoV_t fabric{};
  EXPECT_LOCAL(nvmlDeviceGetGpuFabricInfoV(first_, &fabric), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  fabric.version = nvmlGpuFabricInfo_v3;
  EXPECT_LOCAL(nvmlDeviceGetGpuFabricInfoV(first_, &fabric), NVML_SUCCESS);
  EXPECT_EQ(fabric.state, NVML_GPU_FABRIC_STATE_COMPLETED);
  EXPECT_EQ(fabric.version, nvmlGpuFabricInfo_v3);
}

// Every field has a result of its own; the call succeeds.
TEST_F(Nvml, FieldsAreAnsweredOneByOne) {
  std::vector<nvmlFieldValue_t> fields(5);
  const unsigned int ids[] = {NVML_FI_DEV_NVLINK_LINK_COUNT, NVML_FI_DEV_NVLINK_GET_STATE, NVML_FI_DEV_NVLINK_GET_STATE,
                              9999, NVML_FI_DEV_NVLINK_REMOTE_NVLINK_ID};
  for (size_t k = 0; k < fields.size(); ++k) fields[k].fieldId = ids[k];
  fields[1].scopeId = 17;
  fields[2].scopeId = 18;  // the first that is not there
  fields[4].scopeId = 3;
  EXPECT_LOCAL(nvmlDeviceGetFieldValues(first_, 5, fields.data()), NVML_SUCCESS);
  EXPECT_EQ(fields[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(fields[0].valueType, NVML_VALUE_TYPE_UNSIGNED_INT);
  EXPECT_EQ(fields[0].value.uiVal, 18u);
  EXPECT_EQ(fields[1].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(fields[1].value.uiVal, unsigned{NVML_FEATURE_ENABLED});
  EXPECT_EQ(fields[2].nvmlReturn, NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fields[3].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(fields[4].value.uiVal, 3u);
  EXPECT_LOCAL(nvmlDeviceGetFieldValues(first_, 0, fields.data()), NVML_SUCCESS);
  EXPECT_LOCAL(nvmlDeviceGetFieldValues(first_, -1, fields.data()), NVML_ERROR_INVALID_ARGUMENT);
}

// A list that is too short is filled, and the number is that of all.
TEST_F(Nvml, ListsSayHowLongTheyWouldBe) {
  unsigned int count = 0;
  EXPECT_LOCAL(nvmlDeviceGetTopologyNearestGpus(first_, NVML_TOPOLOGY_NODE, &count, nullptr), NVML_SUCCESS);
  const unsigned int all = count;
  ASSERT_GE(all, 2u);
  std::vector<nvmlDevice_t> list(all + 1, first_);
  count = all - 1;
  EXPECT_LOCAL(nvmlDeviceGetTopologyNearestGpus(first_, NVML_TOPOLOGY_NODE, &count, list.data()),
               NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, all);
  EXPECT_NE(list[all - 2], first_);
  EXPECT_EQ(list[all - 1], first_) << "not written to";
  EXPECT_LOCAL(nvmlDeviceGetTopologyNearestGpus(first_, NVML_TOPOLOGY_NODE, &count, list.data()), NVML_SUCCESS);
  EXPECT_NE(list[all - 1], first_);
  EXPECT_EQ(list[all], first_);
  // Bits of processors, and no others.
  std::vector<unsigned long> words(3, ~0ul);
  EXPECT_LOCAL(nvmlDeviceGetMemoryAffinity(first_, 2, words.data(), NVML_AFFINITY_SCOPE_NODE), NVML_SUCCESS);
  EXPECT_EQ(words, (std::vector{1ul, 0ul, ~0ul}));
}

TEST_F(Nvml, KnowsAMachineThatHasGone) {
  nvmlMemory_t memory{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(first_, &memory), NVML_SUCCESS);
  machine.reset();
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(first_, &memory), NVML_ERROR_GPU_IS_LOST);
  unsigned int count = 0;
  EXPECT_EQ(nvmlDeviceGetCount(&count), NVML_SUCCESS) << "what never changes is known";
  ASSERT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
  machine.emplace("h100x8");
  EXPECT_EQ(nvmlInit_v2(), NVML_SUCCESS);
}

}  // namespace
