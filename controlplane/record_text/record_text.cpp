#include "controlplane/record_text/record_text.hpp"

#include "controlplane/record_text/allocation_form.hpp"
#include "controlplane/record_text/tree_form.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace tributary::record_text {

namespace json = boost::json;

namespace {

/// The key of the settings for all VNIs: behind those of single ones.
constexpr std::uint32_t all_vnis = 65'536;

template <typename T, typename Record>
concept Is = std::same_as<std::remove_const_t<T>, Record>;

// ---- the fields of each record, for reading and writing ----

template <typename V, Is<records::WideFrames> R> void fields(V& v, R& r) {
  v("slots", r.slots);
  v("payload", r.payload);
  v("half_floats", r.half_floats);
}
template <typename V, Is<records::InSwitchAgreement> R> void fields(V& v, R& r) {
  v("wanted", r.wanted);
  v("agreed", r.agreed);
  v("note", r.note);
}
template <typename V, Is<records::NumberedPort> R> void fields(V& v, R& r) {
  v("at", r.at);
  v("port", r.port);
}
template <typename V, Is<records::JobRecord> R> void fields(V& v, R& r) {
  v("id", r.id);
  v("multicast_limit", r.multicast_limit);
  v("token", r.token);
  v("vni", r.vni);
  v("deleting", r.deleting);
  v("hosts", r.hosts);
  v("vnis", r.vnis);
  v("allocation", r.allocation);
}
template <typename V, Is<records::GroupRecord> R> void fields(V& v, R& r) {
  v("id", r.id);
  v("job", r.job);
  v("name", r.name);
  v("step", r.step);
  v("multicast", r.multicast);
  v("size", r.size);
  v("trees", r.trees);
  v("wanted_root", r.wanted_root);
  v("root", r.root);
  v("vni", r.vni);
  v("cookie", r.cookie);
  v("timeout_us", r.timeout_us);
  v("state", r.state);
  v("wanted_frames", r.wanted_frames);
  v("frames", r.frames);
  v("frames_note", r.frames_note);
  v("in_switch_results", r.in_switch_results);
}
template <typename V, Is<records::MemberRecord> R> void fields(V& v, R& r) {
  v("group", r.group);
  v("rank", r.rank);
  v("nid", r.nid);
  v("host", r.host);
  v("state", r.state);
  v("takes", r.takes);
}
template <typename V, Is<records::TreeRecord> R> void fields(V& v, R& r) {
  v("number", r.number);
  v("group", r.group);
  v("index", r.index);
  v("form", r.form);
}
template <typename V, Is<records::AddressRecord> R> void fields(V& v, R& r) {
  v("space", r.space);
  v("next", r.next);
}
template <typename V, Is<records::VniReleaseRecord> R> void fields(V& v, R& r) {
  v("vni", r.vni);
  v("number", r.number);
  v("in_quarantine", r.in_quarantine);
}
template <typename V, Is<records::SwitchRecord> R> void fields(V& v, R& r) {
  v("number", r.number);
  v("name", r.name);
  v("guid", r.guid);
  v("ports", r.ports);
  v("up", r.up);
}
template <typename V, Is<records::LinkRecord> R> void fields(V& v, R& r) {
  v("number", r.number);
  v("a", r.a);
  v("b", r.b);
  v("speed_mbps", r.speed_mbps);
  v("up", r.up);
  v("plugged", r.plugged);
}
template <typename V, Is<records::HostRecord> R> void fields(V& v, R& r) {
  v("nid", r.nid);
  v("name", r.name);
  v("at", r.at);
  v("up", r.up);
  v("plugged", r.plugged);
}
template <typename V, Is<records::DrainRecord> R> void fields(V& v, R& r) { v("at", r.at); }
template <typename V, Is<records::LeadRecord> R> void fields(V& v, R& r) {
  v("epoch", r.epoch);
  v("superseded_by", r.superseded_by);
}
template <typename V, Is<records::AdoptionRecord> R> void fields(V& v, R& r) {
  v("fabric", r.fabric);
  v("epoch", r.epoch);
}
template <typename V, Is<records::RdmaSettingRecord> R> void fields(V& v, R& r) {
  v("vni", r.vni);
  v("field", r.field);
  v("value", r.value);
}
template <typename V, Is<records::RdmaQuarantineRecord> R> void fields(V& v, R& r) {
  v("vni", r.vni);
  v("nid", r.nid);
}

// ---- writing ----

class Writer {
public:
  template <typename T> void operator()(std::string_view name, const T& value) {
    object_[name] = value_of(value);
  }
  [[nodiscard]] json::object take() { return std::move(object_); }

private:
  static json::value value_of(bool value) { return value; }
  template <std::unsigned_integral T> static json::value value_of(T value) {
    return std::uint64_t{value};
  }
  static json::value value_of(const std::string& value) { return json::string(value); }
  static json::value value_of(records::GroupState state) {
    return json::string(records::name_of(state));
  }
  static json::value value_of(records::MemberState state) {
    return json::string(records::name_of(state));
  }
  static json::value value_of(const records::TreeForm& form) { return json_of(form); }
  static json::value value_of(const records::Allocation& allocation) { return json_of(allocation); }
  template <typename Tag, typename Rep> static json::value value_of(Strong<Tag, Rep> value) {
    return std::uint64_t{value.value};
  }
  template <typename T> static json::value value_of(const std::optional<T>& value) {
    return value ? value_of(*value) : json::value(nullptr);
  }
  template <typename T> static json::value value_of(const std::vector<T>& list) {
    json::array array;
    array.reserve(list.size());
    for (const T& one : list) {
      array.push_back(value_of(one));
    }
    return array;
  }
  template <typename T>
  requires requires(Writer& v, const T& t) { fields(v, t); }
  static json::value value_of(const T& part) {
    Writer writer;
    fields(writer, part);
    return writer.take();
  }

