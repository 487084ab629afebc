#include "dataplane/port/af_xdp_rings.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <unordered_map>

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

namespace tributary::port {
namespace {

/// This process's mapping of a socket's ring.
struct Mapping {
  std::uint64_t offset = 0; ///< identifies the ring
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};

std::vector<Mapping> mappings_of(int socket) {
  struct stat status {};
  if (::fstat(socket, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    return {};
  }
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    std::uint64_t inode = 0;
    if (line.find(" socket:[") != std::string::npos &&
        std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64, &begin,
                    &end, &offset, &inode) == 4 &&
        inode == status.st_ino) {
      found.push_back({offset, reinterpret_cast<std::byte*>(begin), end - begin});
    }
  }
  return found;
}

std::uint32_t word_at(std::byte* at) {
  return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(at))
      .load(std::memory_order_acquire);
}

/// A ring of entries of type T, whose indices count from the ring's beginning.
template <typename T> class Ring {
public:
  Ring(const Mapping& mapping, const xdp_ring_offset& offsets)
      : producer_(word_at(mapping.at + offsets.producer)),
        consumer_(word_at(mapping.at + offsets.consumer)),
        entries_(reinterpret_cast<const T*>(mapping.at + offsets.desc)),
        // A power of two; the mapping is rounded up to whole pages.
        size_(static_cast<std::uint32_t>(
            std::bit_floor((mapping.bytes - offsets.desc) / sizeof(T)))) {}

  [[nodiscard]] std::uint32_t producer() const { return producer_; }
  [[nodiscard]] std::uint32_t consumer() const { return consumer_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] const T& operator[](std::uint32_t index) const {
    return entries_[index & (size_ - 1)];
  }

private:
  std::uint32_t producer_;
  std::uint32_t consumer_;
  const T* entries_;
  std::uint32_t size_;
};

/// Addresses in the memory that a socket shares with the kernel: the beginning of a buffer, with
/// the frame's offset in it above.
constexpr std::uint64_t buffer_of(std::uint64_t address) {
  return address & XSK_UNALIGNED_BUF_ADDR_MASK;
}

/// The buffers that left by the fill ring, and that the driver has not taken from the receive ring.
/// If `out` buffers are out, those that came back last are still in the receive ring, so a buffer
/// among the last `out` that left is out unless it came back since.
void add_receiving(const Ring<std::uint64_t>& filled, const Ring<xdp_desc>& received,
                   std::vector<std::uint64_t>& addresses) {
  const std::uint32_t taken = received.consumer();
  const std::uint32_t out = filled.producer() - taken;
  if (out > filled.size()) {
    return; // not a socket of this driver
  }
  // Later entries that were not taken replaced the oldest of them.
  const std::uint32_t room = received.size() - (received.producer() - taken);
  const std::uint32_t known = std::min({room, taken, out});
  std::unordered_map<std::uint64_t, std::uint32_t> came_back; // buffer -> when, last
  for (std::uint32_t index = taken - known; index != taken; ++index) {
    came_back[buffer_of(received[index].addr)] = index;
  }
  for (std::uint32_t index = taken; index != filled.producer(); ++index) {
    const std::uint64_t address = buffer_of(filled[index]);
    const auto last = came_back.find(address);
    // Signed: entries that left before anything came back have an index below 0.
    if (last == came_back.end() || static_cast<std::int32_t>(last->second - (index - out)) < 0) {
      addresses.push_back(address);
    }
  }
}

/// The frames that the kernel has not sent. It completes all that it takes, unless they are
/// invalid.
void add_sending(const Ring<xdp_desc>& sent, const Ring<std::uint64_t>& completed,
                 std::uint32_t invalid, std::vector<std::uint64_t>& addresses) {
  for (std::uint32_t i = completed.consumer(); i != completed.producer(); ++i) {
    addresses.push_back(buffer_of(completed[i]));
  }
  const std::uint32_t first = completed.producer() + invalid;
  if (sent.producer() - first <= sent.size()) {
    for (std::uint32_t i = first; i != sent.producer(); ++i) {
      addresses.push_back(buffer_of(sent[i].addr));
    }
  }
}

void add_left_of(int socket, std::vector<std::uint64_t>& addresses) {
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof offsets;
  if (::getsockopt(socket, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0 ||
      length != sizeof offsets) {
    return;
  }
  std::optional<Ring<std::uint64_t>> filled;
  std::optional<Ring<std::uint64_t>> completed;
  std::optional<Ring<xdp_desc>> received;
  std::optional<Ring<xdp_desc>> sent;
  for (const Mapping& mapping : mappings_of(socket)) {
    switch (mapping.offset) {
    case XDP_UMEM_PGOFF_FILL_RING: filled.emplace(mapping, offsets.fr); break;
    case XDP_UMEM_PGOFF_COMPLETION_RING: completed.emplace(mapping, offsets.cr); break;
    case XDP_PGOFF_RX_RING: received.emplace(mapping, offsets.rx); break;
    case XDP_PGOFF_TX_RING: sent.emplace(mapping, offsets.tx); break;
    default: break;
    }
  }
  if (filled && received) {
    add_receiving(*filled, *received, addresses);
  }
  if (sent && completed) {
    xdp_statistics statistics{};
    length = sizeof statistics;
    if (::getsockopt(socket, SOL_XDP, XDP_STATISTICS, &statistics, &length) == 0) {
      add_sending(*sent, *completed, static_cast<std::uint32_t>(statistics.tx_invalid_descs),
                  addresses);
    }
  }
}

} // namespace

bool is_zero_copy(std::span<const DriverDescriptor> opened) {
  std::size_t sockets = 0;
  std::size_t without_copy = 0;
  for (const DriverDescriptor& one : opened) {
    xdp_options options{};
    socklen_t length = sizeof options;
    if (::getsockopt(one.number, SOL_XDP, XDP_OPTIONS, &options, &length) == 0) {
      ++sockets;
      without_copy += (options.flags & XDP_OPTIONS_ZEROCOPY) != 0 ? 1 : 0;
    }
  }
  return sockets != 0 && without_copy == sockets;
}

std::vector<rte_mbuf*> left_in_rings(std::span<const DriverDescriptor> opened,
                                     const rte_mempool& pool) {
  std::vector<std::uint64_t> addresses;
  for (const DriverDescriptor& one : opened) {
    add_left_of(one.number, addresses);
  }
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());

  // The pool is contiguous (eal.cpp), and the driver's addresses count from the page in which it
  // begins. An address outside of it indicates a different driver version, and is ignored.
  const rte_mempool_memhdr& memory = *STAILQ_FIRST(&pool.mem_list);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.addr);
  const std::uintptr_t base = begin & ~(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)) - 1);
  std::vector<rte_mbuf*> left;
  left.reserve(addresses.size());
  for (const std::uint64_t address : addresses) {
    const std::uintptr_t header = base + address;
    if (header >= begin && header + pool.header_size + pool.elt_size <= begin + memory.len) {
      auto* const buffer = reinterpret_cast<rte_mbuf*>(header + pool.header_size);
      if (buffer->pool == &pool) {
        left.push_back(buffer);
      }
    }
  }
  return left;
}

void close_forgotten(std::span<const DriverDescriptor> opened) {
  for (const DriverDescriptor& one : opened) {
    if (one.is_open()) {
      for (const Mapping& mapping : mappings_of(one.number)) {
        ::munmap(mapping.at, mapping.bytes);
      }
      ::close(one.number);
    }
  }
}

} // namespace tributary::port
