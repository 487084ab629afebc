// A model of etcd: one store that never fails, with revisions, transactions, leases and a history.
// What stands around it (networks, clocks, processes) is the test's. Its JSON is that of etcd's
// gateway, so that requests and answers are tested, too (gateway.hpp serves it over HTTP).
//
//   EtcdModel etcd;
//   etcd.advance_to(now_ns);                        leases end
//   Reply reply = etcd.call("/v3/kv/txn", body);    as a client gets it
//   etcd.full = true;                               the alarm NOSPACE
//
// After the API documentation and etcd's source: server/etcdserver/apply.go, v3rpc/key.go
// (checkTxnRequest, checkIntervals), storage/mvcc.
#pragma once

#include "controlplane/etcd/protocol/base64.hpp"
#include "tributary/types.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::test {

class EtcdModel {
public:
  struct Entry {
    std::string value;
    std::int64_t created = 0;
    std::int64_t changed = 0;
    std::int64_t version = 0;
    std::int64_t lease = 0;
  };
  struct Event {
    bool erased = false;
    std::string key;
    Entry entry;
  };
  struct Compare {
    enum class Target : std::uint8_t { created, changed, value };
    Target target{};
    std::string key;
    std::int64_t revision = 0;
    std::string value{};
  };
  struct Operation {
    enum class Kind : std::uint8_t { put, erase, range };
    Kind kind{};
    std::string key;
    std::string end{}; ///< "": the key alone
    std::string value{};
    std::int64_t lease = 0;
  };
  struct Answer {
    bool succeeded = false;
    /// By operation; what a range has found.
    std::vector<std::vector<std::pair<std::string, Entry>>> found;
  };
  /// As gRPC's status.
  struct Error : std::runtime_error {
    Error(int status, const std::string& text) : std::runtime_error(text), code(status) {}
    int code;
  };

  // ---- native ----

