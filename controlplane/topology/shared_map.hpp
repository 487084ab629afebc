// A map in sorted pieces, which copies share: a copy costs a pointer for each piece, and a change
// to a copy, one piece.
//
//   SharedMap<std::uint32_t, HostId> by_nid;
//   by_nid.insert(7, host);
//   if (const HostId* found = by_nid.find(7)) { ... }
//
// Pointers live until the next change of this object. Pure.
#pragma once

#include "controlplane/topology/shared.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tributary::topology {

template <typename Key, typename Value> class SharedMap {
  static constexpr std::size_t most_in_a_piece = 256;
  using Entry = std::pair<Key, Value>;
  using Piece = std::vector<Entry>;

public:
  /// `Like`: a type that keys can be compared with. nullptr when the key is missing.
  template <typename Like> [[nodiscard]] const Value* find(const Like& key) const {
    const Entry* const entry = first_from(key);
    return entry != nullptr && entry->first == key ? &entry->second : nullptr;
  }
  template <typename Like> [[nodiscard]] bool contains(const Like& key) const {
    return find(key) != nullptr;
  }
  /// The entry with the lowest key that is not below this one.
  template <typename Like> [[nodiscard]] const Entry* first_from(const Like& key) const {
    const auto piece = std::ranges::partition_point(
        pieces_, [&](const Shared<Piece>& p) { return p->back().first < key; });
    return piece == pieces_.end() ? nullptr : &*place_in(**piece, key);
  }

  /// False, with no effect, when the key exists.
  bool insert(Key key, Value value) {
    if (contains(key)) {
      return false;
    }
    if (pieces_.empty()) {
      pieces_.emplace_back();
    }
    auto piece = std::ranges::partition_point(
        pieces_, [&](const Shared<Piece>& p) { return !p->empty() && p->back().first < key; });
    if (piece == pieces_.end()) {
      --piece;
    }
    Piece& own = piece->own();
    own.emplace(place_in(own, key), std::move(key), std::move(value));
    if (own.size() > most_in_a_piece) {
      const auto middle = own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2);
      Piece upper(std::make_move_iterator(middle), std::make_move_iterator(own.end()));
      own.erase(middle, own.end());
      pieces_.insert(piece + 1, Shared<Piece>(std::move(upper)));
    }
    return true;
  }
  /// Requires that the key exists.
  template <typename Like> void set(const Like& key, Value value) {
    const auto [piece, at] = place_of(key);
    pieces_[piece].own()[at].second = std::move(value);
  }
  /// Whether it existed.
  template <typename Like> bool erase(const Like& key) {
    if (!contains(key)) {
      return false;
    }
    const auto [piece, at] = place_of(key);
    Piece& own = pieces_[piece].own();
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(at));
    if (own.empty()) {
      pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(piece));
    }
    return true;
  }

private:
  template <typename Of, typename Like> static auto place_in(Of& piece, const Like& key) {
    return std::ranges::partition_point(piece,
                                        [&](const Entry& entry) { return entry.first < key; });
  }
  template <typename Like>
  [[nodiscard]] std::pair<std::size_t, std::size_t> place_of(const Like& key) const {
    const auto piece = std::ranges::partition_point(
        pieces_, [&](const Shared<Piece>& p) { return p->back().first < key; });
    return {static_cast<std::size_t>(piece - pieces_.begin()),
            static_cast<std::size_t>(place_in(**piece, key) - (*piece)->begin())};
  }

  std::vector<Shared<Piece>> pieces_; ///< none is empty
};

} // namespace tributary::topology
