#include "ranks/fatbin/container.h"

#include <fmt/format.h>

#include <cstring>

namespace fb::fatbin {
namespace {

using Bytes = std::span<const std::byte>;

struct ContainerHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // of all entries
};
static_assert(sizeof(ContainerHeader) == kContainerHeaderBytes);

struct EntryHeader {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;  // behind the header
  uint32_t compressed_bytes, options_at;
  uint16_t minor, major;
  uint32_t architecture, name_at, name_bytes;
  uint64_t flags, unused, expanded_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

constexpr uint16_t kPtx = 1, kMachineCode = 2;
constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000, kExact = 0x100000, kFamily = 0x200000;

template <class Header>
bool read(Bytes bytes, Header& header) {
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return true;
}

std::string_view text_at(Bytes bytes, uint64_t at, uint64_t count) {
  if (at > bytes.size() || count > bytes.size() - at) return {};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + at, count);
  return text.substr(0, text.find('\0'));
}

// Where the text begins and how long it is; the place counts from the header's start.
std::string_view read_options(Bytes header, uint32_t at) {
  uint32_t place[2] = {};
  if (at < sizeof(EntryHeader) || at > header.size() || header.size() - at < sizeof place) return {};
  std::memcpy(place, header.data() + at, sizeof place);
  return text_at(header, place[0], place[1]);
}

Result<Entry> read_entry(Bytes all, const EntryHeader& header) {
  Entry entry;
  const Bytes head = all.first(header.header_bytes);
  entry.kind = header.kind == kPtx ? Kind::ptx : header.kind == kMachineCode ? Kind::machine_code : Kind::other;
  entry.compression = (header.flags & kZstd) != 0  ? Compression::zstd
                      : (header.flags & kLz4) != 0 ? Compression::lz4
                                                   : Compression::none;
  entry.variant = (header.flags & kExact) != 0    ? Variant::exact
                  : (header.flags & kFamily) != 0 ? Variant::family
                                                  : Variant::plain;
  entry.architecture = header.architecture;
  if (header.name_at != 0) entry.name = text_at(head, header.name_at, header.name_bytes);
  if (header.options_at != 0) entry.options = read_options(head, header.options_at);
  entry.data = all.subspan(header.header_bytes, header.bytes);
  if (entry.compression != Compression::none) {
    if (header.compressed_bytes > entry.data.size())
      return error(fmt::format("an entry of {} bytes says that {} of them are compressed", entry.data.size(),
                               header.compressed_bytes));
    entry.data = entry.data.first(header.compressed_bytes);
    entry.expanded_bytes = header.expanded_bytes;
  }
  return entry;
}

}  // namespace

uint64_t container_bytes(const void* image) {
  ContainerHeader header;
  std::memcpy(&header, image, sizeof header);
  if (header.magic != kContainerMagic || header.header_bytes < sizeof header) return 0;
  const uint64_t all = header.header_bytes + header.bytes;
  return all < header.bytes ? 0 : all;
}

Result<std::vector<Entry>> read_container(Bytes bytes) {
  ContainerHeader header;
  if (!read(bytes, header) || header.magic != kContainerMagic) return error("not a container of device code");
  if (header.version != 1) return error(fmt::format("container version {} is not known", header.version));
  if (header.header_bytes < sizeof header || header.header_bytes > bytes.size() ||
      header.bytes > bytes.size() - header.header_bytes)
    return error("the container is cut off");
  Bytes rest = bytes.subspan(header.header_bytes, header.bytes);
  std::vector<Entry> entries;
  while (!rest.empty()) {
    EntryHeader one;
    if (!read(rest, one) || one.header_bytes < sizeof one || one.header_bytes > rest.size() ||
        one.bytes > rest.size() - one.header_bytes)
      return error(fmt::format("entry {} of the container is cut off", entries.size()));
    auto entry = read_entry(rest, one);
    if (!entry) return std::unexpected(entry.error());
    entries.push_back(*entry);
    rest = rest.subspan(one.header_bytes + one.bytes);
  }
  return entries;
}

std::string architecture_name(const Entry& entry) {
  constexpr std::string_view kEndings[] = {"", "f", "a"};
  return fmt::format("{}_{}{}", entry.kind == Kind::ptx ? "compute" : "sm", entry.architecture,
                     kEndings[static_cast<size_t>(entry.variant)]);
}

}  // namespace fb::fatbin
