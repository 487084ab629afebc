#include "lib/link/xdp/af_xdp_port.hpp"

#include "lib/link/interface.hpp"
#include "lib/link/link_error.hpp"
#include "lib/link/wait.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_xdp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <xdp/libxdp.h>
#include <xdp/xsk.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tributary::link::xdp {
namespace {

constexpr std::uint32_t small_buffer = 2048; // the kernel's minimum
constexpr std::uint32_t large_buffer = 4096; // the maximum: a page
constexpr std::uint32_t kept_free = 256;     // in front of a received frame
constexpr std::uint32_t send_buffers = 256;

// The kernel releases the queue of a closed socket in a work item, after close() has returned. A
// process that opens it again immediately, or is restarted, waits for that; mostly there is no
// wait.
constexpr std::uint64_t release_step_ns = 5'000'000;
constexpr int most_release_steps = 400;

std::uint32_t receive_buffers(std::size_t bytes) {
  constexpr std::size_t fewest = 64;
  constexpr std::size_t most = 8192;
  return static_cast<std::uint32_t>(std::bit_floor(std::clamp(bytes / small_buffer, fewest, most)));
}

std::string text_of(int error) { return std::generic_category().message(error); }

/// Silences the prints of libbpf and libxdp: a library reports errors to its caller.
class QuietLibraries {
public:
  QuietLibraries() : bpf_(libbpf_set_print(nullptr)), xdp_(libxdp_set_print(nullptr)) {}
  ~QuietLibraries() {
    libbpf_set_print(bpf_);
    libxdp_set_print(xdp_);
  }
  QuietLibraries(const QuietLibraries&) = delete;
  QuietLibraries& operator=(const QuietLibraries&) = delete;

private:
  libbpf_print_fn_t bpf_;
  libxdp_print_fn_t xdp_;
};

/// Written by the kernel.
std::uint32_t index_of(std::uint32_t* shared) {
  return std::atomic_ref<std::uint32_t>(*shared).load(std::memory_order_acquire);
}

std::uint32_t in_ring(const xsk_ring_prod& ring) {
  return ring.cached_prod - index_of(ring.consumer);
}

LinkError no_socket(int error, const std::string& interface, std::uint32_t queue,
                    const std::string& otherwise) {
  using Kind = LinkError::Kind;
  switch (error) {
  case EPERM:
  case EACCES:
    return {Kind::not_permitted,
            fmt::format("no permission for an AF_XDP socket on '{}': the capabilities CAP_NET_RAW, "
                        "CAP_NET_ADMIN and CAP_BPF are needed; or {}",
                        interface, otherwise)};
  case EBUSY:
    return {Kind::system,
            fmt::format("receive queue {} of interface '{}' is busy: another AF_XDP socket has it; "
                        "stop its owner, or {}",
                        queue, interface, otherwise)};
  case ENOBUFS:
  case ENOMEM:
    return {Kind::system,
            fmt::format("no memory for an AF_XDP socket on '{}': raise the limit of locked memory "
                        "(`ulimit -l`), give the program CAP_IPC_LOCK, or {}",
                        interface, otherwise)};
  default:
    return {Kind::system, fmt::format("no AF_XDP socket on receive queue {} of interface '{}': {}; "
                                      "or {}",
                                      queue, interface, text_of(error), otherwise)};
  }
}

} // namespace

/// One receive queue, and the memory its socket shares with the kernel. The library keeps pointers
/// to the rings, so it must not move.
struct AfXdpPort::Queue {
  Queue(const std::string& interface, std::uint32_t number, std::uint32_t to_receive,
        std::uint32_t to_send, std::uint32_t buffer_bytes, const std::string& otherwise)
      : bytes(std::size_t{to_receive + to_send} * buffer_bytes) {
    int error = open(interface, number, to_receive, to_send, buffer_bytes);
    for (int step = 0; error == EBUSY && step < most_release_steps; ++step) {
      close();
      wait(-1, release_step_ns, false); // only sleeps
      error = open(interface, number, to_receive, to_send, buffer_bytes);
    }
    if (error != 0) {
      close();
      throw no_socket(error, interface, number, otherwise);
    }
    for (std::uint32_t i = 0; i < to_receive; ++i) {
      give(std::uint64_t{i} * buffer_bytes);
    }
  }
  ~Queue() { close(); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] int fd() const { return xsk_socket__fd(socket); }
  /// Gives the kernel a buffer to receive into; there is always room, as the ring has a place for
  /// each buffer.
  void give(std::uint64_t address) {
    std::uint32_t index = 0;
    if (xsk_ring_prod__reserve(&fill, 1, &index) == 1) {
      *xsk_ring_prod__fill_addr(&fill, index) = address;
      xsk_ring_prod__submit(&fill, 1);
    }
  }

