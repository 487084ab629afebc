// The same choice of trees as tree_filter.hpp, for a socket whose filter cannot be replaced: the
// filter reads the trees that are not wanted from a map of the kernel (BPF_MAP_TYPE_ARRAY, mapped
// into memory), which the socket's owner gives away with the socket. Writing to it changes nothing
// else of what the filter passes.
//
//   array of 128 words of 64 bits; bit TREE % 64 of word TREE / 64 is 1: frames of it are discarded
#pragma once

#include "lib/net/file_descriptor.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tributary::link {

class TreeMap {
public:
  static constexpr std::size_t bits_per_word = 64;
  static constexpr std::size_t words = max_trees / bits_per_word;

  TreeMap() = default;
  /// Maps it; without effect if there is none, or it is not such a map.
  explicit TreeMap(net::FileDescriptor map) noexcept;
  TreeMap(TreeMap&& other) noexcept : words_(std::exchange(other.words_, nullptr)) {}
  TreeMap& operator=(TreeMap&&) = delete;
  ~TreeMap();

  explicit operator bool() const { return words_ != nullptr; }
  /// Frames that wait already stay.
  void pass_only(std::span<const TreeNumber> trees) noexcept;

private:
  std::uint64_t* words_ = nullptr;
};

} // namespace tributary::link
