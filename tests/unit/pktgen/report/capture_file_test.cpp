#include "pktgen/report/capture_file.hpp"

#include "lib/terminal/output_file.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/lib/terminal/file_size_limit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tributary::pktgen::report {
namespace {

using terminal::test::FileSizeLimit;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tributary::test::ScratchDirectory;

/// The tap does not call the port.
class SilentPort final : public link::Port {
public:
  [[nodiscard]] std::uint32_t longest_frame() const override { return 9014; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "silent"; }

protected:
  std::size_t transmit(std::span<Slot> /*slots*/) override { return 0; }
  std::size_t replenish(std::span<Slot> /*slots*/) override { return 0; }
  std::size_t take(std::span<FrameView> /*views*/) override { return 0; }
};

std::vector<std::byte> frame_of(std::size_t length, unsigned filling) {
  return std::vector<std::byte>(length, static_cast<std::byte>(filling));
}

struct Captured {
  std::uint64_t time_ns = 0;
  std::vector<std::byte> bytes;
};

/// The frames that libpcap reads; throws when the file does not end with a complete frame.
std::vector<Captured> read(const std::string& path) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> reader(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO,
                                              error.data()),
      &pcap_close);
  if (reader == nullptr) {
    throw std::runtime_error(error.data());
  }
  EXPECT_EQ(pcap_datalink(reader.get()), DLT_EN10MB);
  std::vector<Captured> all;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int answer = 0;
  while ((answer = pcap_next_ex(reader.get(), &header, &data)) == 1) {
    Captured& captured = all.emplace_back();
    captured.time_ns = static_cast<std::uint64_t>(header->ts.tv_sec) * 1'000'000'000 +
                       static_cast<std::uint64_t>(header->ts.tv_usec);
    EXPECT_EQ(header->caplen, header->len);
    captured.bytes.resize(header->caplen);
    std::memcpy(captured.bytes.data(), data, header->caplen);
  }
  if (answer != PCAP_ERROR_BREAK) {
    throw std::runtime_error(pcap_geterr(reader.get()));
  }
  return all;
}

/// The blocks before the first frame: section and interface "a".
const std::size_t head_bytes = [] {
  service::PcapngWriter writer;
  const std::vector<std::string> names = {"a"};
  writer.begin("tributary-pktgen", names, 0);
  return writer.size();
}();

std::uint64_t number(const std::vector<std::byte>& from, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::to_integer<std::uint64_t>(from.at(at + i)) << (8 * i);
  }
  return value;
}

/// All blocks of a file, by type, without their heads and tails; read by the format's description
/// alone, because libpcap reports neither interfaces nor directions.
std::multimap<std::uint32_t, std::vector<std::byte>> blocks_of(const std::string& path) {
  const std::string text = tributary::test::content_of(path);
  std::vector<std::byte> all(text.size());
  std::memcpy(all.data(), text.data(), text.size());
  std::multimap<std::uint32_t, std::vector<std::byte>> blocks;
  for (std::size_t at = 0; at < all.size();) {
    const auto length = static_cast<std::ptrdiff_t>(number(all, at + 4, 4));
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
    blocks.emplace(number(all, at, 4), std::vector<std::byte>(begin + 8, begin + length - 4));
    at += static_cast<std::size_t>(length);
  }
  return blocks;
}

constexpr std::uint64_t year_2026 = 1'780'000'000'123'456'789;

TEST(capture_file, holds_what_was_sent_and_received_to_the_nanosecond) {
  const ScratchDirectory scratch;
  SilentPort port;
  std::uint64_t now = year_2026;
  CaptureFile capture(scratch.file("out.pcapng"), {{&port, "a"}}, [&] { return now; });
  capture.sent(port, frame_of(98, 0xAB));
  now += 1;
  capture.received(port, frame_of(9014, 0xCD));
  capture.close();
  EXPECT_EQ(capture.problem(), "");
  EXPECT_EQ(capture.frames(), 2U);
  const std::vector<Captured> found = read(scratch.file("out.pcapng"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].time_ns, year_2026);
  EXPECT_EQ(found[0].bytes, frame_of(98, 0xAB));
  EXPECT_EQ(found[1].time_ns, year_2026 + 1);
  EXPECT_EQ(found[1].bytes, frame_of(9014, 0xCD));
}

TEST(capture_file, says_by_which_port_and_in_which_direction_a_frame_went_and_what_was_dropped) {
  const ScratchDirectory scratch;
  SilentPort first;
  SilentPort second;
  CaptureFile capture(scratch.file("out.pcapng"), {{&first, "veth0"}, {&second, "veth1"}},
                      [] { return year_2026; });
  capture.sent(first, frame_of(60, 1));
  capture.received(second, frame_of(60, 2));
  const std::vector<std::uint64_t> drops = {0, 7};
  capture.close(drops);
  const auto blocks = blocks_of(scratch.file("out.pcapng"));
  std::vector<std::string> names;
  for (auto [at, end] = blocks.equal_range(1); at != end; ++at) {
    EXPECT_EQ(number(at->second, 8, 2), 2U) << "option if_name";
    names.emplace_back(reinterpret_cast<const char*>(at->second.data()) + 12,
                       number(at->second, 10, 2));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"veth0", "veth1"}));
  std::vector<std::array<std::uint64_t, 2>> packets; // interface, direction
  for (auto [at, end] = blocks.equal_range(6); at != end; ++at) {
    EXPECT_EQ(number(at->second, 4, 4) << 32 | number(at->second, 8, 4), year_2026);
    EXPECT_EQ(number(at->second, 80, 2), 2U) << "option epb_flags";
    packets.push_back({number(at->second, 0, 4), number(at->second, 84, 4) & 3U});
  }
  constexpr std::uint64_t inbound = 1;
  constexpr std::uint64_t outbound = 2;
  EXPECT_EQ(packets, (std::vector<std::array<std::uint64_t, 2>>{{0, outbound}, {1, inbound}}));
  std::vector<std::array<std::uint64_t, 2>> statistics; // interface, drops
  for (auto [at, end] = blocks.equal_range(5); at != end; ++at) {
    EXPECT_EQ(number(at->second, 12, 2), 7U) << "option isb_osdrop";
    statistics.push_back({number(at->second, 0, 4), number(at->second, 16, 8)});
  }
  EXPECT_EQ(statistics, (std::vector<std::array<std::uint64_t, 2>>{{0, 0}, {1, 7}}));
}

