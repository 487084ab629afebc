#include "endpoint/hostd/receive_filter.hpp"

#include "lib/link/link_error.hpp"
#include "lib/link/tree_map.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include <linux/bpf.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tributary::hostd {

namespace {

using net::FileDescriptor;

constexpr std::size_t ethertype_offset = 12;
constexpr std::size_t shortest = wire::ethernet_header_bytes + wire::fabric_header_bytes;
constexpr std::uint32_t everything = 0xFFFF'FFFF;

/// Offset in the frame, independent of what the kernel considers the header.
constexpr std::uint32_t at(std::size_t offset) {
  return static_cast<std::uint32_t>(SKF_LL_OFF) + static_cast<std::uint32_t>(offset);
}

/// Offset in the fabric header.
constexpr std::uint32_t at_fabric(std::size_t offset) {
  return at(wire::ethernet_header_bytes + offset);
}

/// Everything is checked in the frame, and the interface too: the program may bind the socket to
/// another one, and to every EtherType.
std::array<sock_filter, 12> classic(const Received& received) {
  constexpr auto index = static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_IFINDEX);
  return {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, index),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, received.interface_index, 0, 8),
      BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, shortest, 0, 6),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at(ethertype_offset)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, received.ethertype, 0, 4),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at_fabric(wire::portals_offset::vni)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, received.vni.value, 0, 2),
      // The first byte of a fabric header; hellos have another one.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at_fabric(wire::portals_offset::version_ihl)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire::portals_version_ihl, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, everything),
  }};
}

// The same as a program that looks into a map.

constexpr bpf_insn insn(int code, int to, int from, int offset, std::int64_t value) {
  bpf_insn one{};
  one.code = static_cast<std::uint8_t>(code);
  one.dst_reg = static_cast<std::uint8_t>(to) & 0xFU;
  one.src_reg = static_cast<std::uint8_t>(from) & 0xFU;
  one.off = static_cast<std::int16_t>(offset);
  one.imm = static_cast<std::int32_t>(value);
  return one;
}
constexpr bpf_insn load_context(int to, std::size_t offset) {
  return insn(BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_6, static_cast<int>(offset), 0);
}
constexpr bpf_insn load_frame(int size, std::uint32_t offset) {
  return insn(BPF_LD | BPF_ABS | size, 0, 0, 0, static_cast<std::int32_t>(offset));
}
constexpr bpf_insn with_number(int operation, int to, std::uint32_t value) {
  return insn(BPF_ALU | BPF_K | operation, to, 0, 0, value);
}
constexpr bpf_insn with_register(int operation, int to, int from) {
  return insn(BPF_ALU64 | BPF_X | operation, to, from, 0, 0);
}
/// Jumps of 32 bits, so that the upper half of a register, and of a sign, do not count.
constexpr bpf_insn jump(int condition, std::uint32_t value, int offset) {
  return insn(BPF_JMP32 | BPF_K | condition, BPF_REG_0, 0, offset, value);
}

constexpr std::size_t program_length = 36;