  json::object object_;
};

// ---- reading ----

class Reader {
public:
  explicit Reader(const json::object& object) : object_(object) {}
  template <typename T> void operator()(std::string_view name, T& value) {
    const json::value* const found = object_.if_contains(name);
    if (found == nullptr) {
      throw std::invalid_argument(fmt::format("\"{}\" is missing", name));
    }
    try {
      read(*found, value);
    } catch (const std::exception& wrong) {
      throw std::invalid_argument(fmt::format("\"{}\": {}", name, wrong.what()));
    }
  }

private:
  static void read(const json::value& from, bool& to) { to = from.as_bool(); }
  template <std::unsigned_integral T> static void read(const json::value& from, T& to) {
    to = from.to_number<T>();
  }
  static void read(const json::value& from, std::string& to) { to = from.as_string(); }
  static void read(const json::value& from, records::GroupState& to) {
    to = records::group_state_named(from.as_string()).value();
  }
  static void read(const json::value& from, records::MemberState& to) {
    to = records::member_state_named(from.as_string()).value();
  }
  static void read(const json::value& from, records::TreeForm& to) { to = tree_form_of(from); }
  static void read(const json::value& from, records::Allocation& to) { to = allocation_of(from); }
  template <typename Tag, typename Rep>
  static void read(const json::value& from, Strong<Tag, Rep>& to) {
    to.value = from.to_number<Rep>();
  }
  template <typename T> static void read(const json::value& from, std::optional<T>& to) {
    if (from.is_null()) {
      to.reset();
    } else {
      read(from, to.emplace());
    }
  }
  template <typename T> static void read(const json::value& from, std::vector<T>& to) {
    to.clear();
    for (const json::value& one : from.as_array()) {
      read(one, to.emplace_back());
    }
  }
  template <typename T>
  requires requires(Reader& v, T& t) { fields(v, t); }
  static void read(const json::value& from, T& to) {
    Reader reader(from.as_object());
    fields(reader, to);
  }

