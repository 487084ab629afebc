#include "tests/unit/dataplane/port/network_namespace.hpp"

#include "dataplane/port/privileges.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tributary::port::test {

NetworkNamespace::NetworkNamespace() {
  previous_ = net::FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!previous_ || ::unshare(CLONE_NEWNET) != 0) {
    unavailable_ = fmt::format("cannot make a network namespace: {} (needs CAP_SYS_ADMIN)",
                               std::strerror(errno));
    return;
  }
  const std::string missing =
      missing_privileges(config::PortKind::af_xdp, Privileges::of_this_process());
  if (!missing.empty()) {
    unavailable_ = fmt::format("missing privilege: {}", missing);
  }
}

NetworkNamespace::~NetworkNamespace() {
  if (previous_) {
    std::ignore = ::setns(previous_.get(), CLONE_NEWNET);
  }
}

bool NetworkNamespace::ip(const std::string& arguments) {
  return std::system(fmt::format("ip {} >/dev/null 2>&1", arguments).c_str()) == 0;
}

void NetworkNamespace::add_pair(bool up) {
  ip("link add near type veth peer name far");
  if (up) {
    ip("link set near up");
    ip("link set far up");
  }
}

void NetworkNamespace::delete_pair() { ip("link del near"); }

PacketSocket::PacketSocket(const std::string& interface, std::uint16_t ethertype)
    : fd_(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ethertype))) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ethertype);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  std::ignore = ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
}

void PacketSocket::send(const std::vector<std::byte>& frame) const {
  std::ignore = ::send(fd_.get(), frame.data(), frame.size(), 0);
}

std::optional<std::vector<std::byte>> PacketSocket::receive() const {
  std::vector<std::byte> frame(2048);
  const ssize_t length = ::recv(fd_.get(), frame.data(), frame.size(), 0);
  if (length < 0) {
    return std::nullopt;
  }
  frame.resize(static_cast<std::size_t>(length));
  return frame;
}

OtherNamespace::OtherNamespace() {
  std::array<int, 2> ready{};
  std::ignore = ::pipe2(ready.data(), O_CLOEXEC);
  const net::FileDescriptor reads(ready[0]);
  net::FileDescriptor writes(ready[1]);
  holder_ = ::fork();
  if (holder_ == 0) {
    std::ignore = ::unshare(CLONE_NEWNET);
    writes.close();
    ::pause();
    ::_exit(0);
  }
  writes.close();
  char byte = 0;
  std::ignore = ::read(reads.get(), &byte, 1); // until the other end is closed
}

OtherNamespace::~OtherNamespace() {
  ::kill(holder_, SIGKILL);
  ::waitpid(holder_, nullptr, 0);
}

bool OtherNamespace::takes(const std::string& interface) const {
  return NetworkNamespace::ip(fmt::format("link set {} netns {}", interface, holder_));
}

bool OtherNamespace::gives_back(const std::string& interface) const {
  return std::system(
             fmt::format("nsenter -t {} -n ip link set {} netns {}", holder_, interface, ::getpid())
                 .c_str()) == 0;
}

QueueHolder::QueueHolder(const std::string& interface)
    : fd_(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)),
      memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  xdp_umem_reg memory{};
  memory.addr = reinterpret_cast<std::uint64_t>(memory_);
  memory.len = bytes;
  memory.chunk_size = 4096;
  holds_ = ::setsockopt(fd_.get(), SOL_XDP, XDP_UMEM_REG, &memory, sizeof memory) == 0;
  for (const int ring : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING}) {
    const int entries = 64;
    holds_ = holds_ && ::setsockopt(fd_.get(), SOL_XDP, ring, &entries, sizeof entries) == 0;
  }
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_flags = XDP_COPY;
  address.sxdp_ifindex = ::if_nametoindex(interface.c_str());
  holds_ =
      holds_ && ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

QueueHolder::~QueueHolder() {
  fd_.close();
  ::munmap(memory_, bytes);
}

void leave_socket_behind(const std::string& path) {
  const net::FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  std::ignore = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

bool attach_xdp_program(const std::string& interface, std::uint32_t mode) {
  const bpf_insn answer{.code = BPF_ALU64 | BPF_MOV | BPF_K,
                        .dst_reg = BPF_REG_0,
                        .src_reg = 0,
                        .off = 0,
                        .imm = XDP_PASS};
  bpf_insn end{};
  end.code = BPF_JMP | BPF_EXIT;
  const std::array<bpf_insn, 2> program{answer, end};
  const net::FileDescriptor fd(
      bpf_prog_load(BPF_PROG_TYPE_XDP, "passes", "GPL", program.data(), program.size(), nullptr));
  return fd && bpf_xdp_attach(static_cast<int>(::if_nametoindex(interface.c_str())), fd.get(), mode,
                              nullptr) == 0;
}

std::uint32_t xdp_program_on(const std::string& interface) {
  std::uint32_t id = 0;
  bpf_xdp_query_id(static_cast<int>(::if_nametoindex(interface.c_str())), 0, &id);
  return id;
}

std::string link_flags(const std::string& interface) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      ::popen(fmt::format("ip -d link show {} 2>/dev/null", interface).c_str(), "r"), &::pclose);
  std::string text;
  char buffer[256];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) {
    text += buffer;
  }
  // The queueing discipline of an interface that was never up has another name.
  const auto qdisc = text.find(" qdisc ");
  return qdisc == std::string::npos ? text : text.erase(qdisc, text.find(' ', qdisc + 7) - qdisc);
}

} // namespace tributary::port::test