  Answer transact(const std::vector<Compare>& conditions, const std::vector<Operation>& then,
                  const std::vector<Operation>& otherwise) {
    check(then);
    check(otherwise);
    Answer answer;
    answer.succeeded =
        std::ranges::all_of(conditions, [this](const Compare& c) { return holds(c); });
    const auto& operations = answer.succeeded ? then : otherwise;
    for (const Operation& one : operations) {
      if (one.kind == Operation::Kind::put && one.lease != 0 && !leases_.contains(one.lease)) {
        throw Error(5, "etcdserver: requested lease not found");
      }
    }
    const std::int64_t revision = revision_ + 1;
    bool changed = false;
    for (const Operation& one : operations) {
      auto& found = answer.found.emplace_back();
      switch (one.kind) {
      case Operation::Kind::range: found = range(one.key, one.end); break;
      case Operation::Kind::put:
        put(one, revision);
        changed = true;
        break;
      case Operation::Kind::erase:
        for (const auto& [key, entry] : range(one.key, one.end)) {
          erase(key, revision);
          changed = true;
        }
      }
    }
    revision_ += changed ? 1 : 0;
    return answer;
  }
  std::int64_t grant(std::uint64_t ttl_ns) {
    leases_[++last_lease_] = {ttl_ns, now_ns_ + ttl_ns};
    return last_lease_;
  }
  /// False: no such lease.
  bool renew(std::int64_t lease) {
    const auto found = leases_.find(lease);
    if (found == leases_.end()) {
      return false;
    }
    found->second.ends_ns = now_ns_ + found->second.ttl_ns;
    return true;
  }
  bool revoke(std::int64_t lease) {
    if (leases_.erase(lease) == 0) {
      return false;
    }
    std::vector<std::string> gone;
    for (const auto& [key, entry] : entries_) {
      if (entry.lease == lease) {
        gone.push_back(key);
      }
    }
    for (const std::string& key : gone) {
      erase(key, revision_ + 1);
    }
    revision_ += gone.empty() ? 0 : 1;
    return true;
  }
  /// Ends leases in the order of their ends.
  void advance_to(std::uint64_t now_ns) {
    for (;;) {
      const auto first =
          std::ranges::min_element(leases_, {}, [](const auto& one) { return one.second.ends_ns; });
      if (first == leases_.end() || first->second.ends_ns > now_ns) {
        break;
      }
      revoke(first->first);
    }
    now_ns_ = std::max(now_ns_, now_ns);
  }
  [[nodiscard]] const std::map<std::string, Entry>& entries() const { return entries_; }
  [[nodiscard]] const Entry* find(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::int64_t revision() const { return revision_; }
  [[nodiscard]] const std::vector<Event>& history() const { return history_; }
  [[nodiscard]] std::uint64_t ttl_of(std::int64_t lease) const { return leases_.at(lease).ttl_ns; }

  bool full = false;                  ///< puts are refused
  std::string user;                   ///< "": without authentication
  std::string password;               ///< of the user
  std::int64_t compacted = 0;         ///< watches from before are refused
  std::size_t largest_operations = 0; ///< of all transactions so far
  std::size_t largest_bytes = 0;

  /// The tokens of users expire.
  void change_token() { token_ += '1'; }

  // ---- JSON ----

  /// Throws Error as the server does. `token`: of the Authorization header.
  boost::json::object call(std::string_view path, const boost::json::object& body,
                           const std::string& token = {}) {
    namespace json = boost::json;
    if (path == "/v3/auth/authenticate") {
      if (user.empty() || body.at("name").as_string() != user ||
          body.at("password").as_string() != password) {
        throw Error(3, "etcdserver: authentication failed, invalid user ID or password");
      }
      return with_header({{"token", token_}});
    }
    if (!user.empty() && token != token_) {
      throw Error(16, "etcdserver: invalid auth token");
    }
    if (path == "/v3/kv/txn") {
      largest_bytes = std::max(largest_bytes, json::serialize(body).size() / 4 * 3);
      const Answer answer = transact(conditions_of(body), operations_of(body, "success"),
                                     operations_of(body, "failure"));
      json::array responses;
      const auto operations = operations_of(body, answer.succeeded ? "success" : "failure");
      for (std::size_t i = 0; i < operations.size(); ++i) {
        switch (operations[i].kind) {
        case Operation::Kind::put:
          responses.push_back(json::object{{"response_put", with_header({})}});
          break;
        case Operation::Kind::erase:
          responses.push_back(json::object{{"response_delete_range", with_header({})}});
          break;
        case Operation::Kind::range:
          responses.push_back(
              json::object{{"response_range", with_header({{"kvs", json_of(answer.found[i])}})}});
        }
      }
      json::object reply = with_header({{"responses", std::move(responses)}});
      if (answer.succeeded) {
        reply["succeeded"] = true;
      }
      return reply;
    }
    if (path == "/v3/kv/range") {
      auto found = range(bytes_at(body, "key"), bytes_at(body, "range_end"));
      const auto limit = static_cast<std::size_t>(integer_at(body, "limit"));
      json::object reply = with_header({});
      if (limit != 0 && found.size() > limit) {
        found.resize(limit);
        reply["more"] = true;
      }
      reply["kvs"] = json_of(found);
      return reply;
    }
    if (path == "/v3/lease/grant") {
      const std::int64_t lease =
          grant(static_cast<std::uint64_t>(integer_at(body, "TTL")) * ns_per_second);
      return with_header({{"ID", std::to_string(lease)}, {"TTL", body.at("TTL")}});
    }
    if (path == "/v3/lease/keepalive") {
      const std::int64_t lease = integer_at(body, "ID");
      json::object result = with_header({{"ID", std::to_string(lease)}});
      if (renew(lease)) {
        result["TTL"] = std::to_string(ttl_of(lease) / ns_per_second);
      }
      return {{"result", std::move(result)}};
    }
    if (path == "/v3/lease/revoke") {
      if (!revoke(integer_at(body, "ID"))) {
        throw Error(5, "etcdserver: requested lease not found");
      }
      return with_header({});
    }
    if (path == "/v3/kv/compaction") {
      compacted = integer_at(body, "revision");
      return with_header({});
    }
    throw Error(12, "unknown method");
  }
  /// The events of history from `first` on as messages of a watch, one for each revision.
  std::vector<boost::json::object> watch_messages(std::size_t first, const std::string& begin,
                                                  const std::string& end) const {
    namespace json = boost::json;
    std::vector<json::object> messages;
    std::int64_t revision = 0;
    for (std::size_t i = first; i < history_.size(); ++i) {
      const Event& event = history_[i];
      if (event.key < begin || event.key >= end) {
        continue;
      }
      json::object one{{"kv", json_of(event.key, event.entry)}};
      if (event.erased) {
        one["type"] = "DELETE";
      }
      if (event.entry.changed != revision) {
        revision = event.entry.changed;
        messages.push_back(json::object{{"result", with_header({{"events", json::array()}})}});
      }
      messages.back().at("result").as_object().at("events").as_array().push_back(std::move(one));
    }
    return messages;
  }
  static std::string bytes_at(const boost::json::object& object, std::string_view name) {
    const auto* const found = object.if_contains(name);
    return found == nullptr ? std::string()
                            : etcd::protocol::from_base64(found->as_string()).value();
  }
  static std::int64_t integer_at(const boost::json::object& object, std::string_view name) {
    const auto* const found = object.if_contains(name);
    return found == nullptr ? 0 : std::stoll(std::string(found->as_string()));
  }

private:
  struct Lease {
    std::uint64_t ttl_ns = 0;
    std::uint64_t ends_ns = 0;
  };

  void check(const std::vector<Operation>& operations) {
    largest_operations = std::max(largest_operations, operations.size());
    if (operations.size() > 128) {
      throw Error(3, "etcdserver: too many operations in txn request");
    }
    std::size_t bytes = 0;
    std::map<std::string, int> puts;
    for (const Operation& one : operations) {
      bytes += one.key.size() + one.value.size();
      if (one.kind == Operation::Kind::put && ++puts[one.key] > 1) {
        throw Error(3, "etcdserver: duplicate key given in txn request");
      }
    }
    for (const Operation& one : operations) {
      if (one.kind == Operation::Kind::erase &&
          (one.end.empty() ? puts.contains(one.key)
                           : puts.lower_bound(one.key) != puts.lower_bound(one.end))) {
        throw Error(3, "etcdserver: duplicate key given in txn request");
      }
    }
    if (bytes > 1'572'864) {
      throw Error(3, "etcdserver: request is too large");
    }
    if (full && !puts.empty()) {
      throw Error(8, "etcdserver: mvcc: database space exceeded");
    }
  }
  [[nodiscard]] bool holds(const Compare& condition) const {
    const Entry* const entry = find(condition.key);
    switch (condition.target) {
    case Compare::Target::created:
      return condition.revision == (entry != nullptr ? entry->created : 0);
    case Compare::Target::changed:
      return condition.revision == (entry != nullptr ? entry->changed : 0);
    case Compare::Target::value: return entry != nullptr && entry->value == condition.value;
    }
    return false;
  }
  void put(const Operation& one, std::int64_t revision) {
    Entry& entry = entries_[one.key];
    entry.created = entry.version == 0 ? revision : entry.created;
    entry.changed = revision;
    ++entry.version;
    entry.value = one.value;
    entry.lease = one.lease;
    history_.push_back({false, one.key, entry});
  }
  void erase(const std::string& key, std::int64_t revision) {
    entries_.erase(key);
    Entry gone;
    gone.changed = revision;
    history_.push_back({true, key, gone});
  }
  [[nodiscard]] std::vector<std::pair<std::string, Entry>> range(const std::string& begin,
                                                                 const std::string& end) const {
    if (end.empty()) {
      const auto found = entries_.find(begin);
      return found == entries_.end() ? std::vector<std::pair<std::string, Entry>>{}
                                     : std::vector<std::pair<std::string, Entry>>{*found};
    }
    return {entries_.lower_bound(begin), entries_.lower_bound(end)};
  }

  [[nodiscard]] boost::json::object with_header(boost::json::object object) const {
    object["header"] = boost::json::object{{"revision", std::to_string(revision_)}};
    return object;
  }
  static boost::json::object json_of(const std::string& key, const Entry& entry) {
    boost::json::object object{{"key", etcd::protocol::to_base64(key)},
                               {"mod_revision", std::to_string(entry.changed)}};
    if (entry.created != 0) {
      object["create_revision"] = std::to_string(entry.created);
      object["version"] = std::to_string(entry.version);
      object["value"] = etcd::protocol::to_base64(entry.value);
    }
    if (entry.lease != 0) {
      object["lease"] = std::to_string(entry.lease);
    }
    return object;
  }
  static boost::json::array json_of(const std::vector<std::pair<std::string, Entry>>& found) {
    boost::json::array list;
    for (const auto& [key, entry] : found) {
      list.push_back(json_of(key, entry));
    }
    return list;
  }
  static std::vector<Compare> conditions_of(const boost::json::object& body) {
    std::vector<Compare> conditions;
    for (const boost::json::value& one : body.at("compare").as_array()) {
      const boost::json::object& object = one.as_object();
      const std::string_view target = object.at("target").as_string();
      conditions.push_back({target == "CREATE" ? Compare::Target::created
                            : target == "MOD"  ? Compare::Target::changed
                                               : Compare::Target::value,
                            bytes_at(object, "key"),
                            target == "CREATE" ? integer_at(object, "create_revision")
                                               : integer_at(object, "mod_revision"),
                            bytes_at(object, "value")});
    }
    return conditions;
  }
  static std::vector<Operation> operations_of(const boost::json::object& body,
                                              std::string_view branch) {
    std::vector<Operation> operations;
    for (const boost::json::value& one : body.at(branch).as_array()) {
      const auto& [name, value] = *one.as_object().begin();
      const boost::json::object& object = value.as_object();
      operations.push_back({name == "request_put"            ? Operation::Kind::put
                            : name == "request_delete_range" ? Operation::Kind::erase
                                                             : Operation::Kind::range,
                            bytes_at(object, "key"), bytes_at(object, "range_end"),
                            bytes_at(object, "value"), integer_at(object, "lease")});
    }
    return operations;
  }

  std::map<std::string, Entry> entries_;
  std::map<std::int64_t, Lease> leases_;
  std::vector<Event> history_;
  std::int64_t revision_ = 1;
  std::int64_t last_lease_ = 7'000'000'000'000;
  std::uint64_t now_ns_ = 0;
  std::string token_ = "token.1";
};

} // namespace tributary::test
