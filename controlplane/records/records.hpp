// What survives a restart: plain records, and the changes that lead from one state to the next.
//
// A change puts one record whole, in the place of the one with the same key, or erases one key. So
// changes may be applied twice, and of two changes of one key only the later matters. The group
// room produces them and starts again from a Snapshot; the store keeps them.
//
// Nothing here depends on a graph's numbers: switches and ports are named, so that a tree can be
// found again whatever order switches come in.
#pragma once

#include "controlplane/records/wide_frames.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tributary::records {

/// Never given out twice, not even after a restart.
using GroupId = Strong<struct GroupIdTag, std::uint64_t>;

/// Of a group; docs/protocol/groups.md.
enum class GroupState : std::uint8_t {
  receiving_join_req,
  computing_routes,
  ready,
  receiving_leave_req,
  destroying,
  gone, ///< never stored: nothing is left of it
};
/// "receiving_join_req"
[[nodiscard]] std::string_view name_of(GroupState state);
[[nodiscard]] std::optional<GroupState> group_state_named(std::string_view name);

enum class MemberState : std::uint8_t {
  joined,
  left,
  expired, ///< its lease ran out
};
[[nodiscard]] std::string_view name_of(MemberState state);
[[nodiscard]] std::optional<MemberState> member_state_named(std::string_view name);

/// What a launcher was given for a job before its ranks started, beside what the job itself has.
struct Allocation {
  struct Node {
    std::string name;
    std::optional<Nid> nid; ///< its host in the fabric, where it is one
    /// The switch's port of the host is set up for the job: whoever named the node may have that.
    bool sets_up_port = false;
    friend bool operator==(const Node&, const Node&) = default;
  };
  static constexpr std::size_t cookie_digits = 32;
  std::string cookie;      ///< hexadecimal
  std::vector<Node> nodes; ///< at least one; by name, each once
  /// The job was made by it, and has no other purpose.
  bool has_made_job = false;
  /// How long its launcher may say nothing before it counts as over; 0: for ever.
  std::uint32_t lease_ms = 0;
  /// Restarts of the manager since the launcher was heard.
  std::uint32_t restarts_unheard = 0;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};
[[nodiscard]] bool has_node(const Allocation& allocation, std::string_view name);

