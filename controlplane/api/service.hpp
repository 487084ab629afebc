// What the HTTP API can be asked for: the one thing the rest room knows of the manager.
//
// Every request is answered through its Reply exactly once, at once or later, always on the event
// loop's thread: a group's members may have to be waited for, a tree to be installed. The answer of
// a change comes after the change is on disk. The server has checked the shape of what it hands
// over (types, ranges, sizes); the service checks what it means (does the group exist, is the
// caller allowed).
//
// The JSON of requests and answers is in docs/protocol/manager-api.md and openapi.json.
#pragma once

#include "controlplane/api/job_requests.hpp"
#include "controlplane/group/requests.hpp"
#include "controlplane/retransmit/peer_table.hpp"
#include "controlplane/retransmit/transfers.hpp"
#include "tributary/types.hpp"

#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::api {

struct Answer {
  unsigned status = 200;
  boost::json::value
      body; ///< for a failure {"message": "...", "detail": "..."}; see `error_answer`
  /// Seconds for a Retry-After header; 0: none.
  unsigned retry_after = 0;
};
using Reply = std::function<void(Answer)>;

/// {"message": "...", "detail": "..."}, which say the same: libfabric's client reads the first,
/// Slurm the second.
[[nodiscard]] inline Answer error_answer(unsigned status, const std::string& message) {
  return {status, boost::json::object{{"message", message}, {"detail", message}}, 0};
}

/// Who asks.
struct Caller {
  std::string token;          ///< of the Authorization header, "" without one
  bool administrator = false; ///< the admin token, or the Unix socket's owner or root
};

// ---- the Slingshot-shaped contract ----

struct JobRequest {
  std::string job; ///< "jobID"
  std::optional<std::uint32_t> multicast_limit;
  /// What its groups are limited to; nothing: any.
  std::optional<std::vector<Nid>> hosts = std::nullopt;
  std::optional<std::vector<Vni>> vnis = std::nullopt;
  bool assign_vni = false; ///< "assignVni": one at once, where it brings none
};
/// {"jobSteps": {"N": null}, "mcastLimit": 4}
struct JobPatch {
  std::string job;
  std::vector<std::string> ended_steps;
  std::optional<std::uint32_t> multicast_limit = std::nullopt; ///< from now on; the administrator's
};
struct MulticastRequest {
  std::vector<Nid> macs; ///< by rank
  Vni vni;
  std::chrono::microseconds timeout{0}; ///< of one collective; 0: default
  std::string job;
  std::string step;
};

// ---- our own ----

using group::GroupRequest;
using group::JoinRequest;
struct MemberRequest {
  std::string job;
  std::string group;
  std::uint32_t rank = 0;
};

enum class View : std::uint8_t {
  topology,
  switches,
  hosts,
  links,
  groups,
  trees,
  transactions,
  jobs,
  memory,
  loads,
};

/// What to look at: one of the things, or a page of the list.
struct ViewRequest {
  View what{};
  std::optional<std::string> id = std::nullopt;
  // The list: only what has to do with these; "" for all.
  std::string at_switch{}; ///< hosts, links, trees
  std::string job{};       ///< groups, trees
  std::string group{};     ///< trees; with `job`
  /// At most so many objects; fewer when they are large.
  std::size_t limit = default_limit;
  std::string after{}; ///< "next" of the page before; "" for the first one

  static constexpr std::size_t default_limit = 1000;
  static constexpr std::size_t most = 10'000;
};

/// Hosts by name or NID.
struct PathRequest {
  std::string from;
  std::string to;
};

struct DrainRequest {
  enum class Verb : std::uint8_t { look, drain, undrain };
  Verb verb = Verb::look;
  std::string at;     ///< a switch, by name
  bool force = false; ///< drain it although that cuts hosts off
};

// ---- RDMA: retransmit handling ----

