#include "controlplane/etcd/protocol/messages.hpp"

#include "controlplane/etcd/protocol/base64.hpp"
#include "tributary/types.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <utility>

namespace tributary::etcd::protocol {

namespace json = boost::json;

namespace {

/// Zeros are left out, and integers of 64 bits are text; numbers are accepted, too.
std::int64_t integer_at(const json::object& object, std::string_view name) {
  const json::value* const found = object.if_contains(name);
  if (found == nullptr) {
    return 0;
  }
  if (!found->is_string()) {
    return found->to_number<std::int64_t>();
  }
  const std::string_view text = found->get_string();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument(fmt::format("\"{}\" is not a number: {}", name, text));
  }
  return value;
}

bool flag_at(const json::object& object, std::string_view name) {
  const json::value* const found = object.if_contains(name);
  return found != nullptr && found->as_bool();
}

std::string bytes_at(const json::object& object, std::string_view name) {
  const json::value* const found = object.if_contains(name);
  if (found == nullptr) {
    return {};
  }
  auto bytes = from_base64(found->as_string());
  if (!bytes) {
    throw std::invalid_argument(fmt::format("\"{}\" is not base64", name));
  }
  return *std::move(bytes);
}

Revision revision_of(const json::object& body) {
  return integer_at(body.at("header").as_object(), "revision");
}

KeyValue key_value(const json::object& object) {
  return {.key = bytes_at(object, "key"),
          .value = bytes_at(object, "value"),
          .created = integer_at(object, "create_revision"),
          .changed = integer_at(object, "mod_revision"),
          .lease = integer_at(object, "lease")};
}

std::vector<KeyValue> key_values(const json::object& range) {
  std::vector<KeyValue> found;
  if (const json::value* const list = range.if_contains("kvs")) {
    for (const json::value& one : list->as_array()) {
      found.push_back(key_value(one.as_object()));
    }
  }
  return found;
}

std::string text_of(std::int64_t number) { return std::to_string(number); }

std::uint64_t epoch_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument(fmt::format("the epoch is not a number: \"{}\"", text));
  }
  return value;
}

// The keys that a look reads, in this order.
enum Looked : std::size_t { leader, epoch, successor };
Transaction& read_election(Transaction& transaction, const Keys& keys) {
  return transaction.read(keys.of("leader")).read(keys.of("epoch")).read(keys.of("successor"));
}

} // namespace

std::string Keys::of(std::string_view name) const { return fmt::format("{}/{}", prefix_, name); }
std::string Keys::record(std::string_view key) const {
  return fmt::format("{}/record/{}", prefix_, key);
}
std::optional<std::string_view> Keys::record_of(std::string_view key) const {
  const std::string begin = record("");
  return key.starts_with(begin) ? std::optional(key.substr(begin.size())) : std::nullopt;
}

// ---- failures ----

Failure failure_of(unsigned status, std::string_view body) {
  using Kind = Failure::Kind;
  boost::system::error_code wrong;
  const json::value document = json::parse({body.data(), body.size()}, wrong);
  const json::object* object = wrong ? nullptr : document.if_object();
  if (object != nullptr && object->if_contains("error") != nullptr &&
      object->at("error").is_object()) {
    object = &object->at("error").get_object(); // in a stream
  }
  if (object == nullptr) {
    // Not etcd's: a proxy in between, or another server.
    return {status >= 500 ? Kind::unknown : Kind::rejected,
            fmt::format("HTTP status {}, and not etcd's JSON: {}", status, body.substr(0, 100))};
  }
  std::string text = "etcd did not say why";
  for (const std::string_view name : {"message", "error"}) {
    if (const json::value* const found = object->if_contains(name);
        found != nullptr && found->is_string()) {
      text = found->get_string();
      break;
    }
  }
  const auto has = [&text](std::string_view part) { return text.find(part) != std::string::npos; };
  std::int64_t code = 0;
  for (const std::string_view name : {"grpc_code", "code"}) { // in a stream of 3.4; elsewhere
    if (const json::value* const found = object->if_contains(name);
        found != nullptr && found->is_number()) {
      code = found->to_number<std::int64_t>(wrong);
      break;
    }
  }
  // Codes of gRPC. etcd uses some for several things, so its text decides where that is so.
  const Kind kind = [&] {
    if (has("database space exceeded")) {
      return Kind::no_room;
    }
    if (has("invalid auth token") || code == 16) {
      return Kind::token;
    }
    if (has("too many requests")) {
      return Kind::busy;
    }
    if (has("lease not found") || has("has been compacted") || has("future revision")) {
      return Kind::gone;
    }
    if (code == 7 || has("authentication failed") || has("user name") ||
        has("authentication is not enabled")) {
      return Kind::denied;
    }
    if (code == 3 || code == 12 || status == 404) { // invalid argument, not implemented
      return Kind::rejected;
    }
    return Kind::unknown;
  }();
  return {kind, std::move(text)};
}

