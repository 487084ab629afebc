// --pcap: every frame that passes a port, as a pcapng capture with its port, its direction and a
// nanosecond time.
//
//   CaptureFile capture("out.pcapng", {{port, "veth0"}, ...}, unix_time_ns);
//   port->set_tap(&capture);
//   ... run ...
//   capture.close({7, 0});       frames that each port had to drop
//   if (!capture.problem().empty()) result.problems.push_back(capture.problem());
//
// A full disk ends the capture, not the run: from then on frames are ignored, problem() describes
// the error, and the file holds whole frames only. Frames gather in a buffer, so that the kernel is
// called once for some ten thousand of them. Ports of several threads may share one capture.
#pragma once

#include "lib/link/port.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/service/pcapng.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tributary::pktgen::report {

class CaptureFile final : public link::FrameTap {
public:
  /// Nanoseconds since 1970, called once for each frame.
  using Clock = std::function<std::uint64_t()>;
  struct Source {
    const link::Port* port;
    std::string name;
  };
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

  /// Makes the file. Throws OutputError when that cannot be done.
  CaptureFile(std::string path, const std::vector<Source>& sources, Clock clock);
  ~CaptureFile() override;
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  /// `port` is one of the sources'.
  void sent(const link::Port& port, std::span<const std::byte> frame) override;
  void received(const link::Port& port, std::span<const std::byte> frame) override;

  /// Ends the capture and records the drops of each source's port, if known. Cold.
  void close(std::span<const std::uint64_t> drops = {});
  /// Why the capture ended early; empty when it did not.
  [[nodiscard]] std::string problem() const;
  /// In the file, once it is closed.
  [[nodiscard]] std::uint64_t frames() const;

private:
  using Direction = service::PcapngWriter::Direction;

  [[nodiscard]] std::uint32_t interface_of(const link::Port& port) const;
  void write(const link::Port& port, Direction direction, std::span<const std::byte> frame);
  /// Writes to the file; ends the capture when that fails.
  void flush();
  /// Keeps the complete frames and records why the capture ends.
  void fail(int error);

  const std::string path_;
  const Clock clock_;
  std::vector<const link::Port*> ports_; ///< by number of the interface
  mutable std::mutex mutex_;             ///< of all that follows
  service::PcapngWriter writer_;         ///< not in the file yet
  net::FileDescriptor descriptor_;       ///< none once closed
  std::uint64_t written_ = 0;            ///< bytes, all of them whole blocks
  std::uint64_t frames_ = 0;
  std::uint64_t frames_written_ = 0;
  std::string problem_;
};

} // namespace tributary::pktgen::report
