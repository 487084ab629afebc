#include "pktgen/report/pcap_file.hpp"

#include "pktgen/report/output_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace tributary::pktgen {
namespace {

constexpr int longest_frame = 262'144; // what libpcap's own programs take

} // namespace

PcapFile::PcapFile(std::string path, Clock clock)
    : path_(std::move(path)), clock_(std::move(clock)), buffer_(buffer_bytes) {
  survive_file_size_limit();
  std::FILE* const file = std::fopen(path_.c_str(), "wbe");
  if (file == nullptr) {
    throw OutputError(output_problem(path_, errno));
  }
  std::setvbuf(file, buffer_.data(), _IOFBF, buffer_.size());
  pcap_.reset(
      pcap_open_dead_with_tstamp_precision(DLT_EN10MB, longest_frame, PCAP_TSTAMP_PRECISION_NANO));
  if (pcap_ != nullptr) {
    dumper_.reset(pcap_dump_fopen(pcap_.get(), file));
  }
  if (dumper_ == nullptr) {
    std::fclose(file);
    throw std::bad_alloc(); // what alone can go wrong before the first byte leaves the buffer
  }
}

PcapFile::~PcapFile() { close(); }

void PcapFile::sent(const Port& /*port*/, std::span<const std::byte> frame) { write(frame); }

void PcapFile::received(const Port& /*port*/, std::span<const std::byte> frame) { write(frame); }

void PcapFile::write(std::span<const std::byte> frame) {
  const std::lock_guard lock(mutex_);
  if (dumper_ == nullptr) {
    return;
  }
  const std::uint64_t now = clock_();
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<decltype(header.ts.tv_sec)>(now / 1'000'000'000);
  // Nanoseconds, as the precision says, whatever the field is called.
  header.ts.tv_usec = static_cast<decltype(header.ts.tv_usec)>(now % 1'000'000'000);
  header.caplen = static_cast<bpf_u_int32>(frame.size());
  header.len = header.caplen;
  // libpcap's callback signature: the dumper goes as its user data.
  pcap_dump(reinterpret_cast<u_char*>(dumper_.get()), &header,
            reinterpret_cast<const u_char*>(frame.data()));
  if (std::ferror(pcap_dump_file(dumper_.get())) != 0) {
    end(errno);
  } else {
    ++frames_;
  }
}

void PcapFile::close() {
  const std::lock_guard lock(mutex_);
  if (dumper_ != nullptr) {
    end(pcap_dump_flush(dumper_.get()) == 0 ? 0 : errno);
  }
}

void PcapFile::end(int error) {
  dumper_.reset();
  if (error != 0) {
    keep_whole_frames();
    problem_ =
        fmt::format("the capture ended after {} frames: {}", frames_, output_problem(path_, error));
  }
}

/// Cuts off the frame that found no room, and says how many did.
void PcapFile::keep_whole_frames() {
  frames_ = 0;
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path_, unknown)) {
    return;
  }
  long whole = 0;
  std::array<char, PCAP_ERRBUF_SIZE> ignored{};
  if (const std::unique_ptr<pcap_t, ClosePcap> reader{
          pcap_open_offline(path_.c_str(), ignored.data())}) {
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    whole = std::ftell(pcap_file(reader.get()));
    while (pcap_next_ex(reader.get(), &header, &data) == 1) {
      whole = std::ftell(pcap_file(reader.get()));
      ++frames_;
    }
  }
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(whole), unknown);
}

std::string PcapFile::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

std::uint64_t PcapFile::frames() const {
  const std::lock_guard lock(mutex_);
  return frames_;
}

} // namespace tributary::pktgen
