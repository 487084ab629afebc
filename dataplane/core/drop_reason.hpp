// Why a frame was dropped. Every drop has one of these names and a counter. The text of each reason
// is what `tributaryctl explain` prints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::core {

// clang-format off
#define TRIBUTARY_DROP_REASONS(X)                                                                  \
  X(runt,               "shorter than an Ethernet and a fabric header")                            \
  X(too_long,           "longer than the process's longest_frame")                                 \
  X(foreign_ethertype,  "the EtherType is not the one configured for the port")                    \
  X(link_local,         "a foreign frame to an address that no bridge forwards (01-80-C2-00-00-00 to 0F)") \
  X(bad_version,        "the fabric header does not begin with version 4, 20 bytes (0x45)")        \
  X(bad_hello,          "a hello of another version, or with a wrong checksum or field")            \
  X(link_hello_from_host, "a link hello, as switches send them, at a port whose source guard says that a host is there") \
  X(bad_length,         "the total length is not one the frame kind and its tree allow, or is longer than the frame") \
  X(truncated,          "a reduction frame of fewer than 94 bytes, or a wide one without all of its payload") \
  X(bad_checksum,       "the checksum of the fabric header is wrong")                              \
  X(bad_action,         "a multicast address whose action is neither 7 nor 6")                     \
  X(bad_request,        "a frame on a reduction tree whose request length is not 49, or not that of its vector") \
  X(bad_form,           "a wide reduction frame without a form of 1 to 7")                         \
  X(bad_reduction_id,   "a reduction frame with an id that its tree does not have")                \
  X(source_guard,       "the source address is not the NID configured for this edge port")         \
  X(vni_not_permitted,  "the VNI is not on this port's permission list")                           \
  X(unknown_tree,       "no tree of this number is installed")                                     \
  X(not_on_tree,        "the tree is installed, but this port is neither its parent nor a child")  \
  X(arm_from_child,     "an arm that did not come from the tree's parent port")                    \
  X(not_shared,         "a multicast from any member on a tree that is not shared here: it never is, or its ports are changing") \
  X(not_from_parent,    "an ordinary multicast that did not come from the tree's parent port")     \
  X(stale_sequence,     "a contribution to a sequence older than the armed one")                   \
  X(counted_twice,      "a contribution of an endpoint that has contributed to this reduction already")     \
  X(counts_others,      "one endpoint lies behind this child port, and the frame counts more")           \
  X(not_opened,         "one endpoint lies behind this child port, and no frame from the parent has opened the sequence that it contributes to") \
  X(result_from_child,  "a frame that counts nothing and requests nothing, from a child port: results come from the parent port alone") \
  X(not_in_switch,      "a contribution of the root to a reduction that is not armed where its tree has in-switch results, or of a reserved opcode") \
  X(foreign_cookie,     "VNI or cookie differ from the armed ones, and the switch is set to drop such frames") \
  X(no_route,           "no route leads to this unicast address, or all its ports are down")       \
  X(dest_dead,          "the last link to the switch of this address is down")           \
  X(no_vc,              "the route needs a higher virtual channel than exists, or than the port carries") \
  X(route_to_ingress,   "the route leads back out of the port the frame came in on")               \
  X(port_down,          "the output port is down or away, or went down while the frame waited")    \
  X(queue_full,         "the queue of its class at the output port is full")                       \
  X(trimmed_full,       "RDMA data that was cut to its headers, and the queue of such frames is full, too") \
  X(headroom_full,      "its class is paused at the port it came in by, and the headroom for what was on its way is used up") \
  X(paused_too_long,    "the neighbour has paused its class for longer than the watchdog's limit") \
  X(bad_pause,          "a MAC control frame that is cut short, or is not a pause frame")             \
  X(bad_tag,            "a frame that ends within its 802.1Q tag")                                 \
  X(foreign_vlan,       "the VLAN id of its 802.1Q tag is not the link's")                         \
  X(handoff_full,       "the ring to the worker that owns the engine or the output port is full")  \
  X(delivery_full,      "the queue to the switch's agent is full, or is not read")             \
  X(no_buffer,          "no buffer was free to copy or to emit a frame into")                      \
  X(impaired,           "the port's impairment lost it: tributaryctl impair show says in which way")
// clang-format on

enum class DropReason : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_DROP_REASONS(TRIBUTARY_X)
#undef TRIBUTARY_X
};

inline constexpr std::size_t drop_reason_count = 0
#define TRIBUTARY_X(name, text) +1
    TRIBUTARY_DROP_REASONS(TRIBUTARY_X)
#undef TRIBUTARY_X
    ;

/// The counter's name, e.g. "stale_sequence".
constexpr std::string_view name_of(DropReason r) {
  constexpr std::array<std::string_view, drop_reason_count> names = {
#define TRIBUTARY_X(name, text) #name,
      TRIBUTARY_DROP_REASONS(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  return names[static_cast<std::size_t>(r)];
}

/// One sentence for an operator.
constexpr std::string_view description_of(DropReason r) {
  constexpr std::array<std::string_view, drop_reason_count> texts = {
#define TRIBUTARY_X(name, text) text,
      TRIBUTARY_DROP_REASONS(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  return texts[static_cast<std::size_t>(r)];
}

} // namespace tributary::core
