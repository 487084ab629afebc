#include "pktgen/report/pcap_file.hpp"

#include "pktgen/report/output_file.hpp"
#include "tests/unit/pktgen_report/file_size_limit.hpp"
#include "tests/unit/pktgen_report/scratch_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tributary::pktgen {
namespace {

using test::FileSizeLimit;
using test::ScratchDirectory;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The tap asks nothing of the port it is given.
class SilentPort final : public Port {
public:
  [[nodiscard]] std::uint32_t longest_frame() const override { return 9014; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "silent"; }

protected:
  std::size_t transmit(std::span<Slot> /*slots*/) override { return 0; }
  std::size_t replenish(std::span<Slot> /*slots*/) override { return 0; }
  std::size_t take(std::span<core::FrameView> /*views*/) override { return 0; }
};

std::vector<std::byte> frame_of(std::size_t length, unsigned filling) {
  return std::vector<std::byte>(length, static_cast<std::byte>(filling));
}

struct Captured {
  std::uint64_t time_ns = 0;
  std::vector<std::byte> bytes;
};

/// What libpcap's reader finds; throws when the file does not end with a whole frame.
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

constexpr std::uint64_t year_2026 = 1'780'000'000'123'456'789;

TEST(pcap_file, holds_what_was_sent_and_received_to_the_nanosecond) {
  const ScratchDirectory scratch;
  SilentPort port;
  std::uint64_t now = year_2026;
  PcapFile capture(scratch.file("out.pcap"), [&] { return now; });
  capture.sent(port, frame_of(98, 0xAB));
  now += 1;
  capture.received(port, frame_of(9014, 0xCD));
  capture.close();
  EXPECT_EQ(capture.problem(), "");
  EXPECT_EQ(capture.frames(), 2U);
  const std::vector<Captured> found = read(scratch.file("out.pcap"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].time_ns, year_2026);
  EXPECT_EQ(found[0].bytes, frame_of(98, 0xAB));
  EXPECT_EQ(found[1].time_ns, year_2026 + 1);
  EXPECT_EQ(found[1].bytes, frame_of(9014, 0xCD));
}

TEST(pcap_file, closes_itself_at_its_end) {
  const ScratchDirectory scratch;
  SilentPort port;
  {
    PcapFile(scratch.file("out.pcap"), [] { return 0; }).sent(port, frame_of(60, 1));
  }
  EXPECT_EQ(read(scratch.file("out.pcap")).size(), 1U);
}

TEST(pcap_file, asks_the_kernel_nothing_until_its_buffer_is_full) {
  const ScratchDirectory scratch;
  SilentPort port;
  PcapFile capture(scratch.file("out.pcap"), [] { return 0; });
  const std::vector<std::byte> frame = frame_of(84, 1);
  const std::size_t record = frame.size() + 16;
  for (std::size_t i = 0; i < PcapFile::buffer_bytes / record - 1; ++i) {
    capture.sent(port, frame);
  }
  EXPECT_EQ(std::filesystem::file_size(scratch.file("out.pcap")), 0U);
  capture.sent(port, frame);
  capture.sent(port, frame);
  EXPECT_GT(std::filesystem::file_size(scratch.file("out.pcap")), 0U);
}

TEST(pcap_file, full_disk_ends_the_capture_with_whole_frames_and_one_message) {
  const ScratchDirectory scratch;
  SilentPort port;
  constexpr std::size_t frames = 40'000;
  PcapFile capture(scratch.file("out.pcap"), [] { return year_2026; });
  {
    const FileSizeLimit limit(1'500'000);
    for (std::size_t i = 0; i < frames; ++i) {
      capture.sent(port, frame_of(84, static_cast<unsigned>(i)));
    }
    capture.close();
  }
  EXPECT_THAT(capture.problem(), AllOf(StartsWith("the capture ended after "),
                                       HasSubstr(scratch.file("out.pcap") + ": File too large"),
                                       HasSubstr("free some space")));
  const std::vector<Captured> found = read(scratch.file("out.pcap"));
  EXPECT_EQ(found.size(), capture.frames());
  EXPECT_EQ(found.size(), (1'500'000U - 24) / 100);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].bytes, frame_of(84, static_cast<unsigned>(i))) << i;
  }
}

TEST(pcap_file, after_a_full_disk_frames_are_ignored) {
  const ScratchDirectory scratch;
  SilentPort port;
  PcapFile capture(scratch.file("out.pcap"), [] { return year_2026; });
  {
    const FileSizeLimit limit(1'000);
    for (std::size_t i = 0; i < 20'000; ++i) {
      capture.sent(port, frame_of(84, 1));
    }
  }
  const std::string problem = capture.problem();
  EXPECT_THAT(problem, HasSubstr("after 9 frames"));
  for (std::size_t i = 0; i < 20'000; ++i) {
    capture.sent(port, frame_of(84, 1));
  }
  capture.close();
  EXPECT_EQ(capture.problem(), problem);
  EXPECT_EQ(read(scratch.file("out.pcap")).size(), 9U);
}

TEST(pcap_file, full_device_is_noticed_at_the_latest_when_closing) {
  SilentPort port;
  PcapFile capture("/dev/full", [] { return year_2026; });
  capture.sent(port, frame_of(84, 1));
  EXPECT_EQ(capture.problem(), "");
  capture.close();
  EXPECT_THAT(capture.problem(),
              AllOf(HasSubstr("after 0 frames"), HasSubstr("/dev/full: No space left on device")));
}

TEST(pcap_file, that_cannot_be_made_says_why) {
  const ScratchDirectory scratch;
  try {
    PcapFile capture(scratch.file("missing/out.pcap"), [] { return 0; });
    FAIL() << "made a file in no directory";
  } catch (const OutputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("make the directory"));
  }
}

TEST(pcap_file, ports_of_several_threads_share_one_capture) {
  const ScratchDirectory scratch;
  SilentPort port;
  PcapFile capture(scratch.file("out.pcap"), [] { return year_2026; });
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
  for (const Captured& captured : read(scratch.file("out.pcap"))) {
    const auto filling = std::to_integer<unsigned>(captured.bytes[0]);
    ASSERT_EQ(captured.bytes, frame_of(60 + filling, filling));
    ++found.at(filling);
  }
  EXPECT_EQ(found, (std::array<unsigned, 4>{0, each, each, each}));
}

} // namespace
} // namespace tributary::pktgen
