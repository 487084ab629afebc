// What the HTTP API can request: the only interface of the manager that the rest room uses.
//
// Every request is answered through its Reply exactly once, immediately or later, always on the
// event loop's thread: an answer may wait for a group's members, or for the installation of a tree.
// The answer to a change is sent after the change is on disk. The server has checked the shape of
// its arguments (types, ranges, sizes); the service checks their meaning (does the group exist, is
// the caller allowed).
//
// The JSON of requests and answers is in docs/protocol/manager-api.md and openapi.json.
#pragma once

#include "controlplane/api/job_requests.hpp"
#include "controlplane/api/route.hpp"
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
#include <span>
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

/// A request without arguments.
struct Nothing {};
struct JobName {
  std::string job;
};

/// {"message": "...", "detail": "..."}, with the same text: libfabric's client reads the first,
/// Slurm the second.
[[nodiscard]] inline Answer error_answer(unsigned status, const std::string& message) {
  return {status, boost::json::object{{"message", message}, {"detail", message}}, 0};
}

// ---- the Slingshot-shaped contract ----

struct JobRequest {
  std::string job; ///< "jobID"
  std::optional<std::uint32_t> multicast_limit;
  /// The only hosts that its groups may have; nothing: any.
  std::optional<std::vector<Nid>> hosts = std::nullopt;
  std::optional<std::vector<Vni>> vnis = std::nullopt;
  bool assign_vni = false; ///< "assignVni": assign one immediately if the request has none
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

// ---- this project's own ----

using group::GroupRequest;
using group::JoinRequest;
struct GroupName {
  std::string job;
  std::string name;
};
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

/// What to show: one object, or a page of the list.
struct ViewRequest {
  View what{};
  std::optional<std::string> id = std::nullopt;
  // The list: only objects related to these; "" for all.
  std::string at_switch{}; ///< hosts, links, trees
  std::string job{};       ///< groups, trees
  std::string group{};     ///< trees; with `job`
  /// At most this many objects; fewer when they are large.
  std::size_t limit = default_limit;
  std::string after{}; ///< "next" of the previous page; "" for the first one

  static constexpr std::size_t default_limit = 1000;
  static constexpr std::size_t most = 10'000;
};

/// Hosts by name or NID.
struct PathRequest {
  std::string from;
  std::string to;
};

/// A manager that stands by, and the addresses of its HTTP API.
struct StandbyPlace {
  std::string name;
  std::vector<std::string> addresses;
};

/// Lets this manager take the switches of a fabric over.
struct AdoptRequest {
  std::uint64_t fabric = 0;
};

/// Lets another manager lead.
struct FailoverRequest {
  std::string to; ///< its name; "": any that stands by
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
  std::optional<Vni> vni = std::nullopt; ///< policy: only this one
  std::size_t limit = ViewRequest::default_limit;
};
/// Fields to set, and fields to reset to their defaults; also as text for people.
struct RdmaPolicyPatch {
  std::optional<Vni> vni{}; ///< nothing: all VNIs that have no setting of their own
  std::vector<std::pair<std::string, std::string>> set{};
  std::vector<std::string> reset{};
  bool reset_all = false;
};
struct RdmaQuarantineRequest {
  bool quarantine = false; ///< false: release
  std::string host;        ///< by name or NID
  Vni vni;
};
/// A host's report on its transfers, and its requests.
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
  std::string job{};       ///< whose token it carried; "": the administrator's. Not in the body
  std::vector<Vni> vnis{}; ///< VNIs with transfers of the host
  // What the host already has; the answer holds what is newer.
  std::uint64_t policy_version = 0;
  std::uint64_t quarantined_version = 0;
  std::vector<Exception> exceptions{};
  std::vector<Probe> probes{};
  std::uint64_t in_progress = 0;
  std::vector<retransmit::Transfer> transfers{}; ///< those with the most time-outs
};

/// Inventory of nodes, as launchers reported it: one node, or a page of the list.
struct NodesRequest {
  std::optional<std::string> id = std::nullopt;
  std::size_t limit = ViewRequest::default_limit;
  std::string after{};
};

/// Where a part of the metrics begins. Pass back the returned value; other calls may be in between.
struct MetricsPlace {
  std::uint32_t family = 0;
  std::uint32_t item = 0; ///< switch or link
};

