// A member that leads, with its store: what a test opens.
#pragma once

#include "controlplane/etcd/store.hpp"
#include "tests/support/etcd_gateway.hpp"
#include "tests/support/eventually.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tributary::test {

inline etcd::MemberSettings member_settings(const EtcdGateway& gateway, const std::string& name) {
  etcd::MemberSettings settings;
  settings.client.endpoints = {etcd::parse_endpoint(gateway.url())};
  settings.prefix = "/tributary/fabric";
  settings.name = name;
  settings.addresses = {"http://" + name};
  settings.timing.lease_ns = 2 * ns_per_second;
  settings.timing.stuck_ns = 600 * ns_per_second; // tests have no turns
  return settings;
}

/// Resigns at its end, so that the next one leads at once.
class LedStore final : public store::Store {
public:
  explicit LedStore(const etcd::MemberSettings& settings) : member_(settings) {
    member_.start();
    EXPECT_TRUE(eventually([this] { return member_.standing() != store::Standing::standby; }));
    EXPECT_EQ(member_.standing(), store::Standing::leads) << member_.status();
    store_.emplace(member_);
  }
  ~LedStore() override { member_.resign({}); }

  [[nodiscard]] etcd::Member& member() { return member_; }
  [[nodiscard]] std::uint64_t epoch() const override { return store_->epoch(); }
  [[nodiscard]] const std::string& failure() const override { return store_->failure(); }
  [[nodiscard]] records::Snapshot load() override { return store_->load(); }
  [[nodiscard]] records::Snapshot load_sound() override { return store_->load_sound(); }
  void apply(std::span<const records::Change> changes) override { store_->apply(changes); }
  void expect_in_place() override { store_->expect_in_place(); }
  [[nodiscard]] store::Leadership& leadership() override { return member_; }

private:
  etcd::Member member_;
  std::optional<etcd::Store> store_;
};

} // namespace tributary::test