  std::size_t bytes;
  std::byte* memory = nullptr; ///< receive buffers, then those to send from
  xsk_umem* umem = nullptr;
  xsk_socket* socket = nullptr;
  xsk_ring_prod fill{};
  xsk_ring_cons completed{};
  xsk_ring_cons received{};
  xsk_ring_prod sent{};

private:
  /// Returns 0, or the error; parts may be open then.
  int open(const std::string& interface, std::uint32_t number, std::uint32_t to_receive,
           std::uint32_t to_send, std::uint32_t buffer_bytes) {
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      return errno;
    }
    memory = static_cast<std::byte*>(mapped);
    xsk_umem_config of_memory{};
    of_memory.fill_size = to_receive;
    of_memory.comp_size = send_buffers;
    of_memory.frame_size = buffer_bytes;
    if (const int error = xsk_umem__create(&umem, memory, bytes, &fill, &completed, &of_memory)) {
      return -error;
    }
    xsk_socket_config config{};
    config.rx_size = to_receive;
    config.tx_size = send_buffers;
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    config.bind_flags = XDP_USE_NEED_WAKEUP;
    return -xsk_socket__create(&socket, interface.c_str(), number, umem, &received,
                               to_send > 0 ? &sent : nullptr, &config);
  }
  void close() {
    if (socket != nullptr) {
      xsk_socket__delete(std::exchange(socket, nullptr));
    }
    if (umem != nullptr) {
      xsk_umem__delete(std::exchange(umem, nullptr));
    }
    if (memory != nullptr) {
      ::munmap(std::exchange(memory, nullptr), bytes);
    }
  }
};

AfXdpPort::AfXdpPort(const std::string& interface, std::uint16_t ethertype, const Options& options)
    : Port(options.frames_at_once), socket_(interface, std::nullopt),
      buffer_bytes_(socket_.mtu() + wire::ethernet_header_bytes > small_buffer - kept_free
                        ? large_buffer
                        : small_buffer),
      longest_frame_(frame_within(options.longest_frame)),
      receive_room_(receive_buffers(options.receive_buffer_bytes)) {
  if (!interface_facts(socket_.fd(), interface, "looking it up").up) {
    throw link_error(ENETDOWN, interface, "opening it");
  }
  socket_.be_promiscuous();
  const QuietLibraries quiet;
  open_queues(ethertype, options);
}

std::uint32_t AfXdpPort::frame_within(std::uint32_t longest_frame) const {
  return std::min({socket_.mtu() + static_cast<std::uint32_t>(wire::ethernet_header_bytes),
                   longest_frame, buffer_bytes_ - kept_free});
}

void AfXdpPort::enlarge(std::uint32_t longest_frame, std::size_t /*receive_buffer_bytes*/) {
  longest_frame_ = std::max(longest_frame_, frame_within(longest_frame));
}

std::size_t AfXdpPort::receive_room() const { return receive_room_; }

void AfXdpPort::open_queues(std::uint16_t ethertype, const Options& options) {
  const std::string& interface = socket_.interface();
  const std::uint32_t count = interface_receive_queues(interface).all;
  const std::uint32_t to_receive = receive_buffers(options.receive_buffer_bytes);
  steering_ = std::make_unique<XdpSteering>(interface, Steered{.ethertype = ethertype}, count,
                                            options.otherwise);
  for (std::uint32_t number = 0; number < count; ++number) {
    queues_.push_back(std::make_unique<Queue>(interface, number, to_receive,
                                              number == 0 ? send_buffers : 0, buffer_bytes_,
                                              options.otherwise));
    const int socket = queues_.back()->fd();
    if (const int error = bpf_map_update_elem(steering_->sockets_map(), &number, &socket, BPF_ANY);
        error != 0) {
      throw no_socket(-error, interface, number, options.otherwise);
    }
  }
  std::byte* const to_send = queues_[0]->memory + std::size_t{to_receive} * buffer_bytes_;
  free_.reserve(send_buffers);
  for (std::uint32_t i = send_buffers; i > 0; --i) {
    free_.push_back(to_send + std::size_t{i - 1} * buffer_bytes_);
  }
  taken_.reserve(longest_burst);
  if (count == 1) {
    return;
  }
  all_queues_ = net::FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  for (const auto& queue : queues_) {
    epoll_event readable{};
    readable.events = EPOLLIN;
    if (!all_queues_ ||
        ::epoll_ctl(all_queues_.get(), EPOLL_CTL_ADD, queue->fd(), &readable) != 0) {
      throw link_error(errno, interface, "waiting on several receive queues");
    }
  }
}

AfXdpPort::~AfXdpPort() = default;

int AfXdpPort::fd() const { return all_queues_ ? all_queues_.get() : queues_[0]->fd(); }