/// One event.
struct Event {
  std::uint64_t number = 0; ///< rises by one while the manager runs, and further with every start
  std::string kind; ///< "gap", "group", "link", "switch", "host", "tree", "transaction", "job",
                    ///< "rdma"
  boost::json::object body; ///< always with "time" and "text"
  /// A literal of tributary/event_codes.hpp; "" for an event that jobs do not receive. Also in the
  /// body, for readers of all events.
  std::string_view code{};
  std::vector<std::string> jobs{}; ///< whose allocation it affects; not shown to readers
};

/// Selects the events of one job.
struct JobEvents {
  std::string job;
  /// Codes of events to receive wherever they occur; events that affect the job always arrive.
  std::vector<std::string> environment{};
};

struct EventsRequest {
  std::uint64_t after = 0; ///< number of the last event seen; 0: all that are kept
  bool follow = true;      ///< false: only the events that are kept
  /// Only the events of this job; nothing: all that the caller may see.
  std::optional<JobEvents> job{};
};

/// An event as shown to one reader. The texts are valid until the next call of any function.
struct ShownEvent {
  std::uint64_t number = 0;
  std::string_view kind;
  std::string_view text; ///< for people
  std::string_view data; ///< a JSON object, without line breaks
};

/// One reader's place in the event log. It holds no events: a stalled reader costs nothing, and one
/// that is too far behind misses the events that are no longer kept. Destroy it before the service.
class EventReader {
public:
  EventReader() = default;
  virtual ~EventReader() = default;
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Nothing when all events were shown, or `has_missed`. Where events may have been lost, an event
  /// of kind "gap" is first.
  [[nodiscard]] virtual std::optional<ShownEvent> next() = 0;
  /// Whether events for this reader were lost. It shows nothing more.
  [[nodiscard]] virtual bool has_missed() const = 0;
  /// Every event up to this number was shown, or does not concern this reader.
  [[nodiscard]] virtual std::uint64_t seen() const = 0;
};

class Service {
public:
  virtual ~Service() = default;

  /// The requests of request_table.hpp. Valid after the service, too.
  [[nodiscard]] virtual std::span<const Route> routes() const = 0;
  /// Parses the call and handles it. `route` is one of `routes`, of Kind::service. Throws
  /// RequestError.
  virtual void serve(const Route& route, const Call& call, Reply reply) = 0;

  /// Appends about 64 KiB of OpenMetrics text, without the closing "# EOF", beginning at `from`.
  /// Returns where the next part begins, or nothing after the last.
  virtual std::optional<MetricsPlace> metrics(MetricsPlace from, std::string& text) = 0;
  /// "" when requests can be served; otherwise what is missing.
  virtual std::string not_ready_because() = 0;

  /// "" when this manager may change the fabric; otherwise why not.
  virtual std::string not_leading_because() { return {}; }
  /// Address of the HTTP API of the manager that leads; "": unknown, or this one.
  virtual std::string leader_url() { return {}; }

  /// The answer, 401 or 403, to a caller that may not send this request, whatever its body is.
  /// Called before the body is received.
  virtual std::optional<Answer> refuse(const Route& /*route*/, const Caller& /*caller*/) {
    return std::nullopt;
  }
  /// The job of the caller's token; "" if the token is missing or unknown.
  virtual std::string job_of(const Caller& /*caller*/) { return {}; }

  /// The answer, 401 or 403, to a caller that may not watch events.
  virtual std::optional<Answer> refuse_events(const Caller& /*caller*/) { return std::nullopt; }
  /// The answer to a caller that may not watch the events of this job.
  virtual std::optional<Answer> refuse_job_events(const Caller& caller, const std::string& job) = 0;
  /// A place in the log, for a caller that is allowed to read it. `wake` is called when new events
  /// can be shown; it may call the reader, and destroy it. A job receives events with a code that
  /// affect it or that it asked for; their data has "scope" ("job" or "environment"), "epoch" and
  /// "sequence" in addition.
  virtual std::unique_ptr<EventReader>
  read_events(const Caller& caller, const EventsRequest& request, std::function<void()> wake) = 0;
};

} // namespace tributary::api
