#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string_view>

#include "common/sandbox/sandbox.h"

namespace fb::sandbox {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

void add(Words& words, std::initializer_list<std::string> more) { words.insert(words.end(), more); }

// Programs and libraries, as the host has them: folders, or links into /usr.
void add_system(Words& words) {
  add(words, {"--ro-bind", "/usr", "/usr"});
  for (const std::string name : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    std::error_code failed;
    if (const auto target = fs::read_symlink(name, failed); !failed) {
      add(words, {"--symlink", target.string(), name});
    } else if (fs::is_directory(name, failed)) {
      add(words, {"--ro-bind", name, name});
    }
  }
  for (const std::string name : {"/etc/ld.so.cache", "/etc/alternatives"}) add(words, {"--ro-bind-try", name, name});
}

void add_devices(Words& words) {
  // Not --dev: it comes with a place for files that has no limit of size.
  add(words, {"--perms", "0755", "--size", "65536", "--tmpfs", "/dev"});
  for (const std::string name : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    add(words, {"--dev-bind", name, name});
  }
  add(words, {"--remount-ro", "/dev"});
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// The hidden folders that would be visible.
Words visible_folders(const std::vector<std::string>& hidden) {
  Words found;
  for (const auto& folder : hidden) {
    std::error_code failed;
    const fs::path path = fs::canonical(folder, failed);
    if (failed || !fs::is_directory(path, failed)) continue;
    for (const std::string_view visible : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives"}) {
      if (!lies_in(path, visible)) continue;
      found.push_back(path.string());
      break;
    }
  }
  return found;
}

void add_namespaces(Words& words, const SandboxSupport& support, const Policy& policy) {
  if (policy.user_namespace >= 0) {
    add(words, {"--userns", std::to_string(policy.user_namespace)});
  } else if (support.user_namespaces) {
    words.emplace_back("--unshare-user");
  }
  if (!policy.share_process_ids) words.emplace_back("--unshare-pid");
  add(words, {"--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"});
}

}  // namespace

std::vector<std::string> wrap(const SandboxSupport& support, const Policy& policy, std::vector<std::string> command) {
  Words words = {support.bubblewrap};
  add_namespaces(words, support, policy);
  add(words, {"--die-with-parent", "--cap-drop", "ALL", "--hostname", "fabricbench", "--clearenv"});
  for (const auto& [name, value] : policy.environment) add(words, {"--setenv", name, value});

  add_system(words);
  const Words hidden = visible_folders(policy.hidden);
  for (const auto& folder : hidden) add(words, {"--size", "65536", "--tmpfs", folder});
  add_devices(words);
  add(words, {"--perms", "0700", "--size", std::to_string(policy.tmp_bytes), "--tmpfs", "/tmp"});
  if (policy.proc) {
    if (policy.share_process_ids) {
      add(words, {"--ro-bind", "/proc", "/proc"});
    } else {
      add(words, {"--proc", "/proc"});
    }
  }
  for (const auto& [from, to, writable] : policy.binds) add(words, {writable ? "--bind" : "--ro-bind", from, to});
  // Last: the mount points of others are made in these.
  for (const auto& folder : hidden) add(words, {"--remount-ro", folder});
  add(words, {"--remount-ro", "/", "--chdir", policy.working_directory, "--"});
  words.insert(words.end(), std::make_move_iterator(command.begin()), std::make_move_iterator(command.end()));
  return words;
}

}  // namespace fb::sandbox
