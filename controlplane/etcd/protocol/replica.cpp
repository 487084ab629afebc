#include "controlplane/etcd/protocol/replica.hpp"

#include "controlplane/etcd/protocol/base64.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tributary::etcd::protocol {

namespace json = boost::json;

namespace {

WatchEvent event_of(const json::object& object) {
  const json::value* const type = object.if_contains("type");
  // Written as a range's entry, so it is read as one.
  const RangeAnswer one =
      range_answer(json::object{{"header", json::object{}}, {"kvs", json::array{object.at("kv")}}});
  return {.erased = type != nullptr && type->as_string() == "DELETE", .entry = one.found.at(0)};
}

WatchAnswer answer_of(const json::object& message) {
  WatchAnswer answer;
  if (message.if_contains("error") != nullptr) {
    answer.end = failure_of(200, json::serialize(message));
    return answer;
  }
  const json::object& result = message.at("result").as_object();
  if (const json::value* const events = result.if_contains("events")) {
    for (const json::value& event : events->as_array()) {
      answer.events.push_back(event_of(event.as_object()));
    }
  } else if (result.if_contains("created") == nullptr) {
    // The revision beside events is etcd's newest, and events before it may still be to come.
    answer.progress = range_answer(json::object{{"header", result.at("header")}}).revision;
  }
  if (const json::value* const canceled = result.if_contains("canceled");
      canceled != nullptr && canceled->as_bool()) {
    const json::value* const why = result.if_contains("cancel_reason");
    answer.end = Failure{result.if_contains("compact_revision") != nullptr ? Failure::Kind::gone
                                                                           : Failure::Kind::unknown,
                         why != nullptr ? json::value_to<std::string>(*why)
                                        : std::string("etcd ended the watch")};
  }
  return answer;
}

} // namespace

std::vector<WatchAnswer> WatchReader::take(std::string_view bytes) {
  std::vector<WatchAnswer> answers;
  while (!bytes.empty()) {
    bytes.remove_prefix(parser_.write_some(bytes.data(), bytes.size()));
    if (!parser_.done()) {
      continue;
    }
    answers.push_back(answer_of(parser_.release().as_object()));
    parser_.reset();
    // Space between messages would begin another one.
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \r\n\t"), bytes.size()));
  }
  return answers;
}

void Replica::add(const KeyValue& entry) { take({.erased = false, .entry = entry}); }

void Replica::apply(const WatchAnswer& answer) {
  Revision newest = std::max(revision_, answer.progress);
  for (const WatchEvent& event : answer.events) {
    if (event.entry.changed > revision_) { // several may be of one revision
      take(event);
      newest = std::max(newest, event.entry.changed);
    }
  }
  revision_ = newest;
}

void Replica::take(const WatchEvent& event) {
  const KeyValue& entry = event.entry;
  if (const auto record = keys_.record_of(entry.key)) {
    event.erased ? records_.erase(*record) : records_.put(*record, entry.value);
  } else if (entry.key == keys_.of("leader")) {
    leader_ = event.erased ? std::nullopt : std::optional(entry);
  } else if (entry.key.starts_with(keys_.of("manager/"))) {
    if (event.erased) {
      managers_.erase(entry.key);
    } else {
      managers_.insert_or_assign(entry.key, entry.value);
    }
  }
}

void Replica::clear() {
  records_.clear();
  leader_.reset();
  managers_.clear();
  revision_ = 0;
}

std::vector<ManagerValue> Replica::managers() const {
  std::vector<ManagerValue> all;
  for (const auto& [key, value] : managers_) {
    try {
      all.push_back(decode_manager(value));
    } catch (const std::exception&) {
      all.push_back({.name = key.substr(keys_.of("manager/").size())}); // of another version
    }
  }
  return all;
}

} // namespace tributary::etcd::protocol