// ---- requests ----

Transaction& Transaction::when(const Compare& compare) {
  json::object condition{{"result", "EQUAL"}, {"key", to_base64(compare.key)}};
  switch (compare.target) {
  case Compare::Target::created:
    condition["target"] = "CREATE";
    condition["create_revision"] = text_of(compare.revision);
    break;
  case Compare::Target::changed:
    condition["target"] = "MOD";
    condition["mod_revision"] = text_of(compare.revision);
    break;
  case Compare::Target::value:
    condition["target"] = "VALUE";
    condition["value"] = to_base64(compare.value);
    break;
  }
  compare_.emplace_back(std::move(condition));
  return *this;
}

Transaction& Transaction::put(std::string_view key, std::string_view value, LeaseId lease) {
  json::object put{{"key", to_base64(key)}, {"value", to_base64(value)}};
  if (lease != 0) {
    put["lease"] = text_of(lease);
  }
  then_.push_back(json::object{{"request_put", std::move(put)}});
  return *this;
}

Transaction& Transaction::erase(std::string_view key) {
  then_.push_back(json::object{{"request_delete_range", json::object{{"key", to_base64(key)}}}});
  return *this;
}

Transaction& Transaction::erase_range(std::string_view key, std::string_view end) {
  then_.push_back(
      json::object{{"request_delete_range",
                    json::object{{"key", to_base64(key)}, {"range_end", to_base64(end)}}}});
  return *this;
}

Transaction& Transaction::read(std::string_view key) {
  then_.push_back(json::object{{"request_range", json::object{{"key", to_base64(key)}}}});
  return read_otherwise(key);
}

Transaction& Transaction::read_otherwise(std::string_view key) {
  else_.push_back(json::object{{"request_range", json::object{{"key", to_base64(key)}}}});
  return *this;
}

Request Transaction::request() const {
  return {"/v3/kv/txn",
          json::object{{"compare", compare_}, {"success", then_}, {"failure", else_}}};
}

TransactionAnswer transaction_answer(const json::object& body) {
  TransactionAnswer answer;
  answer.succeeded = flag_at(body, "succeeded");
  answer.revision = revision_of(body);
  if (const json::value* const responses = body.if_contains("responses")) {
    for (const json::value& one : responses->as_array()) {
      if (const json::value* const range = one.as_object().if_contains("response_range")) {
        auto found = key_values(range->as_object());
        answer.read.push_back(found.empty() ? std::nullopt
                                            : std::optional(std::move(found.front())));
      }
    }
  }
  return answer;
}

Request range_request(std::string_view key, std::string_view end, Revision at, std::size_t limit) {
  return {"/v3/kv/range", json::object{{"key", to_base64(key)},
                                       {"range_end", to_base64(end)},
                                       {"revision", text_of(at)},
                                       {"limit", text_of(static_cast<std::int64_t>(limit))}}};
}

RangeAnswer range_answer(const json::object& body) {
  return {
      .revision = revision_of(body), .has_more = flag_at(body, "more"), .found = key_values(body)};
}

Request grant_request(std::uint64_t ttl_seconds) {
  return {"/v3/lease/grant",
          json::object{{"TTL", text_of(static_cast<std::int64_t>(ttl_seconds))}}};
}
Request renew_request(LeaseId lease) {
  return {"/v3/lease/keepalive", json::object{{"ID", text_of(lease)}}};
}
Request revoke_request(LeaseId lease) {
  return {"/v3/lease/revoke", json::object{{"ID", text_of(lease)}}};
}
Request authenticate_request(std::string_view user, std::string_view password) {
  return {"/v3/auth/authenticate",
          json::object{{"name", json::string(user)}, {"password", json::string(password)}}};
}
Request compact_request(Revision revision) {
  return {"/v3/kv/compaction", json::object{{"revision", text_of(revision)}}};
}

