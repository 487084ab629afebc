#include "controlplane/process/store_transfer.hpp"

#include "controlplane/etcd/transfer.hpp"
#include "controlplane/process/config.hpp"
#include "controlplane/process/files.hpp"
#include "controlplane/record_text/export_text.hpp"
#include "controlplane/store/sqlite_store.hpp"
#include "tributary/leader.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tributary::fabricd {

std::string export_store(const std::string& config_file) {
  const Store store = parse_file(config_file).store;
  if (!store.etcd.empty()) {
    return record_text::export_text(etcd::read_records(etcd_client(store), store.etcd_prefix));
  }
  const records::Snapshot all = store::read_store(store.file);
  return record_text::export_text(
      {.records = all, .fabric = all.fabric == 0 ? std::string() : fabric_text(all.fabric)});
}

std::string import_store(const std::string& config_file, std::string_view text, bool replace) {
  const Store store = parse_file(config_file).store;
  record_text::Exported all = record_text::import_text(text);
  std::string where = store.file;
  if (store.etcd.empty()) {
    if (replace) {
      throw std::runtime_error(fmt::format(
          "--replace applies to etcd; move {} away, with the files beside it", store.file));
    }
    all.records.fabric = parse_fabric(all.fabric).value_or(0);
    store::make_store(store.file, all.records);
  } else {
    etcd::write_records(etcd_client(store), store.etcd_prefix, all, replace);
    where = fmt::format("etcd, below {}", store.etcd_prefix);
  }
  return fmt::format(
      "{}, {} and {} are in {}; the next manager there has an epoch above {}",
      counted(all.records.jobs.size(), "job"), counted(all.records.groups.size(), "group"),
      counted(all.records.switches.size(), "switch", "switches"), where, all.records.epoch);
}

} // namespace tributary::fabricd
