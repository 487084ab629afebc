// What to generate, as plain data. scenario/file.hpp reads it from TOML, command_line.hpp
// from options; both go through the same key tables, so they cannot differ.
#pragma once

#include "dataplane/config/config.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::pktgen::scenario {

enum class Kind : std::uint8_t { reduce, multicast, unicast, rdma, replay, mixed };

/// When the leaves of one reduction begin, measured from its intended start.
enum class Skew : std::uint8_t {
  none,
  uniform,     ///< each between 0 and `skew`
  exponential, ///< each with mean `skew`
  straggler,   ///< all at the same time but one, another one each time, `skew` later
};

/// Which virtual hosts of this worker's process take part.
enum class Role : std::uint8_t { both, root, leaves };

/// Shares of all contributions, 0 to 1, that are tampered with. Results stay right all the same,
/// but for `wrong_opcode`, whose reductions must end as op_mismatch.
struct Tampering {
  double absent = 0;       ///< not sent: the root has to ask again
  double late = 0;         ///< sent `late_by` after they were due
  double wrong_cookie = 0; ///< besides the right one, another with a cookie of no group
  double wrong_vni = 0;    ///< besides the right one, another with another VNI
  double stale = 0;        ///< besides the right one, another with the sequence before
  double wrong_opcode = 0; ///< with another operator than the others'
  std::chrono::nanoseconds late_by{std::chrono::milliseconds(50)};
  [[nodiscard]] bool any() const {
    return absent > 0 || late > 0 || wrong_cookie > 0 || wrong_vni > 0 || stale > 0 ||
           wrong_opcode > 0;
  }
};

/// reduce_frames.hpp resolves values that are 0 (the default).
struct Reduce {
  std::uint32_t leaves = 16; ///< beside the root, in each tree: the same hosts in all trees
  std::uint32_t trees = 1;
  std::uint32_t first_tree = 0;
  /// Operations at a time in each tree; 0: as many as fill the slots.
  std::uint32_t in_flight = 0;
  /// Gone through in turn; tributary-host's names, e.g. "sum-int64".
  std::vector<std::string> operators = {"sum-int64"};
  /// In place of `operators`: the type of the elements, e.g. "float32", and the operation.
  std::string type;
  std::string operation = "sum";
  /// Elements of the vector that one operation reduces.
  std::uint64_t elements = 4;
  /// Longest payload of a frame in bytes; 0: 32, or 1,408 with a type.
  std::uint32_t payload = 0;
  /// Reductions in flight of a tree: frames of one operation or of several. 0: 8; with wide frames
  /// up to 128, fewer for many leaves.
  std::uint32_t slots = 0;
  bool armed = true;
  /// Operations a second over all trees; 0: closed loop, each begins when the previous one is
  /// complete.
  double rate = 0;
  Skew skew = Skew::none;
  std::chrono::nanoseconds skew_by{0};
  Tampering tampering;
  Role role = Role::both;
  std::uint16_t vni = 1;
  std::uint32_t cookie = 0x7EED5EED;
  /// The root's first wait before it asks again; 0: 32 ms, or longer with many frames in flight.
  std::chrono::nanoseconds retry{0};
};

/// Who sends to whom. Nodes are numbered from 0; `n` is their number.
enum class Pattern : std::uint8_t {
  fixed,          ///< all to node `target`
  random,         ///< each frame to another one, drawn for each
  hotspot,        ///< `hot_share` of the frames to node `target`, the rest drawn
  permutation,    ///< to one other each, drawn once
  bit_complement, ///< i to ~i
  transpose,      ///< the halves of i's bits exchanged
  all_to_all,     ///< to all others in turn
};

/// multicast and unicast
struct Stream {
  Pattern pattern = Pattern::random;
  std::uint32_t nodes = 0; ///< virtual hosts, dealt over the ports; 0: one for each port
  std::uint32_t target = 0;
  double hot_share = 0.5;
  /// Ethernet frames with their FCS, as test specifications count: 64 is the shortest. Gone through
  /// in turn; 0 stands for IMIX (seven of 64, four of 594, one of 1518).
  std::vector<std::uint32_t> sizes = {98};
  double packets_per_second =
      0;                      ///< over all ports; 0 with `bits_per_second` 0: as fast as possible
  double bits_per_second = 0; ///< on the wire: preamble, FCS and gap count
  std::uint16_t vni = 1;
  // multicast
  std::uint32_t trees = 1;
  std::uint32_t first_tree = 0;
  bool shared = false;    ///< senders are leaves of shared trees
  Role role = Role::both; ///< who is here: the senders (`root`), the receivers (`leaves`) or both
};

/// Which way frames of a capture went, seen from where they were captured.
enum class Direction : std::uint8_t { outbound, inbound, both };

