#include "lib/link/receive_filter.hpp"

#include "lib/link/link_error.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"

#include <cerrno>
#include <cstddef>
#include <utility>

#include <sys/socket.h>

namespace tributary::link {

namespace {

constexpr std::uint32_t everything = 0xFFFF'FFFF;
/// In the Ethernet header, wherever the frame begins for the socket.
constexpr std::uint32_t ethertype_offset = static_cast<std::uint32_t>(SKF_LL_OFF) + 12;

/// Collects instructions whose jumps go on, or to one of the two ends, which come last.
class Program {
public:
  enum class To : std::uint8_t { next, pass, drop };

  void load(std::uint16_t size, std::uint32_t offset) {
    add(BPF_STMT(static_cast<std::uint16_t>(BPF_LD | BPF_ABS | size), offset));
  }
  void load_length() { add(BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0)); }
  void mask(std::uint32_t bits) { add(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)); }
  void jump(std::uint16_t comparison, std::uint32_t value, To if_true, To if_false) {
    add(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | BPF_K | comparison), value, 0, 0));
    jumps_.push_back({instructions_.size() - 1, if_true, if_false});
  }
  void require(std::uint32_t value) { jump(BPF_JEQ, value, To::next, To::drop); }

  std::vector<sock_filter> finish() && {
    const std::size_t drop = instructions_.size();
    add(BPF_STMT(BPF_RET | BPF_K, 0));
    add(BPF_STMT(BPF_RET | BPF_K, everything));
    for (const Jump& each : jumps_) {
      const auto distance = [&](To to) {
        return static_cast<std::uint8_t>(
            to == To::next ? 0 : drop + (to == To::pass ? 1 : 0) - each.instruction - 1);
      };
      instructions_[each.instruction].jt = distance(each.if_true);
      instructions_[each.instruction].jf = distance(each.if_false);
    }
    return std::move(instructions_);
  }

private:
  struct Jump {
    std::size_t instruction;
    To if_true;
    To if_false;
  };
  void add(const sock_filter& instruction) { instructions_.push_back(instruction); }

  std::vector<sock_filter> instructions_;
  std::vector<Jump> jumps_;
};

template <typename T> bool set_option(int socket, int option, const T& value) {
  return ::setsockopt(socket, SOL_SOCKET, option, &value, sizeof value) == 0;
}

} // namespace

std::vector<sock_filter> filter_program(const Received& received) {
  using To = Program::To;
  const To otherwise = received.fabric_frames_only ? To::drop : To::pass;
  // Counted from where the frame begins for the socket: relative to the Ethernet header, fields
  // beyond a long frame's first piece would not be found.
  const std::size_t header = received.header_of_kernel ? 0 : wire::ethernet_header_bytes;
  const auto at_fabric = [&](std::size_t offset) {
    return static_cast<std::uint32_t>(header + offset);
  };
  Program program;
  // The interface and the type, too, where they matter: a program may bind the socket it is given
  // to another interface, and to every EtherType.
  if (received.interface_index) {
    program.load(BPF_W, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_IFINDEX));
    program.require(*received.interface_index);
  }
  if (received.ethertype) {
    program.load(BPF_H, ethertype_offset);
    program.require(*received.ethertype);
  }
  program.load_length();
  program.jump(BPF_JGE, at_fabric(wire::fabric_header_bytes), To::next, otherwise);
  // The first byte of a fabric header; hellos have another one.
  program.load(BPF_B, at_fabric(wire::portals_offset::version_ihl));
  program.jump(BPF_JEQ, wire::portals_version_ihl, To::next, otherwise);
  if (received.vni) {
    program.load(BPF_H, at_fabric(wire::portals_offset::vni));
    program.require(received.vni->value);
  }
  program.load(BPF_W, at_fabric(wire::portals_offset::dfa));
  program.jump(BPF_JGE,
               wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{0}).value &
                   ~((1U << 23U) - 1),
               To::pass, To::next);
  program.mask(end_points_per_host - 1U);
  program.jump(BPF_JEQ, received.end_point, To::pass, To::drop);
  return std::move(program).finish();
}

void attach_receive_filter(int socket, const Received& received, bool locks,
                           const std::string& interface) {
  std::vector<sock_filter> program = filter_program(received);
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                          .filter = program.data()};
  if (!set_option(socket, SO_ATTACH_FILTER, filter)) {
    throw link_error(errno, interface, "attaching the filter");
  }
  if (locks && !set_option(socket, SO_LOCK_FILTER, 1)) {
    throw link_error(errno, interface, "locking the filter");
  }
}

} // namespace tributary::link
