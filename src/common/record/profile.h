#pragma once

// Where the time of a run's kernels goes: by source line and cause. The machine fills it.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fb::record {

enum class ProfileCause : uint8_t {
#define CAUSE(name, label, meaning) name,
#include "common/record/profile_causes.def"
#undef CAUSE
  count_,
};
inline constexpr size_t kProfileCauses = static_cast<size_t>(ProfileCause::count_);

std::string_view label_of(ProfileCause cause);        // "bank conflict"
std::string_view meaning_of(ProfileCause cause);      // a sentence's part
std::string_view meaning_of(std::string_view label);  // of a cause by its label; empty: there is none

// A line and one cause, in nanoseconds of warps.
struct ProfileEntry {
  std::string file = {};
  uint32_t line = 0;  // 0: not known
  std::string cause = {};
  double nanoseconds = 0;
  friend bool operator==(const ProfileEntry&, const ProfileEntry&) = default;
};

// All launches of one kernel.
struct KernelProfile {
  std::string kernel = {};  // demangled
  uint64_t launches = 0;
  uint64_t warps = 0;
  // Of the longest launch: when it began and how long it took. `critical` is its warp that ended last: every
  // nanosecond of it has a line and a cause.
  double longest_ns = 0;
  int32_t device = 0, block = 0, warp = 0;
  uint32_t threads = 0;         // of its blocks
  uint32_t registers = 0;       // of its threads
  uint64_t blocks_at_once = 0;  // on a multiprocessor
  std::vector<ProfileEntry> critical = {};
  std::vector<ProfileEntry> all = {};  // of all warps of all launches
  friend bool operator==(const KernelProfile&, const KernelProfile&) = default;
};

struct Profile {
  std::vector<KernelProfile> kernels = {};  // the longest first
  bool empty() const { return kernels.empty(); }
  friend bool operator==(const Profile&, const Profile&) = default;
};

// A line with all its causes, the costliest line and cause first.
struct ProfileLine {
  std::string file;
  uint32_t line = 0;
  double nanoseconds = 0;
  std::vector<std::pair<std::string, double>> causes;  // nanoseconds
};
std::vector<ProfileLine> by_line(const std::vector<ProfileEntry>& entries);

// For a terminal. `most`: lines of each kernel. Lines of code are shown where the files can be read: `code_of` returns
// a line's text, or nothing.
using CodeOf = std::function<std::string(const std::string& file, uint32_t line)>;
std::string to_text(const Profile& profile, size_t most, const CodeOf& code_of);

}  // namespace fb::record
