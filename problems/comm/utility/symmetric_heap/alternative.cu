// [solution]
// Pages of 256 bytes, and the first run of free ones that is long enough.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, int64_t bytes)
      : memory_(rank, static_cast<size_t>(bytes)), pages_(static_cast<size_t>(bytes / kPage)) {}

  int64_t allocate(int64_t bytes, int64_t /*alignment: never more than a page*/) {
    const auto wanted = static_cast<size_t>((bytes + kPage - 1) / kPage);
    for (size_t begin = 0, run = 0; begin + run < pages_.size();) {
      if (pages_[begin + run] != 0) {
        begin += run + 1;
        run = 0;
      } else if (++run == wanted) {
        // The first page of a block knows how many there are; the others are taken.
        for (size_t page = 0; page < wanted; ++page) pages_[begin + page] = kTaken;
        pages_[begin] = static_cast<int>(wanted);
        return static_cast<int64_t>(begin) * kPage;
      }
    }
    return -1;
  }
  void free(int64_t offset) {
    const auto begin = static_cast<size_t>(offset / kPage);
    for (int page = pages_[begin] - 1; page >= 0; --page) pages_[begin + static_cast<size_t>(page)] = 0;
  }
  void* address(int rank, int64_t offset) const { return memory_.at<char>(rank, static_cast<size_t>(offset)); }

 private:
  static constexpr int64_t kPage = 256;
  static constexpr int kTaken = -1;
  fabricbench::PeerMemory memory_;
  std::vector<int> pages_;
};
// [/solution]