TEST(capture_file, closes_itself_at_its_end) {
  const ScratchDirectory scratch;
  SilentPort port;
  {
    CaptureFile(scratch.file("out.pcapng"), {{&port, "a"}}, [] {
      return 0;
    }).sent(port, frame_of(60, 1));
  }
  EXPECT_EQ(read(scratch.file("out.pcapng")).size(), 1U);
}

TEST(capture_file, asks_the_kernel_nothing_until_its_buffer_is_full) {
  const ScratchDirectory scratch;
  SilentPort port;
  CaptureFile capture(scratch.file("out.pcapng"), {{&port, "a"}}, [] { return 0; });
  const std::vector<std::byte> frame = frame_of(84, 1);
  const std::size_t record = service::PcapngWriter::packet_bytes(frame.size());
  for (std::size_t i = 0; i < CaptureFile::buffer_bytes / record - 1; ++i) {
    capture.sent(port, frame);
  }
  EXPECT_EQ(std::filesystem::file_size(scratch.file("out.pcapng")), 0U);
  capture.sent(port, frame);
  capture.sent(port, frame);
  EXPECT_GT(std::filesystem::file_size(scratch.file("out.pcapng")), 0U);
}

TEST(capture_file, full_disk_ends_the_capture_with_whole_frames_and_one_message) {
  const ScratchDirectory scratch;
  SilentPort port;
  constexpr std::size_t frames = 40'000;
  CaptureFile capture(scratch.file("out.pcapng"), {{&port, "a"}}, [] { return year_2026; });
  {
    const FileSizeLimit limit(1'500'000);
    for (std::size_t i = 0; i < frames; ++i) {
      capture.sent(port, frame_of(84, static_cast<unsigned>(i)));
    }
    capture.close();
  }
  EXPECT_THAT(capture.problem(), AllOf(StartsWith("the capture ended after "),
                                       HasSubstr(scratch.file("out.pcapng") + ": File too large"),
                                       HasSubstr("free some space")));
  const std::vector<Captured> found = read(scratch.file("out.pcapng"));
  EXPECT_EQ(found.size(), capture.frames());
  EXPECT_EQ(found.size(), (1'500'000U - head_bytes) / service::PcapngWriter::packet_bytes(84));
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].bytes, frame_of(84, static_cast<unsigned>(i))) << i;
  }
}

TEST(capture_file, after_a_full_disk_frames_are_ignored) {
  const ScratchDirectory scratch;
  SilentPort port;
  CaptureFile capture(scratch.file("out.pcapng"), {{&port, "a"}}, [] { return year_2026; });
  {
    const FileSizeLimit limit(1'000);
    for (std::size_t i = 0; i < 20'000; ++i) {
      capture.sent(port, frame_of(84, 1));
    }
  }
  const std::string problem = capture.problem();
  EXPECT_THAT(problem, HasSubstr("after 7 frames"));
  for (std::size_t i = 0; i < 20'000; ++i) {
    capture.sent(port, frame_of(84, 1));
  }
  capture.close();
  EXPECT_EQ(capture.problem(), problem);
  EXPECT_EQ(read(scratch.file("out.pcapng")).size(), 7U);
}

TEST(capture_file, full_device_is_noticed_at_the_latest_when_closing) {
  SilentPort port;
  CaptureFile capture("/dev/full", {{&port, "a"}}, [] { return year_2026; });
  capture.sent(port, frame_of(84, 1));
  EXPECT_EQ(capture.problem(), "");
  capture.close();
  EXPECT_THAT(capture.problem(),
              AllOf(HasSubstr("after 0 frames"), HasSubstr("/dev/full: No space left on device")));
}

TEST(capture_file, that_cannot_be_made_says_why) {
  const ScratchDirectory scratch;
  try {
    CaptureFile capture(scratch.file("missing/out.pcapng"), {}, [] { return 0; });
    FAIL() << "made a file in no directory";
  } catch (const terminal::OutputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("make the directory"));
  }
}

TEST(capture_file, ports_of_several_threads_share_one_capture) {
  const ScratchDirectory scratch;
  SilentPort port;
  CaptureFile capture(scratch.file("out.pcapng"), {{&port, "a"}}, [] { return year_2026; });
  constexpr unsigned each = 20'000;
  std::vector<std::thread> threads;
  for (unsigned filling = 1; filling <= 3; ++filling) {
    threads.emplace_back([&, filling] {
      const std::vector<std::byte> frame = frame_of(60 + filling, filling);
      for (unsigned i = 0; i < each; ++i) {
        capture.received(port, frame);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  capture.close();
  std::array<unsigned, 4> found{};
  for (const Captured& captured : read(scratch.file("out.pcapng"))) {
    const auto filling = std::to_integer<unsigned>(captured.bytes[0]);
    ASSERT_EQ(captured.bytes, frame_of(60 + filling, filling));
    ++found.at(filling);
  }
  EXPECT_EQ(found, (std::array<unsigned, 4>{0, each, each, each}));
}

} // namespace
} // namespace tributary::pktgen::report
