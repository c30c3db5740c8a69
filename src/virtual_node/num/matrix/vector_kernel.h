// Included inside an anonymous namespace by files that are compiled for one instruction set. Sums stay in registers:
// kRows by two vectors of V, which has Element, Register, kLanes, load, store, spread and multiply_add.

template <class V, size_t kRows>
void add_products(const typename V::Element* a, const typename V::Element* b, size_t depth, typename V::Element* c,
                  size_t stride) {
  typename V::Register sums[kRows][2];
  for (size_t r = 0; r < kRows; ++r) {
    sums[r][0] = V::load(c + r * stride);
    sums[r][1] = V::load(c + r * stride + V::kLanes);
  }
  for (size_t k = 0; k < depth; ++k, a += kRows, b += 2 * V::kLanes) {
    const typename V::Register first = V::load(b), second = V::load(b + V::kLanes);
    for (size_t r = 0; r < kRows; ++r) {
      const typename V::Register x = V::spread(a[r]);
      sums[r][0] = V::multiply_add(x, first, sums[r][0]);
      sums[r][1] = V::multiply_add(x, second, sums[r][1]);
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    V::store(c + r * stride, sums[r][0]);
    V::store(c + r * stride + V::kLanes, sums[r][1]);
  }
}

template <class V, size_t kRows>
constexpr Kernel<typename V::Element> make_kernel(std::string_view name) {
  return {name, kRows, 2 * V::kLanes, add_products<V, kRows>};
}