enum class RdmaView : std::uint8_t { policy, peers, transfers, exceptions };
struct RdmaViewRequest {
  RdmaView what{};
  std::optional<Vni> vni = std::nullopt; ///< policy: of this one
  std::size_t limit = ViewRequest::default_limit;
};
/// What is set, and what is as it was before it was set; values as people write them, too.
struct RdmaPolicyPatch {
  std::optional<Vni> vni{}; ///< nothing: of all that have none of their own
  std::vector<std::pair<std::string, std::string>> set{};
  std::vector<std::string> reset{};
  bool reset_all = false;
};
struct RdmaParkRequest {
  bool park = false; ///< otherwise unpark
  std::string host;  ///< by name or NID
  Vni vni;
};
/// What a host says of its transfers, and asks for.
struct RdmaReport {
  static constexpr std::size_t most_vnis = 64;
  static constexpr std::size_t most_exceptions = 64;
  static constexpr std::size_t most_probes = 16;
  struct Exception {
    retransmit::PeerId peer;
    retransmit::Cause cause{};
    std::uint32_t times = 0;
  };
  struct Probe {
    retransmit::PeerId peer;
    bool answered = false;
  };
  Nid nid{};
  std::string job{};       ///< whose token it came with; "": the administrator's. Not in the body
  std::vector<Vni> vnis{}; ///< that it has transfers in
  // What it has; it gets what is newer.
  std::uint64_t policy_version = 0;
  std::uint64_t parked_version = 0;
  std::vector<Exception> exceptions{};
  std::vector<Probe> probes{};
  std::uint64_t in_progress = 0;
  std::vector<retransmit::Transfer> transfers{}; ///< those with the most trouble
};

/// What nodes have that launchers reported: one of them, or a page of the list.
struct NodesRequest {
  std::optional<std::string> id = std::nullopt;
  std::size_t limit = ViewRequest::default_limit;
  std::string after{};
};

/// Where a part of the metrics begins. Pass back what was returned, in any order of other calls.
struct MetricsPlace {
  std::uint32_t family = 0;
  std::uint32_t item = 0; ///< switch or link
};

/// Something that has happened.
struct Event {
  std::uint64_t number = 0; ///< rises, by one as long as the manager runs, and with every start
  std::string kind; ///< "gap", "group", "link", "switch", "host", "tree", "transaction", "job",
                    ///< "rdma"
  boost::json::object body; ///< with "time" and "text" in any case
  /// A literal of tributary/event_codes.hpp; "" of an event that jobs are not told of. Also in the
  /// body, for those who read all.
  std::string_view code{};
  std::vector<std::string> jobs{}; ///< whose allocation it touches; for nobody to read
};

/// What one job is to hear of.
struct JobEvents {
  std::string job;
  /// Codes of events that it wants to hear of wherever they are; those that touch it come anyway.
  std::vector<std::string> environment{};
};

struct EventsRequest {
  std::uint64_t after = 0; ///< number of the last event that was seen; 0: all that are kept
  bool follow = true;      ///< otherwise only what is kept is wanted
  /// Only what this job is to hear of; nothing: all that the caller may see.
  std::optional<JobEvents> job{};
};

/// An event as one reader is shown it. The texts are valid until the next call of anything.
struct ShownEvent {
  std::uint64_t number = 0;
  std::string_view kind;
  std::string_view text; ///< for people
  std::string_view data; ///< a JSON object, without line breaks
};

/// One reader's place in the log of events. It holds no events: a reader that stalls costs nothing,
/// and one that is too far behind has missed what is not kept any more. Goes before the service.
class EventReader {
public:
  EventReader() = default;
  virtual ~EventReader() = default;
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Nothing when all has been shown, or `has_missed`. Where others may have been between, one of
  /// kind "gap" comes first.
  [[nodiscard]] virtual std::optional<ShownEvent> next() = 0;
  /// Whether events that it was to be shown are gone. It shows nothing more.
  [[nodiscard]] virtual bool has_missed() const = 0;
  /// Everything up to this number has been shown, or is nothing to this reader.
  [[nodiscard]] virtual std::uint64_t seen() const = 0;
};

class Service {
public:
  virtual ~Service() = default;

  virtual void create_job(const Caller& caller, const JobRequest& request, Reply reply) = 0;
  virtual void get_job(const Caller& caller, const std::string& job, Reply reply) = 0;
  virtual void list_jobs(const Caller& caller, Reply reply) = 0;
  virtual void patch_job(const Caller& caller, const JobPatch& patch, Reply reply) = 0;
  virtual void delete_job(const Caller& caller, const std::string& job, Reply reply) = 0;
  virtual void create_multicast(const Caller& caller, const MulticastRequest& request,
                                Reply reply) = 0;
  virtual void delete_multicast(const Caller& caller, TreeNumber tree, Reply reply) = 0;

