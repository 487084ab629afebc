// What the manager asks etcd, and how it reads the answers: bodies of etcd's JSON gateway
// (https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/), which are protobuf messages of
// etcdserverpb as JSON. Integers of 64 bits are text, zeros are left out, keys and values base64.
//
// Keys below the prefix, "/tributary/fabric" by default:
//
//   format       "1": the version of all this; missing: the prefix is not used yet
//   fabric       16 hexadecimal digits, the identity of the fabric (leader.hpp): made once
//   epoch        decimal; raised by every manager that takes the lead
//   leader       JSON; attached to the leader's lease
//   commit       "EPOCH/N": the Nth write of this leadership
//   successor    the name for which a leader has resigned; attached to its lease
//   manager/NAME JSON; attached to that manager's lease
//   import       while records are imported, and when that ended half way
//   record/...   records (record_text.hpp)
//   damaged/EPOCH/...  records that a leader could not use
//
// Pure.
#pragma once

#include "controlplane/election/election.hpp"
#include "controlplane/etcd/protocol/parts.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tributary::etcd::protocol {

using election::LeaseId;
using election::Revision;

inline constexpr std::string_view format_version = "1";

/// Keys of one fabric.
class Keys {
public:
  /// Without a slash at the end.
  explicit Keys(std::string prefix) : prefix_(std::move(prefix)) {}
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  /// `Keys("/p").of("leader")` is "/p/leader".
  [[nodiscard]] std::string of(std::string_view name) const;
  [[nodiscard]] std::string record(std::string_view key) const;
  /// The first key behind all of the fabric.
  [[nodiscard]] std::string end() const { return record_text::end_of(prefix_); }
  /// The part below "record/", or nothing for another key.
  [[nodiscard]] std::optional<std::string_view> record_of(std::string_view key) const;

private:
  std::string prefix_;
};

struct KeyValue {
  std::string key;
  std::string value;
  Revision created = 0;
  Revision changed = 0;
  LeaseId lease = 0;
  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

/// An answer that is not what was asked for.
struct Failure {
  enum class Kind : std::uint8_t {
    unknown,  ///< no answer, no leader, a time-out: it may have happened, or happen later
    busy,     ///< refused before it was proposed; the same request may pass in a moment
    no_room,  ///< etcd's database is full (its alarm NOSPACE); nothing happened
    denied,   ///< user, password or permission; nothing happened
    token,    ///< the token of the user has expired; nothing happened
    gone,     ///< the lease, or the revision, does not exist any more; nothing happened
    rejected, ///< a mistake in the request, or not etcd; nothing happened
  };
  Kind kind = Kind::unknown;
  std::string text;
};
/// What an HTTP answer means that is not 200, and of an "error" in a stream.
[[nodiscard]] Failure failure_of(unsigned status, std::string_view body);

using Reply = std::variant<boost::json::object, Failure>;

// ---- requests ----

struct Request {
  std::string path; ///< "/v3/kv/txn"
  boost::json::object body;
};

/// One condition of a transaction.
struct Compare {
  enum class Target : std::uint8_t { created, changed, value };
  Target target = Target::created;
  std::string key;
  Revision revision = 0; ///< 0: the key is missing
  std::string value{};
};

/// Builds a transaction: if all conditions hold, the first list, otherwise the second.
class Transaction {
public:
  Transaction& when(const Compare& compare);
  Transaction& put(std::string_view key, std::string_view value, LeaseId lease = 0);
  Transaction& erase(std::string_view key);
  /// All keys from `key` to before `end`.
  Transaction& erase_range(std::string_view key, std::string_view end);
  /// Reads a key in both cases, or if a condition does not hold.
  Transaction& read(std::string_view key);
  Transaction& read_otherwise(std::string_view key);
  [[nodiscard]] Request request() const;

private:
  boost::json::array compare_;
  boost::json::array then_;
  boost::json::array else_;
};

struct TransactionAnswer {
  bool succeeded = false;
  Revision revision = 0;
  /// Values of the keys that were read, in this order; nothing: a key is missing.
  std::vector<std::optional<KeyValue>> read;
};
/// Throws std::exception for what is not the answer to a transaction.
[[nodiscard]] TransactionAnswer transaction_answer(const boost::json::object& body);

/// Most keys of an answer, where a range is read in pieces.
inline constexpr std::size_t records_a_page = 256;
/// `limit` keys from `key` to before `end`, at this revision; 0: the newest.
[[nodiscard]] Request range_request(std::string_view key, std::string_view end, Revision at,
                                    std::size_t limit);
struct RangeAnswer {
  Revision revision = 0; ///< of the store when it answered
  bool has_more = false;
  std::vector<KeyValue> found;
};
[[nodiscard]] RangeAnswer range_answer(const boost::json::object& body);

[[nodiscard]] Request grant_request(std::uint64_t ttl_seconds);
[[nodiscard]] Request renew_request(LeaseId lease);
[[nodiscard]] Request revoke_request(LeaseId lease);
[[nodiscard]] Request authenticate_request(std::string_view user, std::string_view password);
[[nodiscard]] Request compact_request(Revision revision);
/// All changes of keys from `key` to before `end`, from this revision on.
[[nodiscard]] Request watch_request(std::string_view key, std::string_view end, Revision from);

/// The answer to grant_request and renew_request; `lease` 0 and no time: it does not exist.
struct LeaseAnswer {
  LeaseId lease = 0;
  std::uint64_t ttl_ns = 0;
};
[[nodiscard]] LeaseAnswer lease_answer(const boost::json::object& body);
/// Throws std::exception.
[[nodiscard]] std::string token_of(const boost::json::object& body);

// ---- the keys of the election ----

/// JSON of a manager, in `leader` and `manager/NAME`.
struct ManagerValue {
  std::string name;
  std::string instance{};
  std::vector<std::string> addresses{}; ///< of its HTTP API
  std::vector<std::string> switches{};  ///< where switches reach it
  std::string peer{};                   ///< where it answers other managers; "": nowhere
  std::uint64_t epoch = 0;              ///< of a leader
};
[[nodiscard]] std::string encode(const ManagerValue& manager);
/// Throws std::exception.
[[nodiscard]] ManagerValue decode_manager(std::string_view text);

/// Nothing for a key of which the value is unreadable.
[[nodiscard]] std::optional<election::LeaderKey> leader_key(const std::optional<KeyValue>& key);

[[nodiscard]] Request look_request(const Keys& keys);
/// Throws std::exception when the epoch is not a number, or the leader's key is unreadable.
[[nodiscard]] election::Sight sight_of(const TransactionAnswer& answer);

/// Takes the lead if no manager has it, the epoch has not changed since `sight`, and no import is
/// under way. The answer has the same
/// keys as that of a look, from before.
[[nodiscard]] Request campaign_request(const Keys& keys, const ManagerValue& self, LeaseId lease,
                                       const election::Sight& sight);
/// Gives it up for `successor`, if it has it.
[[nodiscard]] Request resign_request(const Keys& keys, Revision created, LeaseId lease,
                                     std::string_view successor);

} // namespace tributary::etcd::protocol
