// --pcap: every frame that passes a port, sent and received, as a capture with nanoseconds
// (libpcap, link type Ethernet).
//
//   PcapFile capture("out.pcap", unix_time_ns);
//   port.set_tap(&capture);
//   ... run ...
//   capture.close();
//   if (!capture.problem().empty()) result.problems.push_back(capture.problem());
//
// A full disk ends the capture, not the run: from then on frames are ignored, problem() says what
// happened, and the file holds whole frames only. Frames gather in a buffer, so that the kernel is
// called once for some ten thousand of them. Ports of several threads may share one capture.
#pragma once

#include "pktgen/transport/port.hpp"

#include <pcap/pcap.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tributary::pktgen {

class PcapFile final : public FrameTap {
public:
  /// Nanoseconds since 1970, called once for each frame.
  using Clock = std::function<std::uint64_t()>;
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

  /// Makes the file. Throws OutputError when that cannot be done.
  PcapFile(std::string path, Clock clock);
  ~PcapFile() override;
  PcapFile(const PcapFile&) = delete;
  PcapFile& operator=(const PcapFile&) = delete;

  void sent(const Port& port, std::span<const std::byte> frame) override;
  void received(const Port& port, std::span<const std::byte> frame) override;

  /// Writes what is in the buffer and ends the capture. Cold.
  void close();
  /// Why the capture ended early; empty when it did not.
  [[nodiscard]] std::string problem() const;
  /// In the file, once it is closed.
  [[nodiscard]] std::uint64_t frames() const;

private:
  struct ClosePcap {
    void operator()(pcap_t* pcap) const { pcap_close(pcap); }
  };
  struct CloseDumper {
    void operator()(pcap_dumper_t* dumper) const { pcap_dump_close(dumper); }
  };

  void write(std::span<const std::byte> frame);
  void end(int error);
  void keep_whole_frames();

  const std::string path_;
  const Clock clock_;
  mutable std::mutex mutex_; ///< of all that follows
  std::vector<char> buffer_; ///< outlives `dumper_`, whose stream writes through it
  std::unique_ptr<pcap_t, ClosePcap> pcap_;
  std::unique_ptr<pcap_dumper_t, CloseDumper> dumper_; ///< null once closed
  std::uint64_t frames_ = 0;
  std::string problem_;
};

} // namespace tributary::pktgen
