#include "dataplane/management/capture_stream.hpp"
#include "fake_inspector.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace tributary::management {
namespace {

/// The block types of a stream, in order.
std::vector<std::uint32_t> types_of(const std::vector<std::byte>& all) {
  std::vector<std::uint32_t> types;
  for (std::size_t at = 0; at + 12 <= all.size();) {
    std::uint32_t type = 0;
    std::uint32_t length = 0;
    std::memcpy(&type, all.data() + at, 4);
    std::memcpy(&length, all.data() + at + 4, 4);
    types.push_back(type);
    at += length;
  }
  return types;
}

constexpr std::uint32_t section = 0x0A0D0D0A;

TEST(capture_stream, header_comes_once_and_before_any_frame) {
  FakeCaptureState state;
  FakeCapture source(state);
  CaptureStream stream(source, std::nullopt);
  EXPECT_EQ(types_of(stream.next()), (std::vector<std::uint32_t>{section, 1, 1}));
  EXPECT_TRUE(stream.next().empty());
  state.pending.push_back({1, 0, true, {std::byte{1}}});
  EXPECT_EQ(types_of(stream.next()), (std::vector<std::uint32_t>{6}));
  EXPECT_FALSE(stream.ended());
}

TEST(capture_stream, ends_at_the_count_with_statistics) {
  FakeCaptureState state;
  state.missed = 9;
  FakeCapture source(state);
  CaptureStream stream(source, 2);
  for (int i = 0; i < 5; ++i) {
    state.pending.push_back({1, 0, true, {std::byte{1}}});
  }
  const auto bytes = stream.next();
  EXPECT_EQ(types_of(bytes), (std::vector<std::uint32_t>{section, 1, 1, 6, 6, 5}));
  EXPECT_EQ(std::to_integer<int>(bytes[bytes.size() - 16]), 9) << "the missed ones";
  EXPECT_TRUE(stream.ended());
}

TEST(capture_stream, count_zero_is_only_the_header_and_the_statistics) {
  FakeCaptureState state;
  FakeCapture source(state);
  CaptureStream stream(source, 0);
  EXPECT_EQ(types_of(stream.next()), (std::vector<std::uint32_t>{section, 1, 1, 5}));
  EXPECT_TRUE(stream.ended());
}

} // namespace
} // namespace tributary::management
