// State that survives a restart: plain records, and the changes between states.
//
// A change replaces the whole record with the same key, or erases one key. So changes may be
// applied twice, and of two changes to one key only the later matters. The group room produces them
// and restarts from a Snapshot; the store keeps them.
//
// Records do not use numbers of the graph: switches and ports are named, so that a tree can be
// matched to the graph in whatever order switches appear.
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

/// Never reused, not even after a restart.
using GroupId = Strong<struct GroupIdTag, std::uint64_t>;

/// State of a group; docs/protocol/groups.md.
enum class GroupState : std::uint8_t {
  receiving_join_req,
  computing_routes,
  ready,
  receiving_leave_req,
  destroying,
  gone, ///< never stored: the group no longer exists
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

/// What a launcher was given for a job before its ranks started, besides the job's own record.
struct Allocation {
  struct Node {
    std::string name;
    std::optional<Nid> nid; ///< its host in the fabric, if it is one
    /// The switch port of the host is set up for the job: the caller that named the node may do so.
    bool sets_up_port = false;
    friend bool operator==(const Node&, const Node&) = default;
  };
  static constexpr std::size_t cookie_digits = 32;
  std::string cookie;      ///< hexadecimal
  std::vector<Node> nodes; ///< at least one; by name, without repetition
  /// The job was created for it, and has no other purpose.
  bool has_made_job = false;
  /// How long its launcher may be silent before the job counts as over; 0: no limit.
  std::uint32_t lease_ms = 0;
  /// Restarts of the manager since the launcher's last request.
  std::uint32_t restarts_unheard = 0;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};
[[nodiscard]] bool has_node(const Allocation& allocation, std::string_view name);

/// Key: `id`.
struct JobRecord {
  std::string id;
  std::uint32_t multicast_limit = 0; ///< groups at a time
  std::string token;                 ///< the session token, 64 hexadecimal digits
  std::optional<Vni> vni;            ///< assigned to this job with its first group
  bool deleting = false;             ///< deleted, and removed once its groups are
  /// The only hosts and VNIs that it may use, each list ascending, without repetition; nothing:
  /// any.
  std::optional<std::vector<Nid>> hosts = std::nullopt;
  std::optional<std::vector<Vni>> vnis = std::nullopt;
  std::optional<Allocation> allocation = std::nullopt;
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

/// Whether a group's tree has in-switch results (docs/protocol/in-switch-results.md).
struct InSwitchAgreement {
  /// Whether a request asked for it, or refused it; nothing: as in the manager's file.
  std::optional<bool> wanted = std::nullopt;
  /// The switch next to the root reduces and sends results to all: decided with the first routes,
  /// and constant for the life of the group.
  bool agreed = false;
  std::string note{}; ///< why not
  friend bool operator==(const InSwitchAgreement&, const InSwitchAgreement&) = default;
};

/// Key: `id`.
struct GroupRecord {
  GroupId id;
  std::string job;
  std::string name;       ///< unique in the job
  std::string step;       ///< step of the job, for multicasts
  bool multicast = false; ///< made as a whole through the Slingshot-shaped contract: no leases
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> wanted_root;
  std::optional<std::uint32_t> root; ///< its rank, from computing_routes on
  Vni vni;
  Cookie cookie;                ///< 0 before routes are computed
  std::uint64_t timeout_us = 0; ///< of one collective, as requested; 0: default
  GroupState state = GroupState::receiving_join_req;
  /// The most wide frames requested; those in use, once it has trees; and why not more.
  WideFrames wanted_frames{
      .slots = WideFrames::most_slots, .payload = WideFrames::most_payload, .half_floats = true};
  WideFrames frames{};
  std::string frames_note{};
  InSwitchAgreement in_switch_results{};
  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

/// Key: `group` and `rank`.
struct MemberRecord {
  GroupId group;
  std::uint32_t rank = 0;
  Nid nid;
  std::string host; ///< its name, "" when unspecified
  MemberState state = MemberState::joined;
  WideFrames takes{}; ///< wide frames that its host supports
  friend bool operator==(const MemberRecord&, const MemberRecord&) = default;
};

/// A port, with the name of its switch.
struct NamedPort {
  std::string at;
  std::uint16_t port = 0;
  friend bool operator==(const NamedPort&, const NamedPort&) = default;
};

/// A multicast tree independent of graph numbers: multicast::Tree with names.
struct TreeForm {
  struct Link {
    NamedPort a;
    NamedPort b;
    friend bool operator==(const Link&, const Link&) = default;
  };
  /// The entry of one switch: multicast::TreePart with names.
  struct Part {
    std::string at;
    std::uint16_t parent = 0;
    std::vector<std::uint16_t> children; ///< ascending
    ContributionCount wait_count = 0;
    std::uint32_t depth = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
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

/// Where assignment continues, so that freed numbers rest. Key: `space`.
struct AddressRecord {
  std::string space; ///< "trees" or "vnis"
  std::uint32_t next = 0;
  friend bool operator==(const AddressRecord&, const AddressRecord&) = default;
};

/// When a job lost a VNI, so that VNIs are reused least recently used first, and not too early. Not
/// valid for a VNI that another job has. Key: `vni`.
struct VniReleaseRecord {
  Vni vni;
  std::uint64_t number = 0; ///< later releases have higher numbers
  bool in_quarantine = false;
  friend bool operator==(const VniReleaseRecord&, const VniReleaseRecord&) = default;
};

/// The manager's place in its fabric (tributary/leader.hpp). One record.
struct LeadRecord {
  std::uint32_t epoch = 0; ///< not below that of this start
  /// Epoch of a newer manager of the same fabric that was met: this one changes nothing until the
  /// operator agrees, after a restart, too. 0: none.
  std::uint32_t superseded_by = 0;
  friend bool operator==(const LeadRecord&, const LeadRecord&) = default;
};
/// Another fabric whose switches the operator has let this manager take over. Key: `fabric`.
struct AdoptionRecord {
  std::uint64_t fabric = 0;
  std::uint32_t epoch = 0; ///< of its newest manager then; later ones are not meant
  friend bool operator==(const AdoptionRecord&, const AdoptionRecord&) = default;
};

// The last known topology. Switches and links have the numbers of the graph, which never change;
// records of links and hosts refer to switches by number.

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

/// One field of the RDMA retransmit policy that was set. Key: `vni` and `field`.
struct RdmaSettingRecord {
  std::optional<Vni> vni; ///< nothing: all VNIs without a setting of their own
  std::string field;      ///< as the policy names it
  std::uint64_t value = 0;
  friend bool operator==(const RdmaSettingRecord&, const RdmaSettingRecord&) = default;
};
/// A peer that the operator has quarantined. Key: both.
struct RdmaQuarantineRecord {
  Vni vni;
  Nid nid;
  friend bool operator==(const RdmaQuarantineRecord&, const RdmaQuarantineRecord&) = default;
};

struct EraseRdmaSetting {
  std::optional<Vni> vni;
  std::string field;
};
struct EraseRdmaQuarantine {
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
/// Erases all switches, links and hosts, and the document of format version 1.
struct EraseTopology {};

using Change = std::variant<JobRecord, GroupRecord, MemberRecord, TreeRecord, AddressRecord,
                            SwitchRecord, LinkRecord, HostRecord, DrainRecord, EraseJob, EraseGroup,
                            EraseMember, EraseHost, EraseTopology, EraseDrain, RdmaSettingRecord,
                            RdmaQuarantineRecord, EraseRdmaSetting, EraseRdmaQuarantine,
                            VniReleaseRecord, LeadRecord, AdoptionRecord>;

/// All records, each list by ascending key.
struct Snapshot {
  /// Rises with every start of a manager on this store, from 1. 32 bits of it are used.
  std::uint64_t epoch = 1;
  /// Random, of the store's first start; copies and back-ups have the same. 0: none.
  std::uint64_t fabric = 0;
  std::uint32_t superseded_by = 0; ///< see LeadRecord
  std::vector<AdoptionRecord> adoptions;
  std::vector<JobRecord> jobs;
  std::vector<GroupRecord> groups;
  std::vector<MemberRecord> members;
  std::vector<TreeRecord> trees;
  std::vector<AddressRecord> addresses;
  std::vector<SwitchRecord> switches;
  std::vector<LinkRecord> links;
  std::vector<HostRecord> hosts;
  std::vector<DrainRecord> drains;
  std::vector<RdmaSettingRecord> rdma_settings; ///< those for all VNIs last
  std::vector<RdmaQuarantineRecord> rdma_quarantines;
  std::vector<VniReleaseRecord> vni_releases;
  bool topology_is_damaged = false; ///< it has unreadable records
  /// Damaged records that are missing above, and where they are kept.
  std::vector<std::string> set_aside;
};

} // namespace tributary::records
