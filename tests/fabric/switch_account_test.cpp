// The account is configured differently from the core that it checks: differences must be reported,
// and nothing where they are equal.
#include "tests/fabric/switch_account.hpp"

#include "tests/fabric/virtual_switch.hpp"

#include <gtest/gtest.h>

namespace tributary::fabric {
namespace {

constexpr PortNumber parent{0};
constexpr PortNumber other_parent{3};

std::shared_ptr<const core::Tables> tables(const core::SwitchSettings& settings,
                                           PortNumber parent_of_second = parent) {
  core::TablesBuilder builder(settings.timers);
  for (int p = 0; p < 4; ++p) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  EXPECT_EQ(builder.add_tree(TreeNumber{1}, 2, parent, PortSet(0b0110)), "");
  EXPECT_EQ(builder.add_tree(TreeNumber{2}, 2, parent_of_second, PortSet(0b0110)), "");
  return builder.build(1);
}

class Watched : private core::Emission {
public:
  Watched(const core::SwitchSettings& of_core, const core::SwitchSettings& of_account,
          const std::shared_ptr<const core::Tables>& for_core,
          const std::shared_ptr<const core::Tables>& for_account)
      : core_(of_core, PortSet::first(4)),
        account_(of_account, [this](const std::string& what) { reported_.push_back(what); }) {
    account_.begin_tables(for_account);
    core_.adopt(for_core, now_, *this);
    account_.end_tables();
  }

  void give(PortNumber in, std::uint16_t tree, bool arm, std::uint8_t id = 0) {
    wire::ReductionFrame f;
    f.tree = TreeNumber{tree};
    f.reduction = ReductionId{id};
    f.word.arm = arm;
    f.word.count = arm ? 0 : 1;
    f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
    std::array<std::byte, wire::reduction_frame_bytes> bytes;
    wire::encode(f, bytes);
    const auto before = bytes;
    const core::Decision decision = core_.process(in, {bytes.data(), bytes.size()}, now_);
    account_.judge(in, before, {}, decision, bytes, now_);
  }
  void pass(std::uint64_t ns) {
    now_ = now_ + ns;
    core_.expire(now_, *this);
    for (const auto& [port, bytes] : std::exchange(emissions_, {})) {
      account_.emitted(port, bytes, now_);
    }
    account_.expired(now_, false);
  }
  std::vector<std::string> reported() {
    account_.compare(core_, now_, TimeNs{0}, 0);
    account_.audit(core_);
    return reported_;
  }
  [[nodiscard]] bool complains_of(std::string_view what) {
    const auto all = reported();
    return std::ranges::any_of(
        all, [&](const std::string& t) { return t.find(what) != std::string::npos; });
  }

private:
  std::byte* buffer(PortNumber port, std::uint32_t, TrafficClass) override {
    emissions_.emplace_back(port, std::array<std::byte, wire::reduction_frame_bytes>{});
    return emissions_.back().second.data();
  }

  TimeNs now_{1};
  std::vector<std::string> reported_;
  std::deque<std::pair<PortNumber, std::array<std::byte, wire::reduction_frame_bytes>>> emissions_;
  core::SwitchCore core_;
  SwitchAccount account_;
};

TEST(SwitchAccount, says_nothing_where_core_and_rules_agree) {
  core::SwitchSettings settings = impatient_settings();
  settings.descriptors_per_engine = 8;
  Watched watched(settings, settings, tables(settings), tables(settings));
  for (std::uint8_t id = 0; id < reductions_per_tree; ++id) {
    watched.give(parent, 1, true, id);
  }
  watched.give(parent, 2, true); // no descriptor is free
  watched.give(PortNumber{1}, 1, false);
  watched.give(PortNumber{2}, 1, false);
  watched.give(PortNumber{1}, 1, false, 1);
  watched.pass(30'000'000);
  EXPECT_EQ(watched.reported(), std::vector<std::string>{});
}

TEST(SwitchAccount, notices_a_timer_that_is_twice_too_long) {
  const core::SwitchSettings right = impatient_settings();
  core::SwitchSettings wrong = right;
  wrong.timers.units[0] *= 2;
  Watched watched(wrong, right, tables(wrong), tables(right));
  watched.give(parent, 1, true);
  EXPECT_TRUE(watched.complains_of("deadline"));
}

TEST(SwitchAccount, notices_an_arm_that_fails_while_descriptors_are_free) {
  const core::SwitchSettings right = impatient_settings();
  core::SwitchSettings wrong = right;
  wrong.descriptors_per_engine = 1;
  Watched watched(wrong, right, tables(right), tables(right));
  watched.give(parent, 1, true, 0);
  watched.give(parent, 1, true, 1);
  EXPECT_TRUE(watched.complains_of("arm_failed ports 6 where the rules say replicate armed"));
}

TEST(SwitchAccount, notices_contributions_booked_on_another_engine) {
  const core::SwitchSettings settings = impatient_settings();
  Watched watched(settings, settings, tables(settings), tables(settings, other_parent));
  watched.give(PortNumber{1}, 2, false);
  EXPECT_TRUE(watched.complains_of("port 0 where the rules say forward passed_not_armed port 3"));
}

TEST(SwitchAccount, notices_a_partial_result_before_its_time) {
  const core::SwitchSettings right = impatient_settings();
  core::SwitchSettings wrong = right;
  wrong.timers.units[0] /= 2;
  Watched watched(wrong, right, tables(wrong), tables(right));
  watched.give(parent, 1, true);
  watched.give(PortNumber{1}, 1, false);
  watched.pass(15'000'000);
  EXPECT_TRUE(watched.complains_of("before its time was over"));
}

} // namespace
} // namespace tributary::fabric