/// Key: `id`.
struct JobRecord {
  std::string id;
  std::uint32_t multicast_limit = 0; ///< groups at a time
  std::string token;                 ///< the session token, 64 hexadecimal digits
  std::optional<Vni> vni;            ///< given out to this job with its first group
  bool ending = false;               ///< deleted, and gone once its groups are
  /// What it is limited to, each list ascending and without repetition; nothing: any.
  std::optional<std::vector<Nid>> hosts = std::nullopt;
  std::optional<std::vector<Vni>> vnis = std::nullopt;
  std::optional<Allocation> allocation = std::nullopt;
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

/// Whether a group's tree is turned round (docs/protocol/turn-around.md).
struct TurnAround {
  /// Whether somebody has asked for it, or refused; nothing: as the manager's file says.
  std::optional<bool> wanted = std::nullopt;
  /// The switch next to the root adds and sends results to all: known with the first routes, and
  /// the same as long as the group lives.
  bool agreed = false;
  std::string note{}; ///< why not
  friend bool operator==(const TurnAround&, const TurnAround&) = default;
};

/// Key: `id`.
struct GroupRecord {
  GroupId id;
  std::string job;
  std::string name;       ///< unique in the job
  std::string step;       ///< of the job, for multicasts
  bool multicast = false; ///< made whole through the Slingshot-shaped contract: no leases
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> wanted_root;
  std::optional<std::uint32_t> root; ///< its rank, from computing_routes on
  Vni vni;
  Cookie cookie;                ///< 0 until routes are there
  std::uint64_t timeout_us = 0; ///< of one collective, as asked for; 0: default
  GroupState state = GroupState::receiving_join_req;
  /// The most of wide frames that it was asked to have; what it has, with trees; and why not more.
  WideFrames wanted_frames{
      .slots = WideFrames::most_slots, .payload = WideFrames::most_payload, .half_floats = true};
  WideFrames frames{};
  std::string frames_note{};
  TurnAround turn{};
  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

/// Key: `group` and `rank`.
struct MemberRecord {
  GroupId group;
  std::uint32_t rank = 0;
  Nid nid;
  std::string host; ///< its name, "" when not said
  MemberState state = MemberState::joined;
  WideFrames takes{};      ///< what its host can have of wide frames
  bool knows_turn = false; ///< its host knows trees that are turned round
  friend bool operator==(const MemberRecord&, const MemberRecord&) = default;
};

/// A port by the name of its switch.
struct NamedPort {
  std::string at;
  std::uint16_t port = 0;
  friend bool operator==(const NamedPort&, const NamedPort&) = default;
};

/// A multicast tree whatever the numbers of the graph: multicast::Tree with names.
struct TreeForm {
  struct Link {
    NamedPort a;
    NamedPort b;
    friend bool operator==(const Link&, const Link&) = default;
  };
  /// What is installed in one switch: multicast::TreePart with names.
  struct Part {
    std::string at;
    std::uint16_t parent = 0;
    std::vector<std::uint16_t> children; ///< ascending
    ContributionCount wait_count = 0;
    std::uint32_t depth = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::string algorithm;
  std::string root_switch; ///< a switch
  std::uint32_t height = 0;
  std::vector<Link> links;
  std::vector<Part> parts; ///< by ascending depth
  friend bool operator==(const TreeForm&, const TreeForm&) = default;
};

/// Key: `number`.
struct TreeRecord {
  TreeNumber number;
  GroupId group;
  std::uint32_t index = 0; ///< 0, or 1 for the second of twins
  TreeForm form;
  friend bool operator==(const TreeRecord&, const TreeRecord&) = default;
};

/// Where giving out goes on, so that what was freed rests. Key: `space`.
struct AddressRecord {
  std::string space; ///< "trees" or "vnis"
  std::uint32_t next = 0;
  friend bool operator==(const AddressRecord&, const AddressRecord&) = default;
};

/// When a job has lost a VNI, so that the one that was not used for the longest time comes first,
/// and none too soon. Of one that another job has, it says nothing. Key: `vni`.
struct VniReleaseRecord {
  Vni vni;
  std::uint64_t number = 0; ///< later ones have a higher one
  bool in_quarantine = false;
  friend bool operator==(const VniReleaseRecord&, const VniReleaseRecord&) = default;
};

// The topology last seen. Switches and links have the numbers of the graph, which never change;
// records of links and hosts name switches by number.

/// Key: `number`.
struct SwitchRecord {
  std::uint32_t number = 0;
  std::string name;
  std::uint64_t guid = 0;
  std::uint16_t ports = 0;
  bool up = true;
  friend bool operator==(const SwitchRecord&, const SwitchRecord&) = default;
};
struct NumberedPort {
  std::uint32_t at = 0; ///< a switch
  std::uint16_t port = 0;
  friend bool operator==(const NumberedPort&, const NumberedPort&) = default;
};
/// Key: `number`.
struct LinkRecord {
  std::uint32_t number = 0;
  NumberedPort a;
  NumberedPort b;
  std::uint32_t speed_mbps = 0;
  bool up = true;
  bool plugged = true;
  friend bool operator==(const LinkRecord&, const LinkRecord&) = default;
};
/// Key: `nid`.
struct HostRecord {
  Nid nid;
  std::string name;
  NumberedPort at;
  bool up = true;
  bool plugged = true;
  friend bool operator==(const HostRecord&, const HostRecord&) = default;
};

/// A switch that the operator has drained. Key: `at`, its name.
struct DrainRecord {
  std::string at;
  friend bool operator==(const DrainRecord&, const DrainRecord&) = default;
};

/// One number of the retransmit policy of RDMA that was set. Key: `vni` and `field`.
struct RdmaSettingRecord {
  std::optional<Vni> vni; ///< nothing: of all that have none of their own
  std::string field;      ///< as the policy names it
  std::uint64_t value = 0;
  friend bool operator==(const RdmaSettingRecord&, const RdmaSettingRecord&) = default;
};
/// A peer that the operator has parked. Key: both.
struct RdmaParkRecord {
  Vni vni;
  Nid nid;
  friend bool operator==(const RdmaParkRecord&, const RdmaParkRecord&) = default;
};

struct EraseRdmaSetting {
  std::optional<Vni> vni;
  std::string field;
};
struct EraseRdmaPark {
  Vni vni;
  Nid nid;
};
struct EraseJob {
  std::string id;
};
struct EraseDrain {
  std::string at;
};
/// With its members and trees.
struct EraseGroup {
  GroupId id;
};
struct EraseMember {
  GroupId group;
  std::uint32_t rank = 0;
};

struct EraseHost {
  Nid nid;
};
/// All switches, links and hosts, and the document of format version 1.
struct EraseTopology {};

using Change = std::variant<JobRecord, GroupRecord, MemberRecord, TreeRecord, AddressRecord,
                            SwitchRecord, LinkRecord, HostRecord, DrainRecord, EraseJob, EraseGroup,
                            EraseMember, EraseHost, EraseTopology, EraseDrain, RdmaSettingRecord,
                            RdmaParkRecord, EraseRdmaSetting, EraseRdmaPark, VniReleaseRecord>;

/// All there is, each list by ascending key.
struct Snapshot {
  /// Rises with every start of a manager on this store; 1 is the first. 32 bits of it are used.
  std::uint64_t epoch = 1;
  std::vector<JobRecord> jobs;
  std::vector<GroupRecord> groups;
  std::vector<MemberRecord> members;
  std::vector<TreeRecord> trees;
  std::vector<AddressRecord> addresses;
  std::vector<SwitchRecord> switches;
  std::vector<LinkRecord> links;
  std::vector<HostRecord> hosts;
  std::vector<DrainRecord> drains;
  std::vector<RdmaSettingRecord> rdma_settings; ///< those of all VNIs last
  std::vector<RdmaParkRecord> rdma_parks;
  std::vector<VniReleaseRecord> vni_releases;
  /// The topology as format version 1 had it, TOML, until it is stored anew.
  std::optional<std::string> old_topology;
  bool topology_is_damaged = false; ///< it has records that cannot be read
  /// Records that were damaged and are not among those above, and where they are kept.
  std::vector<std::string> set_aside;
};

} // namespace tributary::records
