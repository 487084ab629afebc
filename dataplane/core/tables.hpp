// The configuration of a switch core: an immutable snapshot of ports, trees and routes.
//
// A snapshot is built off the hot path, checked by `TablesBuilder::build`, and then only read. The
// shell publishes a new one to its workers; each hands it to its SwitchCore with `adopt`.
//
// The multicast entry is one array look-up by tree number, sixteen bytes: four share a cache line.
// The slot memory place of trees with wide frames is stored beside it.
#pragma once

#include "dataplane/core/slot_dealer.hpp"
#include "dataplane/core/slot_place.hpp"
#include "dataplane/forwarding_table/routes.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::core {

/// One tree as this switch sees it.
struct MulticastEntry {
  /// Ports for down-going copies.
  PortSet children;
  /// Endpoints below this switch on this tree, and the root if results are made in the switch; 0 =
  /// an ordinary multicast, no reduction.
  ContributionCount wait_count = 0;
  /// Where up-going frames leave; the root's edge port at the switch next to the root.
  PortNumber parent = no_port;
  /// Which of the four timers its engine runs; derived from `wait_count`, see EngineTimers.
  std::uint8_t timer = 0;
  bool valid : 1 = false;
  /// Log2 of its reductions in flight, 3 to 7; 0: it has no wide frames, and eight in flight.
  std::uint8_t slots_log2 : 3 = 0;
  /// The parent is the root's own port, and this switch sends the results (in_switch_decide.hpp).
  /// The wait count includes the root.
  bool in_switch : 1 = false;
  /// As many endpoints as child ports: exactly one per port.
  bool one_behind_each = false;

  /// Whether exactly one endpoint is behind a child port. `guarded`: it has a source guard.
  [[nodiscard]] constexpr bool has_one_endpoint(bool guarded) const {
    return guarded | one_behind_each;
  }
  /// Whether a reduction with this many contributions is complete.
  [[nodiscard]] constexpr bool is_full(ContributionCount total) const {
    return total >= wait_count;
  }
  /// Whether it has wide frames, and a place in slot memory.
  [[nodiscard]] constexpr bool has_place() const { return slots_log2 != 0; }
  /// Whether its reduction ids have more than three bits. Otherwise the upper ones are ignored.
  [[nodiscard]] constexpr bool has_upper_ids() const { return slots_log2 > 3; }
  [[nodiscard]] constexpr std::uint32_t slots() const {
    return has_place() ? 1U << slots_log2 : static_cast<std::uint32_t>(reductions_per_tree);
  }
  /// The key of a frame with this one: without the id bits that the tree ignores.
  [[nodiscard]] constexpr ReductionKey key_of(ReductionKey key) const {
    return has_upper_ids()
               ? key
               : ReductionKey(key.tree(), ReductionId{static_cast<std::uint8_t>(
                                              key.reduction().value % reductions_per_tree)});
  }
  friend bool operator==(const MulticastEntry&, const MulticastEntry&) = default;
};
static_assert(sizeof(MulticastEntry) == 16);

/// Which VNIs may enter at a port.
using VniSet = std::bitset<65536>;

/// The checks of frames that enter at one port.
struct PortPolicy {
  std::uint16_t ethertype = wire::default_ethertype;
  bool verify_checksum = true;
  /// Source guard of an edge port: frames must carry this NID as their source.
  std::optional<Nid> nid;
  /// Permission list of an edge port; null permits every VNI.
  std::shared_ptr<const VniSet> vnis;
  /// Bytes without the FCS; longer frames may be truncated, and do not fit all ports.
  std::uint32_t longest_frame = 9216;
  /// Whether frames carry their traffic class over this link, in a tag. Otherwise all are in
  /// virtual channel 0.
  bool carries_classes = false;
  /// Whether frames of the Link Layer Discovery Protocol are for the switch instead of foreign.
  bool lldp = false;
  /// The port that foreign frames leave by; `no_port`: they are dropped.
  PortNumber foreign_to = no_port;

  friend bool operator==(const PortPolicy&, const PortPolicy&) = default;
};

/// The four reduction timers and how a tree's wait count chooses one (wire format page, timers):
/// index = number of limits that are <= the wait count. In the hardware's units of 1024 cycles at
/// 850 MHz; 24 bits.
struct EngineTimers {
  static constexpr std::size_t count = 4;
  static constexpr std::uint32_t max_units = (1U << 24) - 1;
  std::array<ContributionCount, count - 1> limits = {16, 256, 4096};
  /// 12, 14, 17 and 20 s by default. A timer starts on arm, and an arm comes with the previous
  /// result, so it must outlast the time of hosts between two reductions: they rely on being armed
  /// for half their collective timeout, 10 s. It does not delay late and dead leaves: the root asks
  /// again after its own, much shorter retry interval.
  std::array<std::uint32_t, count> units = {units_from_us(12'000'000), units_from_us(14'000'000),
                                            units_from_us(17'000'000), units_from_us(20'000'000)};

