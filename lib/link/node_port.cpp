#include "lib/link/node_port.hpp"

#include "lib/link/link_error.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/net/unix_address.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tributary::link {

namespace {

constexpr std::uint32_t ring_mark = 0x31725274; // "tRr1"
constexpr std::uint32_t ring_slots = 128;
constexpr std::size_t line = 64;
/// How often a program that is not there is looked for.
constexpr std::uint64_t look_again_ns = 100 * ns_per_ms;
/// Number of calls that take frames of this host alone before the wire has its turn.
constexpr unsigned turns = 16;
constexpr int most_waiting = 128; ///< connections that were not accepted

/// In memory that two programs share: one writes frames, the other takes them.
struct Shared {
  std::uint32_t mark;
  std::uint32_t slots;
  std::uint32_t slot_bytes;                        ///< with the length before each frame
  alignas(line) std::atomic<std::uint32_t> tail;   ///< frames written; by the sender
  alignas(line) std::atomic<std::uint32_t> head;   ///< frames taken; by the receiver
  alignas(line) std::atomic<std::uint32_t> sleeps; ///< 1: the receiver has to be woken
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "it is shared with other programs");

constexpr std::size_t slots_at = (sizeof(Shared) + line - 1) / line * line;

constexpr std::size_t ring_bytes(std::uint32_t slot_bytes) {
  return slots_at + std::size_t{ring_slots} * slot_bytes;
}

bool is_same_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == ::geteuid();
}