  virtual void create_group(const Caller& caller, const GroupRequest& request, Reply reply) = 0;
  virtual void join_group(const Caller& caller, const JoinRequest& request, Reply reply) = 0;
  virtual void leave_group(const Caller& caller, const MemberRequest& request, Reply reply) = 0;
  virtual void renew_lease(const Caller& caller, const MemberRequest& request, Reply reply) = 0;
  virtual void get_group(const Caller& caller, const std::string& job, const std::string& name,
                         Reply reply) = 0;
  virtual void delete_group(const Caller& caller, const std::string& job, const std::string& name,
                            Reply reply) = 0;

  /// An object with the list under its name, and `next` when there is more; with `id` one of them.
  virtual void view(const Caller& caller, const ViewRequest& request, Reply reply) = 0;
  /// Moves trees to where they are better, or says what would be moved. Answers 200 with the moves.
  virtual void rebalance(const Caller& caller, bool dry_run, Reply reply) = 0;

  /// The sets of unicast routes, drained switches, links that flap.
  virtual void routes(const Caller& caller, Reply reply) = 0;
  /// The way from host to host by the routes in force.
  virtual void paths(const Caller& caller, const PathRequest& request, Reply reply) = 0;
  /// The latest `limit` faults and their timelines.
  virtual void faults(const Caller& caller, std::size_t limit, Reply reply) = 0;
  /// How far a switch is out of use, after it is drained or undrained or as it is.
  virtual void drain(const Caller& caller, const DrainRequest& request, Reply reply) = 0;

  /// The retransmit policy, peers that transfers fail with, transfers, exceptions.
  virtual void rdma_view(const Caller& caller, const RdmaViewRequest& request, Reply reply) = 0;
  virtual void rdma_set_policy(const Caller& caller, const RdmaPolicyPatch& patch, Reply reply) = 0;
  virtual void rdma_park(const Caller& caller, const RdmaParkRequest& request, Reply reply) = 0;
  virtual void rdma_report(const Caller& caller, const RdmaReport& report, Reply reply) = 0;

  /// A job and all that its ranks and nodes are to know before it starts; 201, or 200 for one that
  /// was there.
  virtual void allocate(const Caller& caller, const AllocationRequest& request, Reply reply) = 0;
  /// Its launcher says that it lives; 404 when the job has no allocation any more.
  virtual void renew_allocation(const Caller& caller, const std::string& job, Reply reply) = 0;
  virtual void report_node(const Caller& caller, const NodeReport& report, Reply reply) = 0;
  virtual void nodes(const Caller& caller, const NodesRequest& request, Reply reply) = 0;

  /// Appends OpenMetrics text, without the closing "# EOF", from there on: about 64 KiB of it.
  /// Where the next part begins, nothing behind the last.
  virtual std::optional<MetricsPlace> metrics(MetricsPlace from, std::string& text) = 0;
  /// "" when requests can be served; otherwise what is missing.
  virtual std::string not_ready_because() = 0;

  /// The answer, 401 or 403, to a caller who is not known, or is no administrator where one is
  /// needed: before the body of its request is received and looked at.
  virtual std::optional<Answer> refuse(const Caller& /*caller*/, bool /*needs_administrator*/) {
    return std::nullopt;
  }
  /// The job whose token the caller has; "" without one that is known.
  virtual std::string job_of(const Caller& /*caller*/) { return {}; }

  /// The answer to a caller who may not watch events, 401 or 403.
  virtual std::optional<Answer> refuse_events(const Caller& /*caller*/) { return std::nullopt; }
  /// The answer to a caller who may not hear what this job hears.
  virtual std::optional<Answer> refuse_job_events(const Caller& caller, const std::string& job) = 0;
  /// A place in the log, for a caller that may. `wake` is called when there is something to be
  /// shown again; it may call the reader, and end it. What a job hears are events with a code that
  /// touch it, or that it asked for; their data has "scope" ("job" or "environment"), "epoch" and
  /// "sequence" beside what others see.
  virtual std::unique_ptr<EventReader>
  read_events(const Caller& caller, const EventsRequest& request, std::function<void()> wake) = 0;
};

} // namespace tributary::api
