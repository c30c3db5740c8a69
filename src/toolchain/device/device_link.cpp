#include "toolchain/device/device_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <unordered_set>

#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "common/ptx/link/link_units.h"
#include "common/ptx/parse/parser.h"
#include "toolchain/device/object_file.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;
using Names = std::unordered_set<std::string>;

// The functions that the machine supplies (external_functions.def of the SDK).
bool is_supplied(std::string_view name) {
  static const Names names = {
#define EXTERNAL(result, name, parameters) #name,
#include <fabricbench/external_functions.def>
#define EXTERNAL(result, name, parameters) #name,
#include <fabricbench/device_runtime_functions.def>
  };
  return names.contains(std::string(name));
}

// One object that may be linked.
struct Part {
  ObjectFile object;
  ptx::Module module;
  bool of_library = false;
  bool taken = false;
};

void add_symbols(const ptx::Module& module, Names& defines, Names& needs) {
  const auto add = [&](const auto& symbol, bool defined) {
    if (symbol.linkage == ptx::Linkage::local && defined) return;
    (defined ? defines : needs).insert(symbol.name);
  };
  for (const ptx::Function& f : module.functions) add(f, f.defined);
  for (const ptx::Variable& v : module.variables) {
    if (!(v.space == ptx::Space::shared && v.unsized)) add(v, v.linkage != ptx::Linkage::external);
  }
}

// Symbols of host and device, which are of two worlds.
struct Symbols {
  Names host, device;
};

class Selection {
 public:
  explicit Selection(std::vector<Part>& parts) : parts_(parts) {
    for (Part& part : parts_) {
      if (!part.of_library) take(part);
    }
    // A member may need one of a library that came before.
    for (bool changed = true; changed;) {
      changed = false;
      for (Part& part : parts_) {
        if (part.taken || !is_needed(part)) continue;
        take(part);
        changed = true;
      }
    }
  }

 private:
  static bool answers(const Names& needed, const Names& defined, const std::string& name) {
    return needed.contains(name) && !defined.contains(name);
  }
  bool is_needed(const Part& part) const {
    const bool on_host = std::ranges::any_of(
        part.object.defines, [&](const std::string& name) { return answers(needed_.host, defined_.host, name); });
    if (on_host) return true;
    Names defines, needs;
    add_symbols(part.module, defines, needs);
    return std::ranges::any_of(defines,
                               [&](const std::string& name) { return answers(needed_.device, defined_.device, name); });
  }
  void take(Part& part) {
    part.taken = true;
    defined_.host.insert(part.object.defines.begin(), part.object.defines.end());
    needed_.host.insert(part.object.needs.begin(), part.object.needs.end());
    add_symbols(part.module, defined_.device, needed_.device);
  }

  std::vector<Part>& parts_;
  Symbols defined_, needed_;
};