struct Replay {
  std::string file;
  /// Direction of the frames that are replayed, where the capture records it.
  Direction direction = Direction::outbound;
  double speed = 1;                ///< of the capture's own; 0: as fast as possible
  std::uint64_t loops = 1;         ///< 0: until the time is over
  std::uint32_t longest_frame = 0; ///< of the file, FCS not counted; prepare() sets it
};

/// Transfers between the memory of virtual hosts.
struct Rdma {
  Pattern pattern = Pattern::random;
  std::uint32_t nodes = 0; ///< virtual hosts, dealt over the ports; 0: one for each port
  std::uint32_t target = 0;
  double hot_share = 0.5;
  std::uint32_t in_flight = 8; ///< transfers of each host at a time
  /// Bytes of a transfer, gone through in turn.
  std::vector<std::uint64_t> sizes = {262'144};
  double read_share = 0.5; ///< of the transfers; the others are writes
  std::uint32_t window = 1024;
  std::uint32_t credit = 4096; ///< frames on their way to a host; 0: as many as its windows hold
  std::uint32_t mtu = 1500;
  bool spraying = false;
  std::uint16_t vni = 1;
  // One end only.
  bool serve = false;        ///< begins nothing, and answers
  std::uint32_t to = 0;      ///< the NID of the host that serves; 0: both ends are here
  std::uint32_t clients = 1; ///< hosts with room for their writes, where it serves

  /// Whether the other end is in another process.
  [[nodiscard]] bool is_one_end() const { return serve || to != 0; }
};

/// One of several concurrent traffics.
struct Part {
  Kind kind = Kind::reduce;
  double share = 1; ///< of all frames sent, in proportion to the other parts'
  Reduce reduce;
  Stream stream;
  Replay replay;
  Rdma rdma;
};

/// What a port of the generator is.
struct PortSpec {
  /// A raw socket on `device.interface`; otherwise a DPDK port of `device.kind`.
  bool raw = true;
  config::Port device;
  /// Queue pairs of the port, each with a receive and a transmit queue, and a worker.
  std::uint16_t queues = 1;
};

/// A switch in this process, joined to the generator by rings.
struct Hosted {
  std::uint32_t ports = 2;
  std::uint32_t workers = 1;
  std::vector<unsigned> cores;
  std::uint32_t descriptors_per_engine = 0; ///< 0: as many as the scenario has in flight
  bool busy = true;
};

struct Search {
  bool wanted = false;
  double loss = 0;         ///< the highest share of frames that may be lost
  double precision = 0.01; ///< of the rate, where the search ends
  std::uint32_t tries = 3; ///< at each rate; most of them have to pass
};

struct Phases {
  std::chrono::nanoseconds warmup{std::chrono::milliseconds(500)};
  std::chrono::nanoseconds duration{std::chrono::seconds(5)};
  /// 0: as long as `duration`. Otherwise a measurement begins this many operations (reductions,
  /// frames of a stream) and ends when they are done.
  std::uint64_t operations = 0;
  double max_loss = 1; ///< the share that may be lost in a measurement; above it the run has failed
  std::uint32_t repeats = 1;
  /// Longest wait for outstanding answers at the end, and for the first one at the start.
  std::chrono::nanoseconds timeout{std::chrono::seconds(2)};
  bool calibrate = true;
};

struct Output {
  bool json = false;        ///< the report is JSON
  std::string report = "-"; ///< file for it; "-" is standard output
  std::optional<std::string> csv;
  std::optional<std::string> plot;
  std::optional<std::string> pcap;
  bool watch = false;
  bool quiet = false;
};

struct Scenario {
  std::string name; ///< of the file, or the kind
  Part traffic;
  std::vector<Part> parts;     ///< of a mixed scenario
  std::vector<PortSpec> ports; ///< the first is the root's
  std::optional<Hosted> hosted;
  std::uint32_t first_nid = 0x10000; ///< of the first virtual host; the others follow
  std::uint16_t ethertype = wire::default_ethertype;
  std::vector<unsigned> cores; ///< of the generator, a worker each; empty: one, not pinned
  bool busy = false;           ///< poll without ever sleeping
  std::string switch_socket;   ///< control socket of the switch under test, to ask it for its drops
  std::uint64_t seed = 0;      ///< never 0 once a run begins
  Phases phases;
  Search search;
  Output output;
};

/// Whether another generator has the other role of its one traffic.
[[nodiscard]] inline bool is_shared(const Scenario& scenario) {
  const Part& part = scenario.traffic;
  return (part.kind == Kind::reduce && part.reduce.role != Role::both) ||
         ((part.kind == Kind::unicast || part.kind == Kind::multicast) &&
          part.stream.role != Role::both) ||
         (part.kind == Kind::rdma && part.rdma.is_one_end());
}

} // namespace tributary::pktgen::scenario