  /// ceil(us * 850 / 1024)
  static constexpr std::uint32_t units_from_us(std::uint64_t us) {
    return static_cast<std::uint32_t>((us * 850 + 1023) / 1024);
  }
  static constexpr std::uint64_t ns_from_units(std::uint32_t u) {
    return std::uint64_t{u} * 1024 * 1000 / 850;
  }
  [[nodiscard]] constexpr std::uint8_t choose(ContributionCount wait_count) const {
    std::uint8_t index = 0;
    for (const auto limit : limits) {
      index = static_cast<std::uint8_t>(index + (limit <= wait_count ? 1 : 0));
    }
    return index;
  }
};

/// Destination of frames for one NID: a port of this switch, the number of a switch, or nowhere.
/// Two bytes, as there are a million of them. All zero means nowhere.
class Place {
public:
  constexpr Place() = default;
  /// From a route of the switch's own file.
  static constexpr Place by_file(PortNumber port) { return Place(first_by_file + port.value); }
  /// The host is attached to this port.
  static constexpr Place local(PortNumber port) { return Place(first_local + port.value); }
  /// Requires one below forwarding_table::max_destinations.
  static constexpr Place at_switch(std::uint32_t destination) { return Place(destination); }

  [[nodiscard]] constexpr bool is_switch() const { return value() < first_by_file; }
  [[nodiscard]] constexpr bool is_by_file() const {
    return value() >= first_by_file && value() < first_local;
  }
  [[nodiscard]] constexpr bool is_local() const {
    return value() >= first_local && value() != none;
  }
  [[nodiscard]] constexpr std::uint32_t destination() const { return value(); }
  /// The port, unless it is a switch; `no_port` if there is none.
  [[nodiscard]] constexpr PortNumber port() const {
    return PortNumber{static_cast<std::uint8_t>(value() & 0xFFU)};
  }
  friend constexpr bool operator==(Place, Place) = default;

private:
  static constexpr std::uint32_t none = 0xFFFF;
  static constexpr std::uint32_t first_local = 0xFF00;
  static constexpr std::uint32_t first_by_file = 0xFE00;
  static_assert(first_by_file == forwarding_table::max_destinations && max_ports < 0xFF);
  constexpr explicit Place(std::uint32_t value) : inverted_(static_cast<std::uint16_t>(~value)) {}
  [[nodiscard]] constexpr std::uint16_t value() const {
    return static_cast<std::uint16_t>(~inverted_);
  }

  std::uint16_t inverted_ = 0; ///< inverted, so that nowhere is zero, and costs no memory
  static_assert(none == 0xFFFF);
};

/// An immutable snapshot. Cheap to read from any thread.
class Tables {
public:
  /// Grows with every snapshot of a switch.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::size_t port_count() const { return ports_.size(); }
  [[nodiscard]] const PortPolicy& port(PortNumber p) const { return ports_[p.value]; }
  /// The entry of a tree number; `valid` is false if none is installed.
  [[nodiscard]] const MulticastEntry& tree(TreeNumber t) const {
    return trees_[t.value & (max_trees - 1)];
  }
  /// The entry of a reduction's tree.
  [[nodiscard]] const MulticastEntry& tree(ReductionKey key) const {
    return trees_[key.tree().value];
  }
  /// The same, faster. Requires an id below eight.
  [[nodiscard]] const MulticastEntry& tree_of_low_id(ReductionKey key) const {
    static_assert(reduction_keys == max_trees * reductions_per_tree);
    return trees_[std::size_t{key.index()} / reductions_per_tree];
  }
  /// Where the vectors of a tree's reductions are held.
  [[nodiscard]] const SlotPlace& slot_place(TreeNumber t) const {
    return (*slot_places_)[t.value & (max_trees - 1)];
  }
  /// Whether any tree has wide frames.
  [[nodiscard]] bool has_slots() const { return slot_lines_ != 0; }
  /// Number of possible reduction keys: all with ids below eight, and with higher ids those of
  /// trees up to the highest one that has them, rounded up.
  [[nodiscard]] std::size_t keys() const { return keys_; }
  /// End of the last place in slot memory.
  [[nodiscard]] std::uint64_t slot_lines() const { return slot_lines_; }
  /// Whether the other snapshot has the tree with the same ports, count and place.
  [[nodiscard]] bool has_same(const Tables& other, TreeNumber t) const {
    return tree(t) == other.tree(t) && slot_place(t) == other.slot_place(t);
  }
  /// Destination of frames for a NID.
  [[nodiscard]] Place place(Nid nid) const { return (*places_)[nid.value & max_nid]; }
  void prefetch_place(Nid nid) const { __builtin_prefetch(&(*places_)[nid.value & max_nid]); }
  /// The port of a NID that has one here, by the file or because its host is attached; `no_port`
  /// for all others.
  [[nodiscard]] PortNumber route(Nid nid) const {
    const Place found = place(nid);
    return found.is_switch() ? no_port : found.port();
  }
  /// The manager's routes; null if it sent none.
  [[nodiscard]] const forwarding_table::Routes* routes() const { return routes_.get(); }
  [[nodiscard]] std::size_t tree_count() const { return tree_count_; }
  /// Whether any contribution may be limited to once per port: a port has a source guard, or a tree
  /// one endpoint behind each child port.
  [[nodiscard]] bool counts_ports() const { return counts_ports_; }
  /// Whether any tree has in-switch results here.
  [[nodiscard]] bool any_in_switch() const { return any_in_switch_; }

private:
  friend class TablesBuilder;
  [[nodiscard]] bool any_counts_ports() const;
  using Places = std::array<Place, std::size_t{max_nid} + 1>;
  using SlotPlaces = std::array<SlotPlace, max_trees>;