Result<std::vector<Part>> read_parts(const std::vector<std::string>& files) {
  std::vector<Part> parts;
  for (const std::string& file : files) {
    auto objects = read_objects(file);
    if (!objects) return std::unexpected(std::move(objects.error()));
    const bool library = file.ends_with(".a");
    for (ObjectFile& object : *objects) {
      Part part{.object = std::move(object), .module = {}, .of_library = library};
      if (!part.object.device_code.empty()) {
        auto parsed = ptx::parse(part.object.device_code);
        if (!parsed) return error(to_string(parsed.error(), part.object.name));
        part.module = std::move(*parsed);
      }
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

// "a.o (a.cu)".
std::string name_of(const Part& part) {
  const auto source = std::ranges::find_if(part.module.files, [](const std::string& f) { return !f.empty(); });
  return source == part.module.files.end() ? part.object.name : fmt::format("{} ({})", part.object.name, *source);
}

Result<void> check(const std::vector<Part>& parts) {
  std::vector<ptx::LinkUnit> units;
  for (const Part& part : parts) {
    if (!part.taken || part.object.module_id.empty()) continue;
    if (part.object.device_code.empty()) return {};  // machine code, or compressed: the machine will see
    units.push_back({name_of(part), part.module});
  }
  auto whole = ptx::link_units(std::move(units), is_supplied);
  if (!whole) return std::unexpected(std::move(whole.error()));
  return {};
}

// Registers what is linked in one call, when the constructor of the last object has run, as nvcc's own link does. Of
// the members of libraries that were not taken, the host's linker may still take some: they are referred to weakly.
std::string registration(const std::vector<Part>& parts) {
  std::string externs, list, functions;
  for (const Part& part : parts) {
    const std::string& id = part.object.module_id;
    if (id.empty()) continue;
    externs +=
        fmt::format("extern struct Wrapper __fatbinwrap_{}{};\n", id, part.taken ? "" : " __attribute__((weak))");
    list += fmt::format("  &__fatbinwrap_{},\n", id);
    functions += fmt::format(
        "void {}{}(Callback callback, void* wrapper, void* id, void* unused) {{ (void)wrapper, (void)id, (void)unused; "
        "add(callback); }}\n",
        kRegisterLinkedBinary, id);
  }
  return fmt::format(R"(struct Wrapper {{ int magic, version; const void* data; void* fatbins; }};
typedef void (*Callback)(void**);
{}static struct Wrapper* const all[] = {{
{}}};
enum {{ kAll = sizeof all / sizeof all[0] }};
static const void* fatbins[kAll + 1];
static Callback callbacks[kAll];
static int known, expected;
static struct Wrapper linked __attribute__((section(".nvFatBinSegment"))) = {{0x466243b1, 2, 0, fatbins}};
static void** handle;
extern void** __cudaRegisterFatBinary(void*);
extern void __cudaRegisterFatBinaryEnd(void**);
extern void __cudaUnregisterFatBinary(void**);
extern int atexit(void (*)(void));
static void end(void) {{ __cudaUnregisterFatBinary(handle); }}
static void add(Callback callback) {{
  if (expected == 0) {{
    for (int k = 0; k < kAll; ++k) {{
      if (all[k]) fatbins[expected++] = all[k];
    }}
  }}
  callbacks[known++] = callback;
  if (known < expected) return;
  handle = __cudaRegisterFatBinary(&linked);
  for (int k = 0; k < known; ++k) callbacks[k](handle);
  __cudaRegisterFatBinaryEnd(handle);
  atexit(end);
}}
{})",
                     externs, list, functions);
}

std::vector<std::string> files_of(const DeviceLink& request) {
  std::vector<std::string> files = request.files;
  for (const std::string& library : request.libraries) {
    for (const std::string& dir : request.library_dirs) {
      std::error_code ignored;
      if (fs::exists(fmt::format("{}/lib{}.so", dir, library), ignored)) break;
      const std::string path = fmt::format("{}/lib{}.a", dir, library);
      if (!fs::exists(path, ignored)) continue;
      files.push_back(path);
      break;
    }
  }
  // One library may be named twice.
  std::set<std::string> seen;
  std::erase_if(files, [&](const std::string& file) { return !seen.insert(file).second; });
  return files;
}

}  // namespace

Result<bool> link_device_code(const DeviceLink& request, const std::string& output) {
  auto parts = read_parts(files_of(request));
  if (!parts) return std::unexpected(std::move(parts.error()));
  // What was linked before has its registration.
  Names registered;
  for (const Part& part : *parts) {
    for (const std::string& name : part.object.defines) {
      if (name.starts_with(kRegisterLinkedBinary)) registered.insert(name.substr(kRegisterLinkedBinary.size()));
    }
  }
  for (Part& part : *parts) {
    if (!registered.contains(part.object.module_id)) continue;
    part.object.module_id.clear();
    part.module = {};
  }
  const Selection selection(*parts);
  if (std::ranges::all_of(*parts, [](const Part& part) { return part.object.module_id.empty(); })) return false;
  if (auto good = check(*parts); !good) return std::unexpected(std::move(good.error()));

  const TempDir scratch;
  const std::string source = scratch.path() + "/device_link.c";
  write_file(source, registration(*parts));
  const ProcessResult run =
      run_command({request.compiler, "-x", "c", "-O1", "-fPIC", "-c", "-o", output, source}, request.time_limit);
  if (!run.succeeded())
    return error(fmt::format("the device code's registration does not compile:\n{}", trim(run.output)));
  return true;
}

}  // namespace fb::toolchain
