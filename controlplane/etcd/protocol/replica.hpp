// What a manager that does not lead knows of the store: all records, read once and then followed
// by a watch, so that a takeover reads nothing.
//
//   Replica replica(keys);
//   replica.add(key_value);                        of the first read, a page at a time
//   for (WatchAnswer& answer : reader.take(bytes)) replica.apply(answer);
//
// Pure.
#pragma once

#include "controlplane/etcd/protocol/messages.hpp"
#include "controlplane/record_text/record_text.hpp"

#include <boost/json/stream_parser.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::etcd::protocol {

struct WatchEvent {
  bool erased = false;
  KeyValue entry; ///< erased: only key and `changed`
};

/// One message of a watch.
struct WatchAnswer {
  /// Nothing below the prefix has changed up to here but what was shown; 0: it does not say.
  Revision progress = 0;
  std::vector<WatchEvent> events;
  /// Why the watch is over; nothing while it continues.
  std::optional<Failure> end;
};

/// Cuts the stream of a watch into its messages.
class WatchReader {
public:
  /// Those that are complete with these bytes. Throws std::exception when the stream is not one.
  [[nodiscard]] std::vector<WatchAnswer> take(std::string_view bytes);

private:
  boost::json::stream_parser parser_;
};

class Replica {
public:
  explicit Replica(Keys keys) : keys_(std::move(keys)) {}

  void add(const KeyValue& entry);
  /// Changes that are older than what was read are ignored.
  void apply(const WatchAnswer& answer);
  /// All that was read is complete up to this revision.
  void complete(Revision revision) { revision_ = revision; }
  void clear();

  [[nodiscard]] Revision revision() const { return revision_; }
  [[nodiscard]] const record_text::RecordMap& records() const { return records_; }
  [[nodiscard]] record_text::RecordMap take_records() { return std::exchange(records_, {}); }
  [[nodiscard]] const std::optional<KeyValue>& leader() const { return leader_; }
  /// Registered managers, by name.
  [[nodiscard]] std::vector<ManagerValue> managers() const;

private:
  void take(const WatchEvent& event);

  Keys keys_;
  Revision revision_ = 0;
  record_text::RecordMap records_;
  std::optional<KeyValue> leader_;
  std::map<std::string, std::string, std::less<>> managers_; ///< values, by key
};

} // namespace tributary::etcd::protocol