Request watch_request(std::string_view key, std::string_view end, Revision from) {
  return {"/v3/watch",
          json::object{{"create_request", json::object{{"key", to_base64(key)},
                                                       {"range_end", to_base64(end)},
                                                       {"start_revision", text_of(from)},
                                                       {"progress_notify", true}}}}};
}

LeaseAnswer lease_answer(const json::object& body) {
  // An answer to a renewal is the first message of a stream.
  const json::value* const result = body.if_contains("result");
  const json::object& answer = result != nullptr ? result->as_object() : body;
  const std::int64_t seconds = integer_at(answer, "TTL");
  return {.lease = integer_at(answer, "ID"),
          .ttl_ns = seconds > 0 ? static_cast<std::uint64_t>(seconds) * ns_per_second : 0};
}

std::string token_of(const json::object& body) {
  return json::value_to<std::string>(body.at("token"));
}

// ---- the keys of the election ----

std::string encode(const ManagerValue& manager) {
  return json::serialize(
      json::object{{"name", manager.name},
                   {"instance", manager.instance},
                   {"addresses", json::array(manager.addresses.begin(), manager.addresses.end())},
                   {"switches", json::array(manager.switches.begin(), manager.switches.end())},
                   {"peer", manager.peer},
                   {"epoch", manager.epoch}});
}

ManagerValue decode_manager(std::string_view text) {
  const json::value document = json::parse({text.data(), text.size()});
  ManagerValue manager;
  manager.name = json::value_to<std::string>(document.at("name"));
  manager.instance = json::value_to<std::string>(document.at("instance"));
  manager.addresses = json::value_to<std::vector<std::string>>(document.at("addresses"));
  manager.switches = json::value_to<std::vector<std::string>>(document.at("switches"));
  manager.peer = json::value_to<std::string>(document.at("peer"));
  manager.epoch = document.at("epoch").to_number<std::uint64_t>();
  return manager;
}

std::optional<election::LeaderKey> leader_key(const std::optional<KeyValue>& key) {
  if (!key) {
    return std::nullopt;
  }
  election::LeaderKey leader;
  leader.lease = key->lease;
  leader.created = key->created;
  try {
    ManagerValue value = decode_manager(key->value);
    leader.name = std::move(value.name);
    leader.instance = std::move(value.instance);
    leader.addresses = std::move(value.addresses);
    leader.switches = std::move(value.switches);
    leader.peer = std::move(value.peer);
    leader.epoch = value.epoch;
  } catch (const std::exception&) {
    leader.name = "of another version"; // it leads all the same
  }
  return leader;
}

Request look_request(const Keys& keys) {
  Transaction transaction;
  return read_election(transaction, keys).request();
}

election::Sight sight_of(const TransactionAnswer& answer) {
  election::Sight sight;
  sight.revision = answer.revision;
  sight.leader = leader_key(answer.read.at(leader));
  if (const auto& found = answer.read.at(epoch)) {
    sight.epoch = epoch_of(found->value);
    sight.epoch_changed = found->changed;
  }
  if (const auto& found = answer.read.at(successor)) {
    sight.successor = found->value;
  }
  return sight;
}

Request campaign_request(const Keys& keys, const ManagerValue& self, LeaseId lease,
                         const election::Sight& sight) {
  ManagerValue value = self;
  value.epoch = sight.epoch + 1;
  Transaction transaction;
  transaction.when({.target = Compare::Target::created, .key = keys.of("leader")})
      .when({.target = Compare::Target::changed,
             .key = keys.of("epoch"),
             .revision = sight.epoch_changed})
      .when({.target = Compare::Target::created, .key = keys.of("import")});
  // Reads come first: in the transaction they would show what it has put.
  read_election(transaction, keys)
      .put(keys.of("leader"), encode(value), lease)
      .put(keys.of("epoch"), std::to_string(value.epoch))
      .put(keys.of("commit"), fmt::format("{}/0", value.epoch));
  return transaction.request();
}

Request resign_request(const Keys& keys, Revision created, LeaseId lease,
                       std::string_view successor) {
  Transaction transaction;
  transaction.when(
      {.target = Compare::Target::created, .key = keys.of("leader"), .revision = created});
  transaction.erase(keys.of("leader"));
  if (!successor.empty()) {
    transaction.put(keys.of("successor"), successor, lease);
  }
  return transaction.request();
}

} // namespace tributary::etcd::protocol
