// Switches and the links between them, for routes: which port leads to which.
//
// Made from a shape (faults.hpp) or a graph (general.hpp); independent of faults, which are port
// states. A *link number* is a direction of a link: its outgoing port, counted over all switches. A
// *channel* is a link number with a virtual channel.
#pragma once

#include "dataplane/forwarding_table/table.hpp"
#include "tributary/optional_number.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tributary::unicast {

class Network {
public:
  struct End {
    std::uint32_t at = 0;
    forwarding_table::Port port = 0;
    friend bool operator==(const End&, const End&) = default;
  };
  /// The other end of a link; none for an unconnected port. The end is checked when it is used, as
  /// that of an OptionalNumber is.
  class Peer {
  public:
    Peer() = default;
    Peer(End end) : end_(end) {}
    [[nodiscard]] explicit operator bool() const { return end_.at != none; }
    [[nodiscard]] const End& operator*() const {
      if (end_.at == none) [[unlikely]] {
        throw_is_none();
      }
      return end_;
    }
    [[nodiscard]] const End* operator->() const { return &**this; }

  private:
    static constexpr std::uint32_t none = stored_none<std::uint32_t>;
    End end_{none, 0};
  };

  std::uint32_t add_switch(std::string name, std::uint32_t ports) {
    names_.push_back(std::move(name));
    first_.push_back(first_.back() + ports);
    peers_.resize(first_.back());
    owner_.resize(first_.back(), switches() - 1);
    return switches() - 1;
  }
  void connect(End a, End b) {
    peers_[link(a)] = b;
    peers_[link(b)] = a;
  }

  [[nodiscard]] std::uint32_t switches() const { return static_cast<std::uint32_t>(names_.size()); }
  [[nodiscard]] std::uint32_t ports(std::uint32_t s) const { return first_[s + 1] - first_[s]; }
  [[nodiscard]] std::uint32_t links() const { return first_.back(); }
  [[nodiscard]] std::uint32_t link(End from) const { return first_[from.at] + from.port; }
  [[nodiscard]] End end(std::uint32_t link) const {
    return {owner_[link], static_cast<forwarding_table::Port>(link - first_[owner_[link]])};
  }
  /// The end of the link from there.
  [[nodiscard]] Peer peer(End from) const { return peers_[link(from)]; }
  [[nodiscard]] Peer peer(std::uint32_t link) const { return peers_[link]; }
  [[nodiscard]] const std::string& name(std::uint32_t s) const { return names_[s]; }

private:
  std::vector<std::string> names_;
  std::vector<std::uint32_t> first_{0}; ///< by switch: number of its port 0; and the total
  std::vector<Peer> peers_;             ///< by link
  std::vector<std::uint32_t> owner_;    ///< by link: the switch it leaves
};

/// The ports of all switches that are up.
class PortStates {
public:
  PortStates(const Network& network, bool up) {
    for (std::uint32_t s = 0; s < network.switches(); ++s) {
      first_.push_back(first_.back() + forwarding_table::group_words(network.ports(s)));
    }
    words_.resize(first_.back());
    for (std::uint32_t l = 0; up && l < network.links(); ++l) {
      const Network::End from = network.end(l);
      set(from.at, from.port, static_cast<bool>(network.peer(l)));
    }
  }
  void set(std::uint32_t s, std::uint32_t port, bool up) {
    std::uint64_t& word = words_[first_[s] + port / 64];
    const std::uint64_t bit = std::uint64_t{1} << (port % 64);
    word = up ? word | bit : word & ~bit;
  }
  [[nodiscard]] bool up(std::uint32_t s, std::uint32_t port) const {
    return (words_[first_[s] + port / 64] >> (port % 64) & 1U) != 0;
  }
  /// As many words as in the groups of the switch's table.
  [[nodiscard]] std::span<const std::uint64_t> of(std::uint32_t s) const {
    return {words_.data() + first_[s], first_[s + 1] - first_[s]};
  }

private:
  std::vector<std::size_t> first_{0}; ///< by switch: its first word
  std::vector<std::uint64_t> words_;
};

} // namespace tributary::unicast