std::array<bpf_insn, program_length> with_map(const Received& received, int map) {
  constexpr std::uint32_t multicast =
      wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{0}).value; // format and action
  constexpr int drop = program_length - 2;                                 // the place of each end
  constexpr int pass = program_length - 4;
  constexpr auto to = [](int place, int from) { return place - from - 1; };
  constexpr unsigned shift_of_tree = 3;
  constexpr unsigned shift_of_word = 6;
  static_assert(link::TreeMap::bits_per_word == 1U << shift_of_word);
  return {{
      insn(BPF_ALU64 | BPF_X | BPF_MOV, BPF_REG_6, BPF_REG_1, 0, 0),
      load_context(BPF_REG_0, offsetof(__sk_buff, ifindex)),
      jump(BPF_JNE, received.interface_index, to(drop, 2)),
      load_context(BPF_REG_0, offsetof(__sk_buff, len)),
      jump(BPF_JLT, shortest, to(drop, 4)),
      load_frame(BPF_H, at(ethertype_offset)),
      jump(BPF_JNE, received.ethertype, to(drop, 6)),
      load_frame(BPF_H, at_fabric(wire::portals_offset::vni)),
      jump(BPF_JNE, received.vni.value, to(drop, 8)),
      load_frame(BPF_B, at_fabric(wire::portals_offset::version_ihl)),
      jump(BPF_JNE, wire::portals_version_ihl, to(drop, 10)),
      load_frame(BPF_W, at_fabric(wire::portals_offset::dfa)),
      with_register(BPF_MOV, BPF_REG_7, BPF_REG_0),
      with_number(BPF_AND, BPF_REG_0, multicast),
      jump(BPF_JNE, multicast, to(pass, 14)), // another format
      with_number(BPF_RSH, BPF_REG_7, shift_of_tree),
      with_number(BPF_AND, BPF_REG_7, max_trees - 1),
      with_register(BPF_MOV, BPF_REG_8, BPF_REG_7),
      with_number(BPF_RSH, BPF_REG_8, shift_of_word),
      insn(BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_8, -4, 0),
      insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
      insn(0, 0, 0, 0, 0), // the upper half of the number before it
      with_register(BPF_MOV, BPF_REG_2, BPF_REG_10),
      insn(BPF_ALU64 | BPF_K | BPF_ADD, BPF_REG_2, 0, 0, -4),
      insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
      insn(BPF_JMP | BPF_K | BPF_JEQ, BPF_REG_0, 0, to(pass, 25), 0),
      insn(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_0, 0, 0),
      with_number(BPF_AND, BPF_REG_7, link::TreeMap::bits_per_word - 1),
      with_register(BPF_RSH, BPF_REG_0, BPF_REG_7),
      with_number(BPF_AND, BPF_REG_0, 1),
      jump(BPF_JNE, 0, to(drop, 30)),
      insn(BPF_JMP | BPF_JA, 0, 0, to(pass, 31), 0),
      with_number(BPF_MOV, BPF_REG_0, everything), // pass
      insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
      with_number(BPF_MOV, BPF_REG_0, 0), // drop
      insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  }};
}

int ask_bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

FileDescriptor new_map() {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = sizeof(std::uint32_t);
  attributes.value_size = sizeof(std::uint64_t);
  attributes.max_entries = link::TreeMap::words;
  attributes.map_flags = BPF_F_MMAPABLE;
  return FileDescriptor(ask_bpf(BPF_MAP_CREATE, attributes));
}

FileDescriptor new_program(std::span<const bpf_insn> instructions) {
  static constexpr char licence[] = "";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  attributes.insn_cnt = static_cast<std::uint32_t>(instructions.size());
  attributes.insns = reinterpret_cast<std::uintptr_t>(instructions.data());
  attributes.license = reinterpret_cast<std::uintptr_t>(licence);
  return FileDescriptor(ask_bpf(BPF_PROG_LOAD, attributes));
}

template <typename T> bool set_option(int socket, int option, const T& value) {
  return ::setsockopt(socket, SOL_SOCKET, option, &value, sizeof value) == 0;
}

/// The map, if the kernel takes the program.
FileDescriptor attach_with_map(int socket, const Received& received) {
  FileDescriptor map = new_map();
  if (!map) {
    return {};
  }
  const FileDescriptor program = new_program(with_map(received, map.get()));
  return program && set_option(socket, SO_ATTACH_BPF, program.get()) ? std::move(map)
                                                                     : FileDescriptor();
}

} // namespace

FileDescriptor attach_receive_filter(int socket, const Received& received,
                                     const std::string& interface) {
  FileDescriptor map = attach_with_map(socket, received);
  if (!map) {
    auto program = classic(received);
    const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                            .filter = program.data()};
    if (!set_option(socket, SO_ATTACH_FILTER, filter)) {
      throw link::link_error(errno, interface, "attaching the filter");
    }
  }
  if (!set_option(socket, SO_LOCK_FILTER, 1)) {
    throw link::link_error(errno, interface, "locking the filter");
  }
  return map;
}

} // namespace tributary::hostd
