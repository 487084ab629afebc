#include "pktgen/capture/replay_file.hpp"

#include "lib/service/pcapng.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace tributary::pktgen::traffic {

using capture::load_capture;
using scenario::Direction;

namespace {

/// A file of the test's own that is removed with it.
class ScratchFile {
public:
  [[nodiscard]] const std::string& path() const { return path_; }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  void cut(std::uintmax_t bytes) const {
    std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - bytes);
  }

private:
  tributary::test::ScratchDirectory directory_;
  std::string path_ = directory_.file("capture");
};

struct Frame {
  std::int64_t seconds = 0;
  std::int64_t fraction = 0; ///< micro- or nanoseconds, as the file has
  std::string bytes;
  std::uint32_t captured = ~0U; ///< of the bytes
};
Frame frame(std::int64_t seconds, std::int64_t fraction, std::size_t length, char fill = 'x') {
  return {seconds, fraction, std::string(length, fill)};
}

void write_pcap(const ScratchFile& file, const std::vector<Frame>& frames,
                u_int precision = PCAP_TSTAMP_PRECISION_NANO, int link = DLT_EN10MB) {
  pcap_t* const pcap = pcap_open_dead_with_tstamp_precision(link, 65'535, precision);
  pcap_dumper_t* const dumper = pcap_dump_open(pcap, file.path().c_str());
  ASSERT_NE(dumper, nullptr) << pcap_geterr(pcap);
  for (const Frame& f : frames) {
    pcap_pkthdr header{};
    header.ts.tv_sec = f.seconds;
    header.ts.tv_usec = f.fraction;
    header.len = static_cast<bpf_u_int32>(f.bytes.size());
    header.caplen = std::min(header.len, f.captured);
    pcap_dump(reinterpret_cast<u_char*>(dumper), &header,
              reinterpret_cast<const u_char*>(f.bytes.data()));
  }
  pcap_dump_close(dumper);
  pcap_close(pcap);
}

std::string problem_with(const std::string& path) {
  try {
    (void)load_capture(path, Direction::outbound);
  } catch (const capture::CaptureError& e) {
    EXPECT_EQ(std::string(e.what()).rfind(path + ": ", 0), 0U) << e.what();
    return e.what() + path.size() + 2;
  }
  ADD_FAILURE() << "was read";
  return {};
}

TEST(ReplayFile, of_nanoseconds_keeps_them) {
  const ScratchFile file;
  write_pcap(file, {frame(1'700'000'000, 999'999'999, 60, 'a'), frame(1'700'000'001, 1, 1'514, 'b'),
                    frame(1'700'000'003, 0, 14, 'c')});
  const Capture capture = load_capture(file.path(), Direction::outbound);
  ASSERT_EQ(capture.frames.size(), 3U);
  EXPECT_EQ(capture.frames[0].at_ns, 0U);
  EXPECT_EQ(capture.frames[1].at_ns, 2U);
  EXPECT_EQ(capture.frames[2].at_ns, 2'000'000'001U);
  EXPECT_EQ(capture.frames[1].length, 1'514U);
  EXPECT_EQ(capture.bytes.size(), 60U + 1'514U + 14U);
  EXPECT_EQ(capture.bytes[capture.frames[1].offset], std::byte{'b'});
  EXPECT_EQ(capture.bytes[capture.frames[2].offset + 13], std::byte{'c'});
  EXPECT_EQ(capture::longest_frame_in(file.path(), Direction::outbound), 1'514U);
}

TEST(ReplayFile, of_microseconds_is_scaled) {
  const ScratchFile file;
  write_pcap(file, {frame(5, 10, 60), frame(5, 17, 60)}, PCAP_TSTAMP_PRECISION_MICRO);
  EXPECT_EQ(load_capture(file.path(), Direction::outbound).frames[1].at_ns, 7'000U);
}

/// Little-endian, as pcapng of the machines that write it mostly is.
void put32(std::string& to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) {
    to += static_cast<char>(value >> (8 * i));
  }
}
std::string block(std::uint32_t type, const std::string& body) {
  std::string made;
  const auto length = static_cast<std::uint32_t>(body.size() + 12);
  put32(made, type);
  put32(made, length);
  made += body;
  put32(made, length);
  return made;
}
std::string pcapng_packet(std::uint64_t ns, const std::string& bytes) {
  std::string body;
  put32(body, 0); // interface
  put32(body, static_cast<std::uint32_t>(ns >> 32));
  put32(body, static_cast<std::uint32_t>(ns));
  put32(body, static_cast<std::uint32_t>(bytes.size()));
  put32(body, static_cast<std::uint32_t>(bytes.size()));
  body += bytes + std::string((4 - bytes.size() % 4) % 4, '\0');
  return block(6, body);
}

TEST(ReplayFile, may_be_pcapng) {
  std::string section;
  put32(section, 0x1A2B3C4D);
  put32(section, 1); // version 1.0
  put32(section, ~0U);
  put32(section, ~0U);
  std::string interface;
  put32(interface, DLT_EN10MB);
  put32(interface, 65'535);
  interface += std::string("\x09\x00\x01\x00\x09\x00\x00\x00", 8); // if_tsresol: nanoseconds
  put32(interface, 0);
  const ScratchFile file;
  const std::uint64_t time = 1'700'000'000'123'456'789U;
  file.write(block(0x0A0D0D0A, section) + block(1, interface) +
             pcapng_packet(time, std::string(61, 'p')) +
             pcapng_packet(time + 42, std::string(62, 'q')));
  const Capture capture = load_capture(file.path(), Direction::outbound);
  ASSERT_EQ(capture.frames.size(), 2U);
  EXPECT_EQ(capture.frames[0].length, 61U);
  EXPECT_EQ(capture.frames[1].at_ns, 42U);
  EXPECT_EQ(capture.bytes[61], std::byte{'q'});
}

/// Two interfaces; of each a frame that was sent and one that was received, a microsecond apart.
std::string of_two_interfaces() {
  using service::PcapngWriter;
  PcapngWriter writer;
  const std::vector<std::string> names = {"veth0", "veth1"};
  writer.begin("test", names, 0);
  std::uint64_t time = 1'700'000'000'000'000'000U;
  std::size_t length = 60;
  for (const auto direction :
       {PcapngWriter::Direction::inbound, PcapngWriter::Direction::outbound}) {
    for (const std::uint32_t interface : {1U, 0U}) {
      writer.packet(interface, time, direction, std::vector<std::byte>(length),
                    static_cast<std::uint32_t>(length));
      time += 1'000;
      ++length;
    }
  }
  const auto bytes = writer.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// {interface, length, time} of each frame.
using Frames = std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>>;
Frames frames_of(const Capture& capture) {
  Frames frames;
  for (const Capture::Frame& f : capture.frames) {
    frames.emplace_back(f.interface, f.length, f.at_ns);
  }
  return frames;
}

TEST(ReplayFile, of_several_interfaces_keeps_them_and_leaves_out_what_was_received) {
  const ScratchFile file;
  file.write(of_two_interfaces());
  const Capture sent = load_capture(file.path(), Direction::outbound);
  EXPECT_EQ(frames_of(sent), (Frames{{1, 62, 0}, {0, 63, 1'000}}));
  EXPECT_EQ(sent.other_direction, 2U);
  EXPECT_EQ(sent.interfaces, (std::vector<std::string>{"veth0", "veth1"}));
  const Capture received = load_capture(file.path(), Direction::inbound);
  EXPECT_EQ(frames_of(received), (Frames{{1, 60, 0}, {0, 61, 1'000}}));
  const Capture both = load_capture(file.path(), Direction::both);
  EXPECT_EQ(both.frames.size(), 4U);
  EXPECT_EQ(both.other_direction, 0U);
}

TEST(ReplayFile, without_directions_is_taken_whole) {
  const ScratchFile file;
  write_pcap(file, {frame(1, 0, 60), frame(1, 1, 60)});
  EXPECT_EQ(load_capture(file.path(), Direction::inbound).frames.size(), 2U);
}

TEST(ReplayFile, of_nothing_but_the_other_direction_says_so) {
  service::PcapngWriter writer;
  const std::vector<std::string> names = {"veth0"};
  writer.begin("test", names, 0);
  writer.packet(0, 1, service::PcapngWriter::Direction::inbound, std::vector<std::byte>(60), 60);
  const ScratchFile file;
  file.write({reinterpret_cast<const char*>(writer.bytes().data()), writer.size()});
  EXPECT_NE(problem_with(file.path()).find("the 1 that it has went in the other one"),
            std::string::npos);
}

TEST(ReplayFile, leaves_out_frames_cut_short_and_those_too_short_and_counts_them) {
  const ScratchFile file;
  std::vector<Frame> frames{frame(1, 0, 60), frame(1, 10, 100), frame(1, 20, 13), frame(1, 30, 60)};
  frames[1].captured = 99;
  write_pcap(file, frames);
  const Capture capture = load_capture(file.path(), Direction::outbound);
  EXPECT_EQ(capture.cut_short, 1U);
  EXPECT_EQ(capture.too_short, 1U);
  ASSERT_EQ(capture.frames.size(), 2U);
  EXPECT_EQ(capture.frames[1].at_ns, 30U);
}

TEST(ReplayFile, in_which_time_goes_back_lets_none_pass_there) {
  const ScratchFile file;
  write_pcap(file, {frame(10, 0, 60), frame(9, 0, 60), frame(9, 500, 60), frame(10, 0, 60)});
  const Capture capture = load_capture(file.path(), Direction::outbound);
  ASSERT_EQ(capture.frames.size(), 4U);
  EXPECT_EQ(capture.frames[1].at_ns, 0U);
  EXPECT_EQ(capture.frames[2].at_ns, 500U);
  EXPECT_EQ(capture.frames[3].at_ns, 1'000'000'000U);
}

TEST(ReplayFile, that_is_not_there_says_so) {
  EXPECT_NE(problem_with("/nonexistent/capture.pcap").find("No such file"), std::string::npos);
}

TEST(ReplayFile, that_is_empty_or_no_capture_says_so) {
  const ScratchFile file;
  EXPECT_NE(problem_with(file.path()).find("cannot be replayed"), std::string::npos);
  file.write("Frames, frames, nothing but frames, and not one of them captured.");
  EXPECT_NE(problem_with(file.path()).find("cannot be replayed"), std::string::npos);
}

TEST(ReplayFile, without_frames_says_so) {
  const ScratchFile file;
  write_pcap(file, {});
  EXPECT_EQ(problem_with(file.path()), "holds no frames");
}

TEST(ReplayFile, of_nothing_but_beginnings_says_what_to_do) {
  const ScratchFile file;
  Frame cut = frame(1, 0, 1'000);
  cut.captured = 96;
  write_pcap(file, {cut, cut});
  const std::string problem = problem_with(file.path());
  EXPECT_NE(problem.find("of 2 it holds only the beginning"), std::string::npos) << problem;
  EXPECT_NE(problem.find("snapshot length"), std::string::npos) << problem;
}

TEST(ReplayFile, of_another_link_type_names_it) {
  const ScratchFile file;
  write_pcap(file, {frame(1, 0, 60)}, PCAP_TSTAMP_PRECISION_NANO, DLT_LINUX_SLL);
  EXPECT_NE(problem_with(file.path()).find("LINUX_SLL"), std::string::npos);
}

TEST(ReplayFile, that_ends_within_a_frame_names_the_one_before) {
  const ScratchFile file;
  write_pcap(file, {frame(1, 0, 60), frame(1, 1, 60), frame(1, 2, 60)});
  file.cut(10);
  EXPECT_NE(problem_with(file.path()).find("behind frame 2"), std::string::npos);
}

} // namespace
} // namespace tributary::pktgen::traffic
