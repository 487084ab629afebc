#include "controlplane/etcd/store.hpp"

#include "controlplane/records/soundness.hpp"
#include "tributary/leader.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tributary::etcd {

using record_text::Put;
using store::StoreError;

namespace {

/// Records of kinds that may contradict each other.
std::size_t count_of(const records::Snapshot& all) {
  return all.jobs.size() + all.groups.size() + all.members.size() + all.trees.size();
}

} // namespace

records::Snapshot Store::completed(records::Snapshot all) const {
  all.fabric = parse_fabric(member_.fabric()).value_or(0);
  all.epoch = std::max(epoch(), all.epoch + 1);
  return all;
}

records::Snapshot Store::load() {
  const record_text::RecordMap records =
      records_ ? std::exchange(records_, std::nullopt).value() : member_.read_records();
  return completed(records.snapshot());
}

records::Snapshot Store::load_sound() {
  const record_text::RecordMap records =
      records_ ? std::exchange(records_, std::nullopt).value() : member_.read_records();
  records::Snapshot all = completed(records.snapshot());
  if (all.epoch != epoch()) { // so that the next leader's is higher
    member_.commit(parts_of(std::vector<records::Change>{
        records::LeadRecord{static_cast<std::uint32_t>(all.epoch), all.superseded_by}}));
  }
  const std::size_t before = count_of(all);
  for (std::string& taken : records::take_out_unsound(all)) {
    all.set_aside.push_back(std::move(taken));
  }
  if (all.set_aside.empty() && before == count_of(all) && !all.topology_is_damaged) {
    return all;
  }
  // What is kept is as it was, but for jobs that have lost an allocation.
  std::map<std::string, std::string> texts;
  for (const records::Change& change : record_text::changes_of(all)) {
    Put put = std::get<Put>(record_text::operation_of(change));
    texts.emplace(std::move(put.key), std::move(put.text));
  }
  try {
    Part repair;
    std::vector<Put> damaged;
    for (const std::string& key : records.keys()) {
      const auto kept_text = texts.find(key);
      if ((kept_text != texts.end() && !key.starts_with("job/")) || key == record_text::lead_key) {
        continue;
      }
      const auto text = member_.text_of(key);
      if (!text || (kept_text != texts.end() && kept_text->second == *text)) {
        continue;
      }
      damaged.push_back({key, *text});
      if (kept_text != texts.end()) {
        repair.emplace_back(Put{key, kept_text->second});
      } else {
        repair.emplace_back(record_text::Erase{key});
      }
    }
    member_.keep_damaged(damaged);
    for (const auto& operation : repair) {
      member_.commit({{operation}});
    }
    if (!damaged.empty()) {
      all.set_aside.push_back(fmt::format("{} as before, kept in etcd in keys with \"damaged/{}\"",
                                          counted(damaged.size(), "record"), epoch()));
    }
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::fenced) {
      throw;
    }
    // They stay in place, and are left out again at the next start.
    all.set_aside.push_back(fmt::format("no copy of the records could be made: {}", error.what()));
  }
  return all;
}

void Store::apply(std::span<const records::Change> changes) {
  std::vector<Part> parts;
  try {
    parts = parts_of(changes);
  } catch (const TooLarge& error) {
    throw StoreError(StoreError::Kind::failed, error.what());
  }
  if (!parts.empty()) {
    records_.reset(); // it is from before
  }
  member_.commit(std::move(parts));
}

} // namespace tributary::etcd
