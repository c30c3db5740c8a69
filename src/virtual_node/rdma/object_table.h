#pragma once

// The objects of all cards, and the names by which work requests and messages mean them: ids, keys, numbers.

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "virtual_node/rdma/objects.h"

namespace fb::rdma {

class ObjectTable {
 public:
  template <class T>
  using Table = std::map<uint64_t, std::unique_ptr<T>>;

  // `most`: of one process. `secret`: keys are drawn from it.
  ObjectTable(uint32_t most, uint64_t secret) : most_(most), secret_(secret) {}

  template <class T>
  const Table<T>& all() const {
    return std::get<Table<T>>(tables_);
  }

  // Null: the process has too many.
  template <class T>
  T* add(T object) {
    if (objects_[object.process] >= most_) return nullptr;
    ++objects_[object.process];
    object.id = next_id_++;
    std::unique_ptr<T>& kept = table<T>()[object.id];
    kept = std::make_unique<T>(std::move(object));
    if constexpr (std::is_same_v<T, Region>) region_by_key_[kept->key] = kept.get();
    if constexpr (std::is_same_v<T, Window>) window_by_key_[kept->key] = kept.get();
    if constexpr (std::is_same_v<T, QueuePair>) by_number_[{kept->card, kept->number}] = kept.get();
    return kept.get();
  }
  template <class T>
  void erase(const T& object) {
    if constexpr (std::is_same_v<T, Region>) region_by_key_.erase(object.key);
    if constexpr (std::is_same_v<T, Window>) window_by_key_.erase(object.key);
    if constexpr (std::is_same_v<T, QueuePair>) by_number_.erase({object.card, object.number});
    --objects_[object.process];
    table<T>().erase(object.id);
  }

  // Null: it is no more. Events hold ids.
  template <class T>
  T* find(uint64_t id) const {
    const auto found = all<T>().find(id);
    return found == all<T>().end() ? nullptr : found->second.get();
  }
  QueuePair* find_pair(uint32_t card, uint32_t number) const;
  Region* region_of(uint32_t key) const;
  Window* window_of(uint32_t key) const;

  uint32_t new_key();
  uint32_t new_number(uint32_t card);
  void set_key(Window& window, uint32_t key);
  void give(QueuePair& pair, uint32_t process);

 private:
  template <class T>
  Table<T>& table() {
    return std::get<Table<T>>(tables_);
  }

  const uint32_t most_;
  const uint64_t secret_;
  uint64_t next_id_ = 1, next_key_ = 1;
  uint32_t next_number_ = 0;
  std::tuple<Table<Domain>, Table<XrcDomain>, Table<Region>, Table<Window>, Table<Address>, Table<CompletionQueue>,
             Table<SharedReceiveQueue>, Table<QueuePair>>
      tables_;
  std::map<std::pair<uint32_t, uint32_t>, QueuePair*> by_number_;  // card and number
  std::map<uint32_t, Region*> region_by_key_;
  std::map<uint32_t, Window*> window_by_key_;
  std::map<uint32_t, uint32_t> objects_;  // by process
};

}  // namespace fb::rdma
