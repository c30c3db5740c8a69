// Programs and libraries that contain NVIDIA's runtime (nvcc links it statically by default, and NVIDIA's libraries
// have it inside) call ours instead: each function of that runtime becomes a jump to the function of that name in
// libfabricbench_cuda.so. The same happens to a libcudart.so of NVIDIA that a program was made to load. Their
// own code never starts: it would ask the driver to prove what only NVIDIA's can.
//
// This runs before all constructors of the program, and before most of the C++ library's: the C library alone is used.

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "ranks/shim/cuda/redirected.h"
#include "ranks/shim/redirect/elf_functions.h"
#include "ranks/shim/redirect/jump.h"

namespace fb::redirect {
namespace {

constexpr const char* kMark = "__cudaRegisterFatBinary";  // whatever contains the runtime has it
constexpr size_t kMostObjects = 256;

bool begins_with(const char* text, const char* prefix) { return std::strncmp(text, prefix, std::strlen(prefix)) == 0; }

bool is_runtime_name(const char* name) { return begins_with(name, "cuda") || begins_with(name, "__cuda"); }

// A file in memory for as long as this lives.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat facts;
    if (fstat(fd, &facts) == 0 && facts.st_size > 0) {
      bytes_ = static_cast<size_t>(facts.st_size);
      data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (data_ == MAP_FAILED) data_ = nullptr;
    }
    close(fd);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (data_) munmap(data_, bytes_);
  }

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), data_ ? bytes_ : 0}; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

struct Object {
  const char* path = nullptr;
  uintptr_t base = 0;
};

struct Objects {
  Object list[kMostObjects] = {};
  size_t count = 0;
};

int add_object(dl_phdr_info* info, size_t, void* into) {
  auto& objects = *static_cast<Objects*>(into);
  if (objects.count == kMostObjects) return 1;
  const bool program = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
  // The kernel's own object has no file; the C library's are many and have no device code.
  if (!program && info->dlpi_name[0] != '/' && info->dlpi_name[0] != '.') return 0;
  objects.list[objects.count++] = {program ? "/proc/self/exe" : info->dlpi_name, info->dlpi_addr};
  return 0;
}

bool contains_runtime(const MappedFile& file) {
  ElfFunctions functions(file.bytes());
  ElfFunction one;
  bool found = false;
  while (functions.next(one)) {
    if (begins_with(one.name, "fabricbench_")) return false;  // ours
    found |= std::strcmp(one.name, kMark) == 0;
  }
  return found;
}

void redirect(const Object& object, const MappedFile& file) {
  ElfFunctions functions(file.bytes());
  ElfFunction one;
  while (functions.next(one)) {
    if (!is_runtime_name(one.name) || (one.bytes < kJumpBytes && one.address % 16 != 0)) continue;
    if (const void* const ours = fabricbench_runtime_function(one.name))
      write_jump(reinterpret_cast<void*>(object.base + one.address), ours);
  }
}

[[gnu::constructor]] void redirect_all() {
  constinit static Objects objects{};
  dl_iterate_phdr(add_object, &objects);
  for (size_t k = 0; k < objects.count; ++k) {
    const MappedFile file(objects.list[k].path);
    if (file.bytes().empty() || !contains_runtime(file)) continue;
    redirect(objects.list[k], file);
  }
}

}  // namespace
}  // namespace fb::redirect
