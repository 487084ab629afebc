// A store in etcd, as the manager that leads has it.
//
//   Member member(settings);
//   ... until it leads
//   etcd::Store store(member);
//
// Records are below "PREFIX/record/" (protocol/messages.hpp). The keys of etcd outlive every
// manager: nothing is locked but by the leader's key, which every write compares.
//
// Shell: blocks on etcd. All calls from one thread.
#pragma once

#include "controlplane/etcd/member.hpp"
#include "controlplane/store/store.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tributary::etcd {

class Store final : public store::Store {
public:
  /// The member leads, and outlives the store.
  explicit Store(Member& member) : member_(member), records_(member.take_records()) {}

  [[nodiscard]] std::uint64_t epoch() const override { return member_.epoch(); }
  /// "": etcd without room is noticed by the first write.
  [[nodiscard]] const std::string& failure() const override { return failure_; }
  /// The first call returns what the member followed as a standby, later ones read etcd.
  [[nodiscard]] records::Snapshot load() override;
  /// The copy is below "PREFIX/damaged/EPOCH/".
  [[nodiscard]] records::Snapshot load_sound() override;
  void apply(std::span<const records::Change> changes) override;
  /// Nothing to look at: the member's standing says whether it can write.
  void expect_in_place() override {}
  [[nodiscard]] store::Leadership& leadership() override { return member_; }

private:
  /// The records with the fabric's identity, and with the epoch of this leadership: above that of
  /// the operator's last agreement, too.
  [[nodiscard]] records::Snapshot completed(records::Snapshot all) const;

  Member& member_;
  std::optional<record_text::RecordMap> records_;
  std::string failure_;
};

} // namespace tributary::etcd
