// bench-frames: processor time of a frame on a host that sends and receives through AF_PACKET, 32
// at a time with sendmmsg and recvmmsg, over a pair of virtual interfaces.
//
// One thread does both in turns: it sends 32 frames out of the first interface, which the kernel
// delivers to the second within the call, and takes them there. Figures are nanoseconds of the
// thread's processor time a frame, the median of the rounds; so other load on the machine matters
// little. The costs of the simulator (tools/simulator/allreduce/costs.cpp) are measured here: two
// lengths give the cost per frame and per byte.
#include <linux/if_packet.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t batch = 32;
constexpr std::size_t rounds = 2000;
constexpr std::uint16_t ethertype = 0x88B5; // for experiments
constexpr std::size_t headers = 62;

struct Costs {
  double send_ns = 0;
  double receive_ns = 0;
};

int open_socket(const char* interface) {
  const int fd = ::socket(AF_PACKET, SOCK_RAW, htons(ethertype));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ethertype);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface));
  const int room = 8 << 20;
  const int bypass = 1; // no queueing discipline, as link/raw_port has it
  if (fd < 0 || address.sll_ifindex == 0 ||
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof bypass) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0) {
    throw std::runtime_error(std::string(interface) + ": " + std::strerror(errno) +
                             "; it needs root, and an interface that is up");
  }
  return fd;
}

double processor_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Costs measure(int from, int to, std::size_t bytes) {
  std::vector<std::vector<char>> buffers(batch, std::vector<char>(bytes));
  std::array<iovec, batch> parts{};
  std::array<mmsghdr, batch> messages{};
  for (std::size_t i = 0; i < batch; ++i) {
    std::memset(buffers[i].data(), 0xFF, 6); // broadcast
    const std::uint16_t type = htons(ethertype);
    std::memcpy(buffers[i].data() + 12, &type, sizeof type);
    parts[i] = {buffers[i].data(), bytes};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  std::vector<double> sending;
  std::vector<double> receiving;
  for (std::size_t round = 0; round < rounds; ++round) {
    const double begin = processor_ns();
    const int sent = ::sendmmsg(from, messages.data(), batch, 0);
    const double between = processor_ns();
    const int received = ::recvmmsg(to, messages.data(), batch, MSG_DONTWAIT, nullptr);
    const double end = processor_ns();
    if (sent != batch || received != batch) {
      throw std::runtime_error("of " + std::to_string(batch) + " frames of " +
                               std::to_string(bytes) + " bytes " + std::to_string(sent) +
                               " were sent and " + std::to_string(received) +
                               " received: are both interfaces up, and their MTU large enough?");
    }
    sending.push_back((between - begin) / batch);
    receiving.push_back((end - between) / batch);
  }
  return {median(sending), median(receiving)};
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs(
        "usage: bench-frames INTERFACE PEER\n\n"
        "example, as root, in namespaces of its own:\n"
        "  unshare -n sh -c 'ip link add left mtu 9000 type veth peer name right mtu 9000;\n"
        "    ip link set left up; ip link set right up; build/bench/bench-frames left right'\n",
        stderr);
    return 2;
  }
  try {
    const int from = open_socket(argv[1]);
    const int to = open_socket(argv[2]);
    std::puts("payload  sent ns  received ns");
    std::vector<Costs> all;
    for (const std::size_t payload : {32U, 1408U, 8192U}) {
      all.push_back(measure(from, to, headers + payload));
      std::printf("%7zu %8.0f %12.0f\n", payload, all.back().send_ns, all.back().receive_ns);
    }
    const double bytes = 8192 - 1408;
    const double send_byte = (all[2].send_ns - all[1].send_ns) / bytes;
    const double receive_byte = (all[2].receive_ns - all[1].receive_ns) / bytes;
    std::printf("send_frame %.0f ns, send_byte %.4f ns, receive_frame %.0f ns, receive_byte %.4f "
                "ns\n",
                all[1].send_ns - 1408 * send_byte, send_byte,
                all[1].receive_ns - 1408 * receive_byte, receive_byte);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "bench-frames: %s\n", problem.what());
    return 1;
  }
  return 0;
}
