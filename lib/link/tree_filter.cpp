#include "lib/link/tree_filter.hpp"

#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"

#include <linux/filter.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::link {
namespace {

constexpr std::uint32_t everything = 0xFFFF'FFFF;
constexpr std::size_t most_trees = 2000;
constexpr std::size_t instructions_per_tree = 2;

/// Offset in the fabric header, independent of what the kernel considers the header.
constexpr std::uint32_t at(std::size_t offset) {
  return static_cast<std::uint32_t>(SKF_LL_OFF) +
         static_cast<std::uint32_t>(wire::ethernet_header_bytes + offset);
}

/// The constant part: ends with the tree's number in the accumulator.
constexpr std::array<sock_filter, 14> to_the_tree() {
  constexpr std::uint32_t shortest = wire::ethernet_header_bytes + wire::fabric_header_bytes;
  constexpr std::uint32_t multicast =
      wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{0}).value; // format and action
  constexpr std::uint32_t tree_bits = max_trees - 1;
  return {{
      BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, shortest, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, everything),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at(wire::portals_offset::version_ihl)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire::portals_version_ihl, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, everything),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at(wire::portals_offset::dfa)),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, multicast),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, multicast, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, everything), // another format
      BPF_STMT(BPF_MISC | BPF_TXA, 0),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 3),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, tree_bits),
  }};
}

} // namespace

void pass_only_trees(int socket, std::span<const TreeNumber> trees) noexcept {
  constexpr auto begin = to_the_tree();
  std::array<sock_filter, begin.size() + instructions_per_tree * most_trees + 1> program{};
  const auto let_everything_pass = [socket] {
    const int unused = 0;
    ::setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
  };
  if (trees.size() > most_trees) {
    let_everything_pass();
    return;
  }
  std::size_t length = 0;
  for (const sock_filter& instruction : begin) {
    program[length++] = instruction;
  }
  for (const TreeNumber tree : trees) {
    program[length++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, tree.value, 0, 1);
    program[length++] = BPF_STMT(BPF_RET | BPF_K, everything);
  }
  program[length++] = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog filter{.len = static_cast<unsigned short>(length), .filter = program.data()};
  if (::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) {
    let_everything_pass();
  }
}

} // namespace tributary::link
