// A queue that is full: data is cut and goes ahead, all else is dropped.

#include "dataplane/egress/trimming.hpp"
#include "tests/unit/dataplane/egress/frames.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tributary::egress::test {
namespace {

constexpr std::uint32_t data_bytes = 1500;

PortSettings bounded(std::uint32_t frames, std::uint32_t trimmed) {
  PortSettings settings;
  for (ClassSettings& c : settings.classes) {
    c.limit = {frames, 1U << 20};
    c.trimmed_frames = trimmed;
  }
  return settings;
}

Frame data(std::uint32_t id) { return {id, data_bytes, true}; }
Frame headers(std::uint32_t id) { return {id, Frames::header_bytes, true, true}; }

void push_data(Queues& queues, Device& device, std::uint32_t first, std::uint32_t count,
               TrafficClass c = cls(0)) {
  for (std::uint32_t i = 0; i < count; ++i) {
    queues.push(data(first + i), c, port(1), ms(1), device);
  }
}

TEST(Trimming, data_without_room_is_cut_and_leaves_before_what_waits) {
  Queues queues{bounded(4, 8)};
  Device device;
  device.room = 0;
  push_data(queues, device, 0, 6);
  queues.flush(ms(1), device);
  EXPECT_TRUE(device.dropped.empty());
  EXPECT_EQ(device.cut, (std::vector<Sent>{{headers(4), cls(0)}, {headers(5), cls(0)}}));
  EXPECT_EQ(queues.snapshot(cls(0)).waiting, (Depth{4, 4 * data_bytes})) << "they wait beside";
  EXPECT_EQ(queues.snapshot(cls(0)).trimmed_waiting, 2U);
  device.room = Device::endless;
  EXPECT_FALSE(queues.flush(ms(1), device));
  EXPECT_EQ(device.sent_ids(), (std::vector<std::uint32_t>{4, 5, 0, 1, 2, 3}));
  const QueueSnapshot s = queues.snapshot(cls(0));
  EXPECT_EQ(s.trimmed, 2U);
  EXPECT_EQ(s.trimmed_bytes, 2U * (data_bytes - Frames::header_bytes));
  EXPECT_EQ(s.frames, 6U);
  EXPECT_EQ(s.bytes, 4U * data_bytes + 2U * Frames::header_bytes);
  EXPECT_EQ(s.trimmed_waiting, 0U);
}

TEST(Trimming, what_is_no_data_is_dropped_as_before) {
  Queues queues{bounded(1, 8)};
  Device device;
  device.room = 0;
  push(queues, device, cls(0), 0, 3);
  queues.flush(ms(1), device);
  EXPECT_EQ(queues.snapshot(cls(0)).dropped(DropReason::queue_full), 2U);
  EXPECT_TRUE(device.cut.empty());
}

TEST(Trimming, a_class_that_drops_cuts_nothing) {
  PortSettings settings = bounded(1, 8);
  settings.classes[0].when_full = WhenFull::drop;
  Queues queues{settings};
  Device device;
  device.room = 0;
  push_data(queues, device, 0, 2);
  queues.flush(ms(1), device);
  EXPECT_EQ(device.dropped, (std::vector<Dropped>{{data(1), cls(0), DropReason::queue_full}}));
  EXPECT_EQ(queues.snapshot(cls(0)).trimmed_limit, 0U);
}

TEST(Trimming, beyond_the_bound_of_cut_frames_data_is_dropped_under_its_own_name) {
  Queues queues{bounded(1, 2)};
  Device device;
  device.room = 0;
  push_data(queues, device, 0, 5);
  queues.flush(ms(1), device);
  const QueueSnapshot s = queues.snapshot(cls(0));
  EXPECT_EQ(s.trimmed, 2U);
  EXPECT_EQ(s.dropped(DropReason::trimmed_full), 2U);
  EXPECT_EQ(s.dropped(DropReason::queue_full), 0U);
  EXPECT_EQ(device.dropped.size(), 2U);
}

TEST(Trimming, a_frame_that_another_switch_has_cut_overtakes_what_waits_and_is_not_counted_again) {
  Queues queues{bounded(8, 8)};
  Device device;
  device.room = 0;
  push_data(queues, device, 0, 3);
  queues.push(headers(3), cls(0), port(1), ms(1), device);
  queues.flush(ms(1), device);
  EXPECT_EQ(queues.snapshot(cls(0)).waiting.frames, 3U);
  device.room = Device::endless;
  queues.flush(ms(1), device);
  EXPECT_EQ(device.sent_ids(), (std::vector<std::uint32_t>{3, 0, 1, 2}));
  EXPECT_EQ(queues.snapshot(cls(0)).trimmed, 0U);
}

TEST(Trimming, headers_never_take_more_than_half_of_the_bytes_while_whole_frames_wait) {
  Queues queues{bounded(64, 4096)};
  Device device;
  device.room = 0;
  std::uint32_t id = 0;
  for (int i = 0; i < 200; ++i) {
    push_data(queues, device, id, 20);
    id += 20;
    queues.flush(ms(1), device);
  }
  device.room = 1000;
  queues.flush(ms(1), device);
  std::uint64_t whole = 0;
  std::uint64_t cut = 0;
  for (const Sent& s : device.sent) {
    (s.frame.cut ? cut : whole) += s.frame.length;
  }
  EXPECT_GT(cut, 0U);
  EXPECT_GT(whole, 0U);
  EXPECT_LT(cut, whole + TrimmedQueue<Frame>::most_debt + Frames::header_bytes);
  EXPECT_GT(cut + TrimmedQueue<Frame>::most_debt, whole / 2) << "and they go ahead";
}

TEST(Trimming, cut_frames_of_a_paused_class_wait_and_those_of_others_do_not) {
  PortSettings settings = bounded(1, 8);
  settings.classes[2].obeys_pause = true;
  Queues queues{settings};
  queues.set_link_speed(1000);
  Device device;
  queues.pause(pause_of(ClassSet::of(cls(2)), 1000), ms(1));
  device.room = 0;
  push_data(queues, device, 0, 3, cls(2));
  push_data(queues, device, 3, 3, cls(4));
  queues.flush(ms(1), device);
  device.room = Device::endless;
  queues.flush(ms(1), device);
  EXPECT_EQ(device.sent_ids(), (std::vector<std::uint32_t>{4, 5, 3}));
  queues.flush(ms(3), device);
  EXPECT_EQ(device.sent_ids(), (std::vector<std::uint32_t>{4, 5, 3, 1, 2, 0}));
}

TEST(Trimming, cut_frames_go_when_the_link_goes_down) {
  Queues queues{bounded(1, 8)};
  Device device;
  device.room = 0;
  push_data(queues, device, 0, 3);
  queues.flush(ms(1), device);
  queues.link_down(DropReason::port_down, ms(1), device);
  EXPECT_TRUE(queues.empty());
  EXPECT_EQ(queues.snapshot(cls(0)).dropped(DropReason::port_down), 3U);
  EXPECT_EQ(queues.snapshot(cls(0)).trimmed_waiting, 0U);
}

class TrimmedFrame : public testing::Test {
protected:
  TrimmedFrame() {
    wire::RdmaHeader header;
    header.source = Nid{1};
    header.destination = Nid{2};
    header.kind = wire::RdmaKind::wr;
    length = wire::encode(header, {}, std::vector<std::byte>(100, std::byte{7}), bytes.data());
  }
  [[nodiscard]] bool may() const {
    return may_trim({bytes.data(), length}, static_cast<std::uint32_t>(length),
                    wire::default_ethertype);
  }
  std::array<std::byte, 300> bytes{};
  std::size_t length = 0;
};

TEST_F(TrimmedFrame, is_recognised_by_the_next_switch) {
  EXPECT_TRUE(may());
  const std::span<std::byte> frame(bytes);
  EXPECT_FALSE(was_trimmed(frame.first(length), wire::default_ethertype));
  length = wire::trim(bytes.data());
  EXPECT_EQ(length, trimmed_frame_bytes);
  EXPECT_TRUE(was_trimmed(frame.first(length), wire::default_ethertype));
  EXPECT_FALSE(may()) << "and is not cut again";
}

TEST_F(TrimmedFrame, is_made_where_only_the_headers_lie_in_one_piece) {
  EXPECT_TRUE(may_trim(std::span(bytes).first(trimmed_frame_bytes),
                       static_cast<std::uint32_t>(length), wire::default_ethertype));
  EXPECT_FALSE(may_trim(std::span(bytes).first(trimmed_frame_bytes - 1),
                        static_cast<std::uint32_t>(length), wire::default_ethertype));
}

TEST_F(TrimmedFrame, is_never_made_of_a_foreign_or_damaged_frame) {
  const auto original = bytes;
  const auto with = [&](std::size_t at, std::uint8_t value) {
    bytes = original;
    bytes[at] = std::byte{value};
    return may();
  };
  EXPECT_FALSE(with(12, 0x08)) << "another EtherType";
  EXPECT_FALSE(with(14, 0x46)) << "another version";
  EXPECT_FALSE(with(17, 0x10)) << "another length, and so a wrong checksum";
  EXPECT_FALSE(with(14 + 20, 0xD0)) << "another command";
  EXPECT_FALSE(with(14 + 24, 0x14)) << "a RESEND";
  bytes = original;
  wire::store_be<std::uint16_t>(bytes.data() + 16, 200);
  wire::write_fabric_header_checksum(bytes.data() + 14);
  EXPECT_FALSE(may()) << "longer than it is";
  bytes = original;
  wire::store_be<std::uint32_t>(
      bytes.data() + 14 + wire::portals_offset::dfa,
      wire::FabricAddress::multicast(TreeNumber{5}, ReductionId{7}).value);
  wire::write_fabric_header_checksum(bytes.data() + 14);
  EXPECT_FALSE(may()) << "a multicast";
}

} // namespace
} // namespace tributary::egress::test