bool AfXdpPort::may_receive() {
  return std::ranges::any_of(queues_, [](const auto& queue) {
    return index_of(queue->received.producer) != queue->received.cached_cons;
  });
}

std::string AfXdpPort::description() const {
  return fmt::format("AF_XDP on {} ({}, {} receive queue{})", socket_.interface(),
                     name_of(steering_->mode()), queues_.size(), queues_.size() == 1 ? "" : "s");
}

const PortCounts& AfXdpPort::counts() {
  std::uint64_t drops = 0;
  for (const auto& queue : queues_) {
    xdp_statistics statistics{};
    socklen_t length = sizeof statistics;
    if (::getsockopt(queue->fd(), SOL_XDP, XDP_STATISTICS, &statistics, &length) == 0) {
      drops += statistics.rx_dropped + statistics.rx_ring_full;
    }
  }
  counts_.receive_drops = drops;
  return counts_;
}

std::string AfXdpPort::error() { return interface_error(socket_.interface()); }

std::uint32_t AfXdpPort::speed_mbps() const { return interface_speed_mbps(socket_.interface()); }

int AfXdpPort::kick() {
  Queue& queue = *queues_[0];
  int error = 0;
  while ((held_ = in_ring(queue.sent)) > 0) {
    const std::size_t before = held_;
    error = ::sendto(queue.fd(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 ? errno : 0;
    held_ = in_ring(queue.sent);
    if (held_ == before && error != EINTR) {
      break; // it takes no more now, or it took its maximum per call
    }
  }
  const bool full = error == EAGAIN || error == EBUSY || error == ENOBUFS || error == EINTR;
  return held_ == 0 || full ? 0 : error;
}

void AfXdpPort::throw_of(int error) const {
  if (error != 0) {
    socket_.throw_unless_recovered(error, "sending");
  }
}

std::size_t AfXdpPort::transmit(std::span<Slot> slots) {
  if (held_ > 0) {
    throw_of(kick()); // before the kernel gets any more
  }
  Queue& queue = *queues_[0];
  const auto count = static_cast<std::uint32_t>(
      std::min<std::size_t>(slots.size(), xsk_prod_nb_free(&queue.sent, send_buffers)));
  std::uint32_t index = 0;
  if (count == 0 || xsk_ring_prod__reserve(&queue.sent, count, &index) != count) {
    return 0;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    xdp_desc& frame = *xsk_ring_prod__tx_desc(&queue.sent, index + i);
    frame.addr = static_cast<std::uint64_t>(slots[i].data - queue.memory);
    frame.len = slots[i].length;
    frame.options = 0;
  }
  xsk_ring_prod__submit(&queue.sent, count);
  // The kernel owns them now: errors are reported at the next call.
  static_cast<void>(kick());
  return count;
}

std::size_t AfXdpPort::replenish(std::span<Slot> slots) {
  reclaim();
  const std::size_t count = std::min(slots.size(), free_.size());
  for (Slot& slot : slots.first(count)) {
    slot.data = free_.back();
    free_.pop_back();
  }
  return count;
}

void AfXdpPort::reclaim() {
  Queue& queue = *queues_[0];
  std::uint32_t index = 0;
  const std::uint32_t count = xsk_ring_cons__peek(&queue.completed, send_buffers, &index);
  for (std::uint32_t i = 0; i < count; ++i) {
    free_.push_back(queue.memory + *xsk_ring_cons__comp_addr(&queue.completed, index + i));
  }
  xsk_ring_cons__release(&queue.completed, count);
}

void AfXdpPort::give_back() {
  for (const Taken& taken : taken_) {
    // The frame may begin anywhere in its buffer.
    taken.queue->give(taken.address / buffer_bytes_ * buffer_bytes_);
  }
  taken_.clear();
}

std::size_t AfXdpPort::take(std::span<FrameView> views) {
  give_back();
  for (const auto& queue : queues_) {
    const auto wanted = static_cast<std::uint32_t>(views.size() - taken_.size());
    std::uint32_t index = 0;
    const std::uint32_t count = xsk_ring_cons__peek(&queue->received, wanted, &index);
    for (std::uint32_t i = 0; i < count; ++i) {
      const xdp_desc& frame = *xsk_ring_cons__rx_desc(&queue->received, index + i);
      views[taken_.size()] = {queue->memory + frame.addr, frame.len};
      taken_.push_back({queue.get(), frame.addr});
    }
    xsk_ring_cons__release(&queue->received, count);
    if (xsk_ring_prod__needs_wakeup(&queue->fill) != 0) {
      static_cast<void>(::recvfrom(queue->fd(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr));
    }
  }
  return taken_.size();
}

} // namespace tributary::link::xdp
