#include "lib/link/tree_map.hpp"

#include <array>
#include <atomic>

#include <sys/mman.h>

namespace tributary::link {

TreeMap::TreeMap(net::FileDescriptor map) noexcept {
  void* const mapped = map ? ::mmap(nullptr, words * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                                    MAP_SHARED, map.get(), 0)
                           : MAP_FAILED;
  if (mapped != MAP_FAILED) {
    words_ = static_cast<std::uint64_t*>(mapped);
  }
}

TreeMap::~TreeMap() {
  if (words_ != nullptr) {
    ::munmap(words_, words * sizeof(std::uint64_t));
  }
}

void TreeMap::pass_only(std::span<const TreeNumber> trees) noexcept {
  std::array<std::uint64_t, words> unwanted;
  unwanted.fill(~std::uint64_t{0});
  for (const TreeNumber tree : trees) {
    const std::size_t number = tree.value % max_trees;
    unwanted[number / bits_per_word] &= ~(std::uint64_t{1} << number % bits_per_word);
  }
  for (std::size_t i = 0; i < words; ++i) {
    // The kernel reads it meanwhile: a tree that stays wanted must be so at every moment.
    std::atomic_ref(words_[i]).store(unwanted[i], std::memory_order_relaxed);
  }
}

} // namespace tributary::link