  const json::object& object_;
};

// ---- keys ----

std::string group_key(records::GroupId id) { return fmt::format("group/{:016x}", id.value); }
std::string member_key(records::GroupId id, std::uint32_t rank) {
  return fmt::format("{}/member/{:08x}", group_key(id), rank);
}
std::string setting_key(const std::optional<Vni>& vni, std::string_view field) {
  return fmt::format("rdma/setting/{:05x}/{}", vni ? std::uint32_t{vni->value} : all_vnis, field);
}
std::string quarantine_key(Vni vni, Nid nid) {
  return fmt::format("rdma/quarantine/{:04x}/{:08x}", vni.value, nid.value);
}
std::string host_key(Nid nid) { return fmt::format("topology/host/{:08x}", nid.value); }

std::string key_of(const records::JobRecord& r) { return "job/" + r.id; }
std::string key_of(const records::GroupRecord& r) { return group_key(r.id); }
std::string key_of(const records::MemberRecord& r) { return member_key(r.group, r.rank); }
std::string key_of(const records::TreeRecord& r) {
  return fmt::format("{}/tree/{:04x}", group_key(r.group), r.number.value);
}
std::string key_of(const records::AddressRecord& r) { return "address/" + r.space; }
std::string key_of(const records::VniReleaseRecord& r) {
  return fmt::format("vni-release/{:04x}", r.vni.value);
}
std::string key_of(const records::SwitchRecord& r) {
  return fmt::format("topology/switch/{:08x}", r.number);
}
std::string key_of(const records::LinkRecord& r) {
  return fmt::format("topology/link/{:08x}", r.number);
}
std::string key_of(const records::HostRecord& r) { return host_key(r.nid); }
std::string key_of(const records::DrainRecord& r) { return "drain/" + r.at; }
std::string key_of(const records::LeadRecord& /*r*/) { return std::string(lead_key); }
std::string key_of(const records::AdoptionRecord& r) {
  return fmt::format("adoption/{:016x}", r.fabric);
}
std::string key_of(const records::RdmaSettingRecord& r) { return setting_key(r.vni, r.field); }
std::string key_of(const records::RdmaQuarantineRecord& r) { return quarantine_key(r.vni, r.nid); }

struct OperationOf {
  template <typename Record>
  requires requires(const Record& r) { key_of(r); }
  Operation operator()(const Record& r) const {
    Writer writer;
    fields(writer, r);
    return Put{key_of(r), json::serialize(writer.take())};
  }
  Operation operator()(const records::EraseJob& e) const { return Erase{"job/" + e.id}; }
  Operation operator()(const records::EraseGroup& e) const { return EraseAll{group_key(e.id)}; }
  Operation operator()(const records::EraseMember& e) const {
    return Erase{member_key(e.group, e.rank)};
  }
  Operation operator()(const records::EraseHost& e) const { return Erase{host_key(e.nid)}; }
  Operation operator()(const records::EraseTopology&) const { return EraseAll{"topology"}; }
  Operation operator()(const records::EraseDrain& e) const { return Erase{"drain/" + e.at}; }
  Operation operator()(const records::EraseRdmaSetting& e) const {
    return Erase{setting_key(e.vni, e.field)};
  }
  Operation operator()(const records::EraseRdmaQuarantine& e) const {
    return Erase{quarantine_key(e.vni, e.nid)};
  }
};

template <typename Record>
records::Change read_record(std::string_view key, const json::object& object) {
  Record record{};
  Reader reader(object);
  fields(reader, record);
  if (key_of(record) != key) {
    throw std::invalid_argument(fmt::format("it is the record of {}", key_of(record)));
  }
  return record;
}

using ReadRecord = records::Change (*)(std::string_view, const json::object&);

/// What reads the record of this key; nullptr: none.
ReadRecord reader_for(std::string_view key) {
  struct Row {
    std::string_view begin;
    ReadRecord read;
  };
  static constexpr Row rows[] = {
      {"job/", &read_record<records::JobRecord>},
      {"address/", &read_record<records::AddressRecord>},
      {"vni-release/", &read_record<records::VniReleaseRecord>},
      {"topology/switch/", &read_record<records::SwitchRecord>},
      {"topology/link/", &read_record<records::LinkRecord>},
      {"topology/host/", &read_record<records::HostRecord>},
      {"drain/", &read_record<records::DrainRecord>},
      {lead_key, &read_record<records::LeadRecord>},
      {"adoption/", &read_record<records::AdoptionRecord>},
      {"rdma/setting/", &read_record<records::RdmaSettingRecord>},
      {"rdma/quarantine/", &read_record<records::RdmaQuarantineRecord>},
  };
  constexpr std::string_view groups = "group/";
  if (key.starts_with(groups)) {
    const std::size_t slash = key.find('/', groups.size());
    const std::string_view below =
        slash == std::string_view::npos ? std::string_view() : key.substr(slash);
    return below.empty()                   ? &read_record<records::GroupRecord>
           : below.starts_with("/member/") ? &read_record<records::MemberRecord>
           : below.starts_with("/tree/")   ? &read_record<records::TreeRecord>
                                           : nullptr;
  }
  const auto* const row =
      std::ranges::find_if(rows, [&](const Row& one) { return key.starts_with(one.begin); });
  return row == std::end(rows) ? nullptr : row->read;
}

/// Puts a record into its list.
struct Collect {
  records::Snapshot& all;
  void operator()(const records::JobRecord& r) const { all.jobs.push_back(r); }
  void operator()(const records::GroupRecord& r) const { all.groups.push_back(r); }
  void operator()(const records::MemberRecord& r) const { all.members.push_back(r); }
  void operator()(const records::TreeRecord& r) const { all.trees.push_back(r); }
  void operator()(const records::AddressRecord& r) const { all.addresses.push_back(r); }
  void operator()(const records::SwitchRecord& r) const { all.switches.push_back(r); }
  void operator()(const records::LinkRecord& r) const { all.links.push_back(r); }
  void operator()(const records::HostRecord& r) const { all.hosts.push_back(r); }
  void operator()(const records::DrainRecord& r) const { all.drains.push_back(r); }
  void operator()(const records::RdmaSettingRecord& r) const { all.rdma_settings.push_back(r); }
  void operator()(const records::RdmaQuarantineRecord& r) const {
    all.rdma_quarantines.push_back(r);
  }
  void operator()(const records::VniReleaseRecord& r) const { all.vni_releases.push_back(r); }
  void operator()(const records::LeadRecord& r) const {
    all.epoch = r.epoch;
    all.superseded_by = r.superseded_by;
  }
  void operator()(const records::AdoptionRecord& r) const { all.adoptions.push_back(r); }
  /// An erasure is not a record.
  template <typename Erased> void operator()(const Erased& /*erased*/) const {}
};

} // namespace

