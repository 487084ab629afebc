#include "controlplane/record_text/export_text.hpp"

#include "controlplane/record_text/record_text.hpp"
#include "controlplane/records/soundness.hpp"
#include "tributary/text.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace tributary::record_text {

namespace json = boost::json;

namespace {

constexpr std::uint64_t export_version = 1;

/// The line up to its end; removes it from the text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

struct Head {
  std::uint64_t epoch = 0;
  std::string fabric;
  std::uint64_t records = 0;
};

Head read_head(std::string_view line) {
  json::error_code wrong;
  const json::value document = json::parse({line.data(), line.size()}, wrong);
  const json::object* const object = wrong ? nullptr : document.if_object();
  if (object == nullptr || object->if_contains("tributary_store") == nullptr) {
    throw ImportError("line 1: this is not a text of \"tributaryctl store export\"");
  }
  try {
    if (const auto version = object->at("tributary_store").to_number<std::uint64_t>();
        version != export_version) {
      throw ImportError(fmt::format("line 1: format version {}, and this program reads version {} "
                                    "only; import it with the tributaryctl that wrote it",
                                    version, export_version));
    }
    return {.epoch = object->at("epoch").to_number<std::uint64_t>(),
            .fabric = json::value_to<std::string>(object->at("fabric")),
            .records = object->at("records").to_number<std::uint64_t>()};
  } catch (const ImportError&) {
    throw;
  } catch (const std::exception& damage) {
    throw ImportError(fmt::format("line 1: {}", damage.what()));
  }
}

} // namespace

std::string export_text(const Exported& store) {
  std::vector<Put> puts;
  for (const records::Change& change : changes_of(store.records)) {
    puts.push_back(std::get<Put>(operation_of(change)));
  }
  std::ranges::sort(puts, {}, &Put::key);
  std::string text = json::serialize(json::object{{"tributary_store", export_version},
                                                  {"epoch", store.records.epoch},
                                                  {"fabric", store.fabric},
                                                  {"records", puts.size()}});
  text += '\n';
  for (const Put& put : puts) {
    text += fmt::format("{{\"key\":{},\"record\":{}}}\n", json::serialize(json::string(put.key)),
                        put.text);
  }
  return text;
}

Exported import_text(std::string_view text) {
  const Head head = read_head(take_line(text));
  RecordMap map;
  std::set<std::string> keys;
  std::uint64_t number = 1;
  while (!text.empty()) {
    ++number;
    const std::string_view line = take_line(text);
    try {
      const json::value document = json::parse({line.data(), line.size()});
      const auto key = json::value_to<std::string>(document.at("key"));
      const std::string record = json::serialize(document.at("record"));
      static_cast<void>(record_of(key, record));
      if (!keys.insert(key).second) {
        throw std::invalid_argument(fmt::format("{} occurs twice", key));
      }
      map.put(key, record);
    } catch (const std::exception& damage) {
      throw ImportError(fmt::format("line {}: {}", number, damage.what()));
    }
  }
  if (keys.size() != head.records) {
    throw ImportError(fmt::format("it has {} instead of {}: its end is missing",
                                  counted(keys.size(), "record"), head.records));
  }
  Exported store{.records = map.snapshot(), .fabric = head.fabric};
  store.records.epoch = head.epoch;
  records::Snapshot sound = store.records;
  ++sound.epoch; // as the manager that starts on it will see it
  if (const auto taken = records::take_out_unsound(sound); !taken.empty()) {
    throw ImportError(fmt::format("its records contradict each other: {}", taken.front()));
  }
  return store;
}

} // namespace tributary::record_text