  std::uint64_t version_ = 0;
  std::size_t tree_count_ = 0;
  bool counts_ports_ = false;
  bool any_in_switch_ = false;
  std::vector<PortPolicy> ports_;
  std::array<MulticastEntry, max_trees> trees_{};
  [[nodiscard]] static std::shared_ptr<const Places> no_places();
  [[nodiscard]] static std::shared_ptr<const SlotPlaces> no_slot_places();

  /// By NID. Two megabytes, so snapshots share it.
  std::shared_ptr<const Places> places_ = no_places();
  std::shared_ptr<const forwarding_table::Routes> routes_;
  /// By tree; snapshots share it as long as it does not change.
  std::shared_ptr<const SlotPlaces> slot_places_ = no_slot_places();
  std::uint64_t slot_lines_ = 0;
  std::size_t keys_ = reduction_keys;
};

/// The problem of a tree in a switch of `port_count` ports, with the offending number; "" if it is
/// valid. Parameters are wider than the types of an entry, for external input.
[[nodiscard]] std::string problem_with_tree(std::size_t port_count, std::uint32_t tree,
                                            std::uint32_t wait_count, std::uint32_t parent,
                                            PortSet children);

/// The same for the wait count of a tree with in-switch results.
[[nodiscard]] std::string problem_with_in_switch(std::uint32_t wait_count);

/// Collects ports, trees and routes, checks them against each other, and makes a snapshot.
/// Each `add_*` returns an empty string, or changes nothing and returns the problem with the
/// offending number.
class TablesBuilder {
public:
  /// `wide_memory`: bytes of slot memory for the trees.
  explicit TablesBuilder(const EngineTimers& timers = {},
                         std::uint64_t wide_memory = default_wide_memory)
      : timers_(timers), wide_memory_(wide_memory) {}
  /// Starts with the contents of `base`, and copies the part that is not shared: 128 KiB.
  TablesBuilder(const EngineTimers& timers, const Tables& base,
                std::uint64_t wide_memory = default_wide_memory);

  /// Ports are numbered in the order they are added.
  [[nodiscard]] std::string add_port(const PortPolicy& policy);
  /// Checks: tree in range and unused, parent and children exist, the parent is not a child, no
  /// child twice, wait count in range; with wide frames: that it has reductions, that its frames
  /// fit its ports, and that there is room in slot memory; with in-switch results: that it waits
  /// for the root and others.
  [[nodiscard]] std::string add_tree(TreeNumber tree, ContributionCount wait_count,
                                     PortNumber parent, PortSet children,
                                     const SlotDemand& demand = {});
  /// No effect if the tree is absent.
  void remove_tree(TreeNumber tree);
  /// A route of the file: it has precedence over those of `set_routes`.
  [[nodiscard]] std::string add_route(Nid nid, PortNumber port);
  /// Replaces the current ones; null removes them. Requires routes that
  /// forwarding_table::problem_with accepts for the existing ports.
  void set_routes(std::shared_ptr<const forwarding_table::Routes> routes);
  /// Requires an existing port. The VNIs that may enter; null permits every VNI.
  void set_vnis(PortNumber port, std::shared_ptr<const VniSet> vnis);
  /// Requires an existing port. The only NID its frames may come from, which must be an address;
  /// none lets every NID in.
  void set_guard(PortNumber port, std::optional<Nid> nid);
  /// Trees with the same demand as in `before` keep their place there.
  void keep_slots_of(const Tables& before);
  /// The snapshot; the builder is empty afterwards.
  [[nodiscard]] std::shared_ptr<const Tables> build(std::uint64_t version);

private:
  /// The places of `tables_`, writable.
  [[nodiscard]] Tables::Places& own_places();
  [[nodiscard]] std::string problem_with_slots(const MulticastEntry& entry,
                                               const SlotDemand& demand) const;
  void deal_slots();

  EngineTimers timers_;
  std::uint64_t wide_memory_;
  std::shared_ptr<Tables> tables_ = std::make_shared<Tables>();
  std::shared_ptr<Tables::Places> places_; ///< those of `tables_`, if they were written
  SlotDealer slots_{wide_memory_};
  bool slots_changed_ = false; ///< since `tables_` had its places
};

} // namespace tributary::core