net::FileDescriptor unix_socket() {
  return net::FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool send_descriptor(int socket, int descriptor) {
  char byte = 'r';
  iovec part{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

} // namespace

class NodePort::Ring {
public:
  /// A new one, for frames of this length; null if there is no memory.
  static std::unique_ptr<Ring> make(std::uint32_t longest_frame, net::FileDescriptor& descriptor) {
    const auto slot_bytes = static_cast<std::uint32_t>(
        (sizeof(std::uint32_t) + longest_frame + line - 1) / line * line);
    descriptor =
        net::FileDescriptor(::memfd_create("tributary-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!descriptor ||
        ::ftruncate(descriptor.get(), static_cast<off_t>(ring_bytes(slot_bytes))) != 0 ||
        ::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
      return nullptr;
    }
    auto ring = map(descriptor.get(), ring_bytes(slot_bytes));
    if (ring != nullptr) {
      ring->shared_->mark = ring_mark;
      ring->shared_->slots = ring_slots;
      ring->shared_->slot_bytes = ring->slot_bytes_ = slot_bytes;
    }
    return ring;
  }
  /// That of a sender; null if this program cannot use it.
  static std::unique_ptr<Ring> of(int descriptor, std::uint32_t longest_frame) {
    struct stat status {};
    const int seals = ::fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(descriptor, &status) != 0 ||
        status.st_size < static_cast<off_t>(slots_at)) {
      return nullptr; // its sender could take the memory away
    }
    auto ring = map(descriptor, static_cast<std::size_t>(status.st_size));
    if (ring == nullptr) {
      return nullptr;
    }
    const std::uint32_t slot_bytes = ring->shared_->slot_bytes;
    if (ring->shared_->mark != ring_mark || ring->shared_->slots != ring_slots ||
        slot_bytes % line != 0 || slot_bytes < sizeof(std::uint32_t) + longest_frame ||
        ring_bytes(slot_bytes) != ring->bytes_) {
      return nullptr;
    }
    ring->slot_bytes_ = slot_bytes;
    return ring;
  }
  ~Ring() { ::munmap(shared_, bytes_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // For the sender.
  [[nodiscard]] bool push(std::span<const std::byte> frame) {
    const std::uint32_t tail = shared_->tail.load(std::memory_order_relaxed);
    if (tail - shared_->head.load(std::memory_order_acquire) >= ring_slots) {
      return false;
    }
    std::byte* const at = slot(tail);
    const auto length = static_cast<std::uint32_t>(frame.size());
    std::memcpy(at, &length, sizeof length);
    std::memcpy(at + sizeof length, frame.data(), frame.size());
    shared_->tail.store(tail + 1, std::memory_order_seq_cst);
    return true;
  }
  [[nodiscard]] bool must_wake() {
    return shared_->sleeps.load(std::memory_order_seq_cst) != 0 &&
           shared_->sleeps.exchange(0, std::memory_order_seq_cst) != 0;
  }

  // For the receiver.
  [[nodiscard]] bool has_frames() const {
    return shared_->tail.load(std::memory_order_seq_cst) != next_;
  }
  void announce_sleep() { shared_->sleeps.store(1, std::memory_order_seq_cst); }
  /// The oldest frame not yet given; it stays until `release`. Empty: it is not one.
  [[nodiscard]] FrameView give(std::uint32_t longest_frame) {
    const std::byte* const at = slot(next_++);
    std::uint32_t length = 0;
    std::memcpy(&length, at, sizeof length);
    // FrameView does not write.
    return length <= longest_frame ? FrameView{const_cast<std::byte*>(at) + sizeof length, length}
                                   : FrameView{const_cast<std::byte*>(at), 0};
  }
  void release() { shared_->head.store(next_, std::memory_order_release); }

private:
  Ring(Shared* shared, std::size_t bytes) : shared_(shared), bytes_(bytes) {}
  static std::unique_ptr<Ring> map(int descriptor, std::size_t bytes) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return at == MAP_FAILED ? nullptr
                            : std::unique_ptr<Ring>(new Ring(static_cast<Shared*>(at), bytes));
  }
  [[nodiscard]] std::byte* slot(std::uint32_t number) {
    return reinterpret_cast<std::byte*>(shared_) + slots_at +
           std::size_t{number % ring_slots} * slot_bytes_;
  }

  Shared* shared_;
  std::size_t bytes_;
  std::uint32_t slot_bytes_ = 0;
  std::uint32_t next_ = 0; ///< of a receiver: the first frame that was not given
};

NodePort::NodePort(std::unique_ptr<Port> wire, EndPoint own, Vni vni, const std::string& interface)
    : Port(wire->frames_at_once()), wire_(std::move(wire)), own_(own),
      prefix_(fmt::format("tributary/inbox/{}/{}/", interface, vni.value)), interface_(interface),
      listener_(unix_socket()), epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      self_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  constexpr const char* doing = "opening a socket for programs of this host";
  if (!listener_ || !epoll_ || !self_) {
    throw link_error(errno, interface, doing);
  }
  const auto name = net::UnixAddress::abstract(prefix_ + std::to_string(own.number));
  if (!name || ::bind(listener_.get(), name->get(), name->size()) != 0 ||
      ::listen(listener_.get(), most_waiting) != 0) {
    throw link_error(errno, interface, doing);
  }
  watch(listener_.get());
  watch(self_.get());
  watch(wire_->fd());
  const std::size_t stride = (wire_->longest_frame() + line - 1) / line * line;
  memory_.resize(2 * longest_burst * stride);
  for (std::size_t i = 0; i < 2 * longest_burst; ++i) {
    free_.push_back(&memory_[i * stride]);
  }
}

NodePort::~NodePort() = default;

void NodePort::watch(int descriptor) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  if (descriptor >= 0 && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw link_error(errno, interface_, "waiting for programs of this host");
  }
}

std::string NodePort::description() const {
  return wire_->description() + ", and shared memory of this host";
}

const PortCounts& NodePort::counts() {
  const PortCounts& wire = wire_->counts();
  counts_.receive_drops = wire.receive_drops;
  counts_.received_cut = wire.received_cut;
  return counts_;
}

// Sending.

std::size_t NodePort::replenish(std::span<Slot> slots) {
  const std::size_t count = std::min(slots.size(), free_.size());
  for (Slot& slot : slots.first(count)) {
    slot.data = free_.back();
    free_.pop_back();
  }
  return count;
}

std::size_t NodePort::transmit(std::span<Slot> slots) {
  std::size_t sent = 0;
  try {
    while (sent < slots.size() && pass_on(slots[sent])) {
      ++sent;
    }
    wire_->flush();
  } catch (const LinkError&) {
    if (sent == 0) {
      throw;
    }
    // Those before it are the receivers' or the wire's; the next call meets the same error.
  }
  for (const Slot& slot : slots.first(sent)) {
    free_.push_back(slot.data);
  }
  held_ = wire_->pending();
  return sent;
}

bool NodePort::pass_on(const Slot& slot) {
  const std::byte* const packet = slot.data + wire::ethernet_header_bytes;
  const bool has_address = slot.length >= wire::ethernet_header_bytes + wire::fabric_header_bytes;
  const wire::FabricAddress to = has_address ? wire::dfa_of(packet) : wire::FabricAddress{};
  if (has_address && !to.is_multicast() && to.nid() == own_.nid) {
    return send_on_host(to.end_point().number, {slot.data, slot.length});
  }
  std::byte* const room = wire_->room();
  if (room == nullptr) {
    return false;
  }
  std::memcpy(room, slot.data, slot.length);
  try {
    wire_->push(slot.length);
  } catch (const LinkError&) {
    // The wire has the frame, and the next call meets the same error.
  }
  return true;
}

bool NodePort::send_on_host(std::uint16_t number, std::span<const std::byte> frame) {
  Receiver& receiver = receivers_[number];
  if (receiver.ring == nullptr) {
    connect(number, receiver);
  }
  if (receiver.ring == nullptr) {
    ++dropped_;
    return true;
  }
  if (!receiver.ring->push(frame)) {
    const TimeNs now = net::steady_now();
    receiver.full_since = std::min(receiver.full_since, now);
    if (elapsed_ns(now, receiver.full_since) < patience_ns) {
      return false;
    }
    ++dropped_;
    // Whether it is there at all: its end of the socket is closed otherwise.
    constexpr char knock = 'k';
    if (::send(receiver.socket.get(), &knock, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN) {
      receiver = {};
    }
    return true;
  }
  receiver.full_since = never;
  if (receiver.ring->must_wake()) {
    constexpr char knock = 'k';
    if (::send(receiver.socket.get(), &knock, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN) {
      receiver = {}; // its program has ended, and the next one may have its number
    }
  }
  return true;
}

void NodePort::connect(std::uint16_t number, Receiver& receiver) {
  const TimeNs now = net::steady_now();
  if (now < receiver.retry_at) {
    return;
  }
  receiver.retry_at = now + look_again_ns;
  const auto name = net::UnixAddress::abstract(prefix_ + std::to_string(number));
  net::FileDescriptor socket = unix_socket();
  if (!name || !socket || ::connect(socket.get(), name->get(), name->size()) != 0 ||
      !is_same_user(socket.get())) {
    return;
  }
  net::FileDescriptor memory;
  auto ring = Ring::make(wire_->longest_frame(), memory);
  if (ring == nullptr || !send_descriptor(socket.get(), memory.get())) {
    return;
  }
  receiver.ring = std::move(ring);
  receiver.socket = std::move(socket);
}

// Receiving.

bool NodePort::has_frames() const {
  return std::ranges::any_of(senders_, [](const auto& each) {
    return each.second.ring != nullptr && each.second.ring->has_frames();
  });
}

bool NodePort::may_receive() {
  if (has_frames()) {
    return true;
  }
  epoll_event event{};
  return ::epoll_wait(epoll_.get(), &event, 1, 0) > 0;
}

int NodePort::fd() const {
  announced_ = true;
  for (const auto& [descriptor, sender] : senders_) {
    if (sender.ring != nullptr) {
      sender.ring->announce_sleep();
    }
  }
  if (has_frames()) { // which came before the announcement
    constexpr std::uint64_t once = 1;
    [[maybe_unused]] const ssize_t written = ::write(self_.get(), &once, sizeof once);
  }
  return epoll_.get();
}

std::size_t NodePort::take_from_rings(std::span<FrameView> views) {
  std::size_t count = 0;
  for (auto& [descriptor, sender] : senders_) {
    if (sender.ring == nullptr || !sender.ring->has_frames()) {
      continue;
    }
    full_rings_.push_back(sender.ring.get());
    // No more than a ring holds: a sender that says otherwise gives old frames again.
    for (std::uint32_t n = 0; n < ring_slots && count < views.size() && sender.ring->has_frames();
         ++n) {
      const FrameView view = sender.ring->give(longest_frame());
      if (view.length > 0) {
        views[count++] = view;
      }
    }
    if (count == views.size()) {
      break;
    }
  }
  return count;
}

std::size_t NodePort::take(std::span<FrameView> views) {
  for (Ring* const ring : full_rings_) {
    ring->release(); // the owner has done with their frames
  }
  full_rings_.clear();
  // Without a system call while there are frames of this host; but the wire has its turn, too.
  if (!announced_ && ++rounds_ % turns != 0) {
    if (const std::size_t count = take_from_rings(views); count > 0) {
      return count;
    }
  }
  announced_ = false;
  std::size_t count = 0;
  if (look()) {
    for (const FrameView& view : wire_->receive()) {
      const std::byte* const packet = view.data + wire::ethernet_header_bytes;
      const bool is_forged =
          view.length >= wire::ethernet_header_bytes + wire::fabric_header_bytes &&
          wire::sfa_of(packet).nid() == own_.nid && !wire::dfa_of(packet).is_multicast();
      if (!is_forged) { // none of this host's comes by the wire
        views[count++] = view;
      }
    }
  }
  return count > 0 ? count : take_from_rings(views);
}

bool NodePort::look() {
  std::array<epoll_event, 32> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool wire = wire_->fd() < 0; // it has to be asked
  for (int i = 0; i < count; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == wire_->fd()) {
      wire = true;
    } else if (descriptor == listener_.get()) {
      accept();
    } else if (descriptor == self_.get()) {
      std::uint64_t times = 0;
      [[maybe_unused]] const ssize_t got = ::read(self_.get(), &times, sizeof times);
    } else if (const auto at = senders_.find(descriptor);
               at != senders_.end() && !hear(at->second)) {
      if (at->second.ring == nullptr || !at->second.ring->has_frames()) {
        std::erase(full_rings_, at->second.ring.get());
        senders_.erase(at); // with its last frames taken
      }
    }
  }
  return wire;
}

void NodePort::accept() {
  for (;;) {
    net::FileDescriptor socket(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      return;
    }
    if (is_same_user(socket.get())) {
      watch(socket.get());
      const int descriptor = socket.get();
      senders_.emplace(descriptor, Sender{.ring = nullptr, .socket = std::move(socket)});
    }
  }
}

bool NodePort::hear(Sender& sender) {
  for (;;) {
    char byte = 0;
    iovec part{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(sender.socket.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n <= 0) {
      return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    }
    const cmsghdr* const head = CMSG_FIRSTHDR(&message);
    if (head != nullptr && head->cmsg_type == SCM_RIGHTS) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
      const net::FileDescriptor memory(descriptor);
      if (sender.ring == nullptr) {
        sender.ring = Ring::of(memory.get(), longest_frame());
      }
    }
  }
}

} // namespace tributary::link