Operation operation_of(const records::Change& change) { return std::visit(OperationOf{}, change); }

records::Change record_of(std::string_view key, std::string_view text) {
  const ReadRecord read = reader_for(key);
  if (read == nullptr) {
    throw std::invalid_argument("no record has such a key");
  }
  return read(key, json::parse({text.data(), text.size()}).as_object());
}

std::string end_of(std::string_view key) { return std::string(key) + static_cast<char>('/' + 1); }

void RecordMap::put(std::string_view key, std::string_view text) {
  std::variant<records::Change, Unreadable> record = Unreadable{};
  try {
    record = record_of(key, text);
  } catch (const std::exception& wrong) {
    record = Unreadable{wrong.what()};
  }
  records_.insert_or_assign(std::string(key), std::move(record));
}

void RecordMap::erase(std::string_view key) {
  if (const auto found = records_.find(key); found != records_.end()) {
    records_.erase(found);
  }
}

void RecordMap::apply(const Operation& operation) {
  if (const auto* const put_one = std::get_if<Put>(&operation)) {
    put(put_one->key, put_one->text);
  } else if (const auto* const erased = std::get_if<Erase>(&operation)) {
    erase(erased->key);
  } else {
    const std::string& key = std::get<EraseAll>(operation).key;
    records_.erase(records_.lower_bound(key), records_.lower_bound(end_of(key)));
  }
}

records::Snapshot RecordMap::snapshot() const {
  records::Snapshot all;
  all.epoch = 0;
  for (const auto& [key, record] : records_) {
    if (const auto* const readable = std::get_if<records::Change>(&record)) {
      std::visit(Collect{all}, *readable);
      continue;
    }
    if (key.starts_with("topology/")) {
      all.topology_is_damaged = true; // and is discovered again
    } else {
      all.set_aside.push_back(fmt::format("{}: {}", key, std::get<Unreadable>(record).why));
    }
  }
  std::ranges::sort(all.trees, {}, &records::TreeRecord::number);
  return all;
}

std::vector<std::string> RecordMap::keys() const {
  std::vector<std::string> keys;
  keys.reserve(records_.size());
  for (const auto& [key, record] : records_) {
    keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> RecordMap::unreadable() const {
  std::vector<std::string> keys;
  for (const auto& [key, record] : records_) {
    if (std::holds_alternative<Unreadable>(record)) {
      keys.push_back(key);
    }
  }
  return keys;
}

std::vector<records::Change> changes_of(const records::Snapshot& all) {
  std::vector<records::Change> changes;
  const auto add = [&changes](const auto& list) {
    changes.insert(changes.end(), list.begin(), list.end());
  };
  add(all.jobs);
  add(all.groups);
  add(all.members);
  add(all.trees);
  add(all.addresses);
  add(all.switches);
  add(all.links);
  add(all.hosts);
  add(all.drains);
  add(all.rdma_settings);
  add(all.rdma_quarantines);
  add(all.vni_releases);
  add(all.adoptions);
  if (all.superseded_by != 0) {
    changes.emplace_back(
        records::LeadRecord{static_cast<std::uint32_t>(all.epoch), all.superseded_by});
  }
  return changes;
}

} // namespace tributary::record_text
