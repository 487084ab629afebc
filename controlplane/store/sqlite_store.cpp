#include "controlplane/store/sqlite_store.hpp"

#include "controlplane/record_text/allocation_form.hpp"
#include "controlplane/record_text/record_text.hpp"
#include "controlplane/record_text/tree_form.hpp"
#include "controlplane/records/soundness.hpp"
#include "controlplane/store/lock_file.hpp"
#include "controlplane/store/schema.hpp"
#include "controlplane/store/sqlite.hpp"
#include "lib/net/file_descriptor.hpp"
#include "tributary/leader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <limits>
#include <set>
#include <stdexcept>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tributary::store {
namespace {

using Kind = StoreError::Kind;

/// The key for all VNIs.
constexpr std::uint32_t all_vnis = 65'536;
std::uint32_t scope_of(const std::optional<Vni>& vni) { return vni ? vni->value : all_vnis; }

/// Creates an empty file that only its owner may read, because it will hold tokens, unless it
/// exists. SQLite gives the files beside it the same mode.
const std::filesystem::path& prepared(const std::filesystem::path& file) {
  const net::FileDescriptor descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!descriptor) {
    const int why = errno;
    const auto kind =
        why == EACCES || why == EPERM || why == EROFS ? Kind::no_permission : Kind::failed;
    throw StoreError(kind, fmt::format("{} cannot be opened: {}", file.string(),
                                       std::generic_category().message(why)));
  }
  return file;
}

/// Before a fabric in the keys of `meta`.
const std::string adopted_prefix = "adopted ";

std::optional<std::uint16_t> value_of(const std::optional<Vni>& vni) {
  return vni ? std::optional(vni->value) : std::nullopt;
}

/// 0 unspecified, 1 asked for, 2 refused.
int value_of(std::optional<bool> wanted_in_switch) {
  return wanted_in_switch ? (*wanted_in_switch ? 1 : 2) : 0;
}

/// "1,2,9"
template <typename Number>
std::optional<std::string> text_of(const std::optional<std::vector<Number>>& list) {
  if (!list) {
    return std::nullopt;
  }
  std::string text;
  for (const Number number : *list) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", number.value);
  }
  return text;
}

template <typename Number>
std::optional<std::vector<Number>> numbers_at(const Statement& row, int column) {
  if (row.null(column)) {
    return std::nullopt;
  }
  std::vector<Number> list;
  const std::string_view text = row.text(column);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    decltype(Number::value) value = 0;
    const auto [after, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || (after != end && *after != ',')) {
      throw std::invalid_argument(fmt::format("\"{}\" is not a list of numbers", text));
    }
    list.push_back(Number{value});
    at = after == end ? end : after + 1;
  }
  return list;
}

/// One prepared statement for each kind of change.
class Writer {
public:
  explicit Writer(Database& db)
      : job_(db.prepare("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)")),
        group_(db.prepare("INSERT OR REPLACE INTO groups VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                          "?, ?, ?, ?, ?, ?, ?, ?, ?, "
                          "?, ?)")),
        member_(db.prepare("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?, ?, ?)")),
        tree_(db.prepare("INSERT OR REPLACE INTO trees VALUES (?, ?, ?, ?)")),
        address_(db.prepare("INSERT OR REPLACE INTO addresses VALUES (?, ?)")),
        switch_(db.prepare("INSERT OR REPLACE INTO switches VALUES (?, ?, ?, ?, ?)")),
        link_(db.prepare("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?)")),
        host_(db.prepare("INSERT OR REPLACE INTO hosts VALUES (?, ?, ?, ?, ?, ?)")),
        drain_(db.prepare("INSERT OR REPLACE INTO drains VALUES (?)")),
        rdma_setting_(db.prepare("INSERT OR REPLACE INTO rdma_settings VALUES (?, ?, ?)")),
        rdma_quarantine_(db.prepare("INSERT OR REPLACE INTO rdma_quarantines VALUES (?, ?)")),
        vni_release_(db.prepare("INSERT OR REPLACE INTO vni_releases VALUES (?, ?, ?)")),
        epoch_(db.prepare("UPDATE meta SET value = max(value, ?) WHERE key = 'epoch'")),
        meta_(db.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)")),
        erase_rdma_setting_(db.prepare("DELETE FROM rdma_settings WHERE vni = ? AND field = ?")),
        erase_rdma_quarantine_(
            db.prepare("DELETE FROM rdma_quarantines WHERE vni = ? AND nid = ?")),
        erase_job_(db.prepare("DELETE FROM jobs WHERE id = ?")),
        erase_group_(db.prepare("DELETE FROM groups WHERE id = ?")),
        erase_members_(db.prepare("DELETE FROM members WHERE group_id = ?")),
        erase_trees_(db.prepare("DELETE FROM trees WHERE group_id = ?")),
        erase_member_(db.prepare("DELETE FROM members WHERE group_id = ? AND rank = ?")),
        erase_host_(db.prepare("DELETE FROM hosts WHERE nid = ?")),
        erase_drain_(db.prepare("DELETE FROM drains WHERE at = ?")),
        erase_topology_{db.prepare("DELETE FROM switches"), db.prepare("DELETE FROM links"),
                        db.prepare("DELETE FROM hosts")} {}

  void operator()(const records::JobRecord& j) {
    const auto hosts = text_of(j.hosts);
    const auto vnis = text_of(j.vnis);
    const auto allocation =
        j.allocation ? std::optional(record_text::encode(*j.allocation)) : std::nullopt;
    job_.run(j.id, j.multicast_limit, j.token, value_of(j.vni), j.deleting, hosts, vnis,
             allocation);
  }
  void operator()(const records::GroupRecord& g) {
    group_.run(g.id.value, g.job, g.name, g.step, g.multicast, g.size, g.trees, g.wanted_root,
               g.root, g.vni.value, g.cookie.value, g.timeout_us, name_of(g.state),
               g.wanted_frames.slots, g.wanted_frames.payload, g.frames.slots, g.frames.payload,
               g.frames.half_floats, g.frames_note, value_of(g.in_switch_results.wanted),
               g.in_switch_results.agreed, g.in_switch_results.note);
  }
  void operator()(const records::MemberRecord& m) {
    member_.run(m.group.value, m.rank, m.nid.value, m.host, name_of(m.state), m.takes.slots,
                m.takes.payload);
  }
  void operator()(const records::TreeRecord& t) {
    const std::string form = record_text::encode(t.form);
    tree_.run(t.number.value, t.group.value, t.index, form);
  }
  void operator()(const records::AddressRecord& a) { address_.run(a.space, a.next); }
  void operator()(const records::SwitchRecord& s) {
    switch_.run(s.number, s.name, s.guid, s.ports, s.up);
  }
  void operator()(const records::LinkRecord& c) {
    link_.run(c.number, c.a.at, c.a.port, c.b.at, c.b.port, c.speed_mbps, c.up, c.plugged);
  }
  void operator()(const records::HostRecord& h) {
    host_.run(h.nid.value, h.name, h.at.at, h.at.port, h.up, h.plugged);
  }
  void operator()(const records::DrainRecord& d) { drain_.run(d.at); }
  void operator()(const records::RdmaSettingRecord& s) {
    rdma_setting_.run(scope_of(s.vni), s.field, s.value);
  }
  void operator()(const records::EraseRdmaSetting& e) {
    erase_rdma_setting_.run(scope_of(e.vni), e.field);
  }
  void operator()(const records::RdmaQuarantineRecord& p) {
    rdma_quarantine_.run(p.vni.value, p.nid.value);
  }
  void operator()(const records::EraseRdmaQuarantine& e) {
    erase_rdma_quarantine_.run(e.vni.value, e.nid.value);
  }
  void operator()(const records::VniReleaseRecord& r) {
    vni_release_.run(r.vni.value, r.number, r.in_quarantine);
  }
  void operator()(const records::LeadRecord& l) {
    epoch_.run(l.epoch);
    meta_.run(std::string_view("superseded_by"), l.superseded_by);
  }
  void operator()(const records::AdoptionRecord& a) {
    meta_.run(adopted_prefix + fabric_text(a.fabric), a.epoch);
  }
  void operator()(const records::EraseDrain& e) { erase_drain_.run(e.at); }
  void operator()(const records::EraseJob& e) { erase_job_.run(e.id); }
  void operator()(const records::EraseGroup& e) {
    erase_trees_.run(e.id.value);
    erase_members_.run(e.id.value);
    erase_group_.run(e.id.value);
  }
  void operator()(const records::EraseMember& e) { erase_member_.run(e.group.value, e.rank); }
  void operator()(const records::EraseHost& e) { erase_host_.run(e.nid.value); }
  void operator()(const records::EraseTopology&) {
    for (Statement& erase : erase_topology_) {
      erase.run();
    }
  }

private:
  Statement job_;
  Statement group_;
  Statement member_;
  Statement tree_;
  Statement address_;
  Statement switch_;
  Statement link_;
  Statement host_;
  Statement drain_;
  Statement rdma_setting_;
  Statement rdma_quarantine_;
  Statement vni_release_;
  Statement epoch_;
  Statement meta_;
  Statement erase_rdma_setting_;
  Statement erase_rdma_quarantine_;
  Statement erase_job_;
  Statement erase_group_;
  Statement erase_members_;
  Statement erase_trees_;
  Statement erase_member_;
  Statement erase_host_;
  Statement erase_drain_;
  std::array<Statement, 3> erase_topology_;
};

/// Begins a transaction, and rolls it back unless `commit` succeeded.
class Transaction {
public:
  explicit Transaction(Database& database) : database_(database) {
    database_.execute("BEGIN IMMEDIATE");
  }
  ~Transaction() { database_.roll_back(); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() { database_.execute("COMMIT"); }

private:
  Database& database_;
};

/// The number in this column. Throws std::out_of_range when the type cannot hold it.
template <typename Number> Number number_at(const Statement& row, int column) {
  const std::int64_t value = row.integer(column);
  if (!std::in_range<Number>(value)) {
    throw std::out_of_range(fmt::format("{} in column {}", value, column + 1));
  }
  return static_cast<Number>(value);
}
template <typename Number> std::optional<Number> optional_at(const Statement& row, int column) {
  return row.null(column) ? std::nullopt : std::optional(number_at<Number>(row, column));
}

std::optional<bool> wanted_in_switch_at(const Statement& row, int column) {
  const auto value = row.integer(column);
  return value == 0 ? std::nullopt : std::optional(value == 1);
}

/// Visits the rows; unreadable ones are named in `damaged` and left out.
template <typename Read>
void read_rows(Database& db, std::string_view what, const char* sql,
               std::vector<std::string>& damaged, const Read& read) {
  Statement rows = db.prepare(sql);
  while (rows.step()) {
    try {
      read(rows);
    } catch (const std::exception& wrong) {
      damaged.push_back(fmt::format("{} {}: {}", what, rows.text(0), wrong.what()));
    }
  }
}

void read_meta(Database& db, records::Snapshot& all) {
  read_rows(db, "key", "SELECT key, value FROM meta ORDER BY 1", all.set_aside,
            [&](const Statement& row) {
              const std::string_view key = row.text(0);
              if (key == "fabric") {
                all.fabric = static_cast<std::uint64_t>(row.integer(1));
              } else if (key == "superseded_by") {
                all.superseded_by = number_at<std::uint32_t>(row, 1);
              } else if (key.starts_with(adopted_prefix)) {
                const auto fabric = parse_fabric(key.substr(adopted_prefix.size()));
                if (!fabric) {
                  throw std::invalid_argument("it names no fabric");
                }
                all.adoptions.push_back({*fabric, number_at<std::uint32_t>(row, 1)});
              }
            });
}

void read_topology(Database& db, records::Snapshot& all) {
  const auto port_at = [](const Statement& row, int column) {
    return records::NumberedPort{number_at<std::uint32_t>(row, column),
                                 number_at<std::uint16_t>(row, column + 1)};
  };
  std::vector<std::string> damaged;
  read_rows(db, "switch", "SELECT number, name, guid, ports, up FROM switches ORDER BY 1", damaged,
            [&](const Statement& row) {
              all.switches.push_back({number_at<std::uint32_t>(row, 0), std::string(row.text(1)),
                                      static_cast<std::uint64_t>(row.integer(2)),
                                      number_at<std::uint16_t>(row, 3), row.integer(4) != 0});
            });
  read_rows(db, "link",
            "SELECT number, a_switch, a_port, b_switch, b_port, speed_mbps, up, plugged "
            "FROM links ORDER BY 1",
            damaged, [&](const Statement& row) {
              all.links.push_back({number_at<std::uint32_t>(row, 0), port_at(row, 1),
                                   port_at(row, 3), number_at<std::uint32_t>(row, 5),
                                   row.integer(6) != 0, row.integer(7) != 0});
            });
  read_rows(db, "host", "SELECT nid, name, at_switch, at_port, up, plugged FROM hosts ORDER BY 1",
            damaged, [&](const Statement& row) {
              all.hosts.push_back({Nid{number_at<std::uint32_t>(row, 0)}, std::string(row.text(1)),
                                   port_at(row, 2), row.integer(4) != 0, row.integer(5) != 0});
            });
  all.topology_is_damaged = !damaged.empty();
}

/// An unreadable allocation is named in `damaged`: the job of the row loses it.
std::optional<records::Allocation> allocation_at(const Statement& row, int column,
                                                 std::vector<std::string>& damaged) {
  if (row.null(column)) {
    return std::nullopt;
  }
  try {
    return record_text::decode_allocation(row.text(column));
  } catch (const std::exception& wrong) {
    damaged.push_back(fmt::format("allocation of job {}: {}", row.text(0), wrong.what()));
    return std::nullopt;
  }
}

/// The readable records; the rest is named in `set_aside`.
records::Snapshot read_all(Database& db, std::uint64_t epoch) {
  records::Snapshot all;
  all.epoch = epoch;
  std::vector<std::string>& damaged = all.set_aside;
  read_meta(db, all);
  read_rows(db, "job",
            "SELECT id, multicast_limit, token, vni, deleting, hosts, vnis, allocation FROM jobs "
            "ORDER BY 1",
            damaged, [&](const Statement& row) {
              const auto vni = optional_at<std::uint16_t>(row, 3);
              all.jobs.push_back(
                  {std::string(row.text(0)), number_at<std::uint32_t>(row, 1),
                   std::string(row.text(2)), vni ? std::optional(Vni{*vni}) : std::nullopt,
                   row.integer(4) != 0, numbers_at<Nid>(row, 5), numbers_at<Vni>(row, 6)});
              all.jobs.back().allocation = allocation_at(row, 7, damaged);
            });
  read_rows(
      db, "group",
      "SELECT id, job, name, step, multicast, size, trees, wanted_root, root, vni, "
      "cookie, timeout_us, state, wanted_slots, wanted_payload, slots, payload, half_floats, "
      "frames_note, wanted_in_switch, in_switch_results, in_switch_note FROM groups ORDER BY 1",
      damaged, [&](const Statement& row) {
        all.groups.push_back({.id = records::GroupId{number_at<std::uint64_t>(row, 0)},
                              .job = std::string(row.text(1)),
                              .name = std::string(row.text(2)),
                              .step = std::string(row.text(3)),
                              .multicast = row.integer(4) != 0,
                              .size = number_at<std::uint32_t>(row, 5),
                              .trees = number_at<std::uint32_t>(row, 6),
                              .wanted_root = optional_at<std::uint32_t>(row, 7),
                              .root = optional_at<std::uint32_t>(row, 8),
                              .vni = Vni{number_at<std::uint16_t>(row, 9)},
                              .cookie = Cookie{number_at<std::uint32_t>(row, 10)},
                              .timeout_us = number_at<std::uint64_t>(row, 11),
                              .state = records::group_state_named(row.text(12)).value(),
                              .wanted_frames = {.slots = number_at<std::uint32_t>(row, 13),
                                                .payload = number_at<std::uint32_t>(row, 14),
                                                .half_floats = true},
                              .frames = {.slots = number_at<std::uint32_t>(row, 15),
                                         .payload = number_at<std::uint32_t>(row, 16),
                                         .half_floats = row.integer(17) != 0},
                              .frames_note = std::string(row.text(18)),
                              .in_switch_results = {.wanted = wanted_in_switch_at(row, 19),
                                                    .agreed = row.integer(20) != 0,
                                                    .note = std::string(row.text(21))}});
      });
  read_rows(db, "a member of group",
            "SELECT group_id, rank, nid, host, state, slots, payload "
            "FROM members ORDER BY 1, 2",
            damaged, [&](const Statement& row) {
              all.members.push_back(
                  {records::GroupId{number_at<std::uint64_t>(row, 0)},
                   number_at<std::uint32_t>(row, 1), Nid{number_at<std::uint32_t>(row, 2)},
                   std::string(row.text(3)), records::member_state_named(row.text(4)).value(),
                   records::WideFrames{.slots = number_at<std::uint32_t>(row, 5),
                                       .payload = number_at<std::uint32_t>(row, 6)}});
            });
  read_rows(db, "tree", "SELECT number, group_id, tree_index, form FROM trees ORDER BY 1", damaged,
            [&](const Statement& row) {
              all.trees.push_back({TreeNumber{number_at<std::uint16_t>(row, 0)},
                                   records::GroupId{number_at<std::uint64_t>(row, 1)},
                                   number_at<std::uint32_t>(row, 2),
                                   record_text::decode_tree_form(row.text(3))});
            });
  read_rows(db, "address", "SELECT space, next FROM addresses ORDER BY 1", damaged,
            [&](const Statement& row) {
              all.addresses.push_back({std::string(row.text(0)), number_at<std::uint32_t>(row, 1)});
            });
  read_rows(db, "drain", "SELECT at FROM drains ORDER BY 1", damaged,
            [&](const Statement& row) { all.drains.push_back({std::string(row.text(0))}); });
  read_rows(db, "RDMA setting", "SELECT vni, field, value FROM rdma_settings ORDER BY 1, 2",
            damaged, [&](const Statement& row) {
              const auto scope = number_at<std::uint32_t>(row, 0);
              all.rdma_settings.push_back(
                  {.vni = scope == all_vnis ? std::nullopt
                                            : std::optional(Vni{number_at<std::uint16_t>(row, 0)}),
                   .field = std::string(row.text(1)),
                   .value = number_at<std::uint64_t>(row, 2)});
            });
  read_rows(db, "quarantined peer", "SELECT vni, nid FROM rdma_quarantines ORDER BY 1, 2", damaged,
            [&](const Statement& row) {
              all.rdma_quarantines.push_back(
                  {Vni{number_at<std::uint16_t>(row, 0)}, Nid{number_at<std::uint32_t>(row, 1)}});
            });
  read_rows(db, "released VNI", "SELECT vni, number, in_quarantine FROM vni_releases ORDER BY 1",
            damaged, [&](const Statement& row) {
              all.vni_releases.push_back({Vni{number_at<std::uint16_t>(row, 0)},
                                          number_at<std::uint64_t>(row, 1), row.integer(2) != 0});
            });
  read_topology(db, all);
  return all;
}

/// Erases every record but those of the snapshot.
void erase_all_but(Database& db, const records::Snapshot& kept) {
  std::set<std::string> jobs;
  std::set<std::int64_t> groups;
  std::set<std::pair<std::int64_t, std::int64_t>> members;
  std::set<std::int64_t> trees;
  Statement forget_allocation = db.prepare("UPDATE jobs SET allocation = NULL WHERE id = ?");
  for (const records::JobRecord& job : kept.jobs) {
    jobs.insert(job.id);
    if (!job.allocation) {
      forget_allocation.run(std::string_view(job.id));
    }
  }
  for (const records::GroupRecord& group : kept.groups) {
    groups.insert(static_cast<std::int64_t>(group.id.value));
  }
  for (const records::MemberRecord& member : kept.members) {
    members.emplace(static_cast<std::int64_t>(member.group.value), member.rank);
  }
  for (const records::TreeRecord& tree : kept.trees) {
    trees.insert(tree.number.value);
  }
  const auto erase_numbered = [&db](const char* select, const char* erase,
                                    const std::set<std::int64_t>& keep) {
    std::vector<std::int64_t> gone;
    for (Statement rows = db.prepare(select); rows.step();) {
      if (!keep.contains(rows.integer(0))) {
        gone.push_back(rows.integer(0));
      }
    }
    Statement statement = db.prepare(erase);
    for (const std::int64_t key : gone) {
      statement.run(key);
    }
  };
  erase_numbered("SELECT id FROM groups", "DELETE FROM groups WHERE id = ?", groups);
  erase_numbered("SELECT number FROM trees", "DELETE FROM trees WHERE number = ?", trees);
  std::vector<std::string> gone_jobs;
  for (Statement rows = db.prepare("SELECT id FROM jobs"); rows.step();) {
    if (!jobs.contains(std::string(rows.text(0)))) {
      gone_jobs.emplace_back(rows.text(0));
    }
  }
  Statement erase_job = db.prepare("DELETE FROM jobs WHERE id = ?");
  for (const std::string& job : gone_jobs) {
    erase_job.run(std::string_view(job));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> gone_members;
  for (Statement rows = db.prepare("SELECT group_id, rank FROM members"); rows.step();) {
    const std::pair key(rows.integer(0), rows.integer(1));
    if (!members.contains(key)) {
      gone_members.push_back(key);
    }
  }
  Statement erase_member = db.prepare("DELETE FROM members WHERE group_id = ? AND rank = ?");
  for (const auto& member : gone_members) {
    erase_member.run(member.first, member.second);
  }
  db.execute("DELETE FROM addresses WHERE next NOT BETWEEN 0 AND 4294967295");
}

} // namespace

struct SqliteStore::Open {
  explicit Open(const std::filesystem::path& path)
      : file(path), lock(path.string() + ".lock"), held(prepared(path)) {}

  /// Throws when the file has lost its name, so that writes would be lost with it.
  void expect_in_place();

  void with_room(const StoreOptions& options);
  /// The index of the log is a file that needs room; an exclusive connection does without it. No
  /// other process can read the database then, as long as it is open.
  void without_room();

  std::filesystem::path file;
  LockFile lock;
  /// The database itself, because anyone can remove the lock file. Closed after the database:
  /// closing a file drops the locks that SQLite has on it.
  HeldFile held;
  std::optional<FileIdentity> log; ///< the write-ahead log's, once it exists
  std::optional<Database> database;
  std::uint64_t epoch = 0;
  bool epoch_is_stored = true;
  std::string failure;
  std::optional<Writer> writer;
  std::optional<SoleLeadership> leadership;
};

void SqliteStore::Open::expect_in_place() {
  const std::string log_file = file.string() + "-wal";
  const auto found = identity_of(log_file);
  log = log ? log : found;
  if (!held.is_in_place() || found != log) {
    throw StoreError(
        Kind::failed,
        fmt::format("{} was removed or replaced while the manager runs, and what would "
                    "be written now would be lost; put it back, or start the manager "
                    "again",
                    held.is_in_place() ? log_file : file.string()));
  }
}

void SqliteStore::Open::with_room(const StoreOptions& options) {
  Database& db = database.emplace(file);
  db.execute("PRAGMA busy_timeout = 5000");
  check_format(db, file);
  // WAL with FULL: one fsync per transaction, and committed changes survive a power cut.
  db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
             "PRAGMA journal_size_limit = 67108864");
  if (options.size_limit_bytes != 0) {
    const auto page = static_cast<std::uint64_t>(db.integer("PRAGMA page_size"));
    const std::uint64_t pages =
        std::clamp<std::uint64_t>(options.size_limit_bytes / page, 1, 4'294'967'294);
    db.execute(fmt::format("PRAGMA max_page_count = {}", pages));
  }
  Transaction transaction(db);
  epoch = count_start(db, options.epochs);
  transaction.commit();
}

void SqliteStore::Open::without_room() {
  Database& db = database.emplace(file);
  db.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL;"
             "PRAGMA journal_size_limit = 67108864");
  check_format(db, file);
  epoch = next_epoch(db, file);
  epoch_is_stored = false;
}

SqliteStore::SqliteStore(const std::filesystem::path& file, const StoreOptions& options)
    : open_(std::make_unique<Open>(file)) {
  try {
    open_->with_room(options);
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_room) {
      throw;
    }
    open_->failure = error.what();
    open_->without_room();
  }
  open_->writer.emplace(*open_->database);
  open_->leadership.emplace(open_->epoch);
}

SqliteStore::~SqliteStore() = default;
SqliteStore::SqliteStore(SqliteStore&&) noexcept = default;
SqliteStore& SqliteStore::operator=(SqliteStore&&) noexcept = default;

std::uint64_t SqliteStore::epoch() const { return open_->epoch; }
const std::string& SqliteStore::failure() const { return open_->failure; }

records::Snapshot SqliteStore::load() { return read_all(*open_->database, open_->epoch); }

records::Snapshot SqliteStore::load_sound() {
  Database& db = *open_->database;
  records::Snapshot all = load();
  for (std::string& taken : records::take_out_unsound(all)) {
    all.set_aside.push_back(std::move(taken));
  }
  if (all.set_aside.empty()) {
    return all;
  }
  const std::string copy = fmt::format("{}.damaged-{}", open_->file.string(), open_->epoch);
  try {
    db.prepare("VACUUM INTO ?").run(std::string_view(copy));
    Transaction transaction(db);
    erase_all_but(db, all);
    transaction.commit();
    all.set_aside.push_back(fmt::format("the whole file as it was is kept as {}", copy));
  } catch (const StoreError& error) {
    // It stays in place, and is left out again at the next start.
    all.set_aside.push_back(fmt::format("no copy of the file could be made: {}", error.what()));
  }
  return all;
}

void SqliteStore::apply(std::span<const records::Change> changes) {
  if (changes.empty()) {
    return;
  }
  open_->expect_in_place();
  Transaction transaction(*open_->database);
  if (!open_->epoch_is_stored) {
    count_start(*open_->database);
  }
  for (const records::Change& change : changes) {
    std::visit(*open_->writer, change);
  }
  transaction.commit();
  open_->epoch_is_stored = true;
  open_->failure.clear();
}

void SqliteStore::expect_in_place() { open_->expect_in_place(); }
Leadership& SqliteStore::leadership() { return *open_->leadership; }

records::Snapshot read_store(const std::filesystem::path& file) {
  if (!identity_of(file)) {
    throw StoreError(Kind::failed, fmt::format("{} does not exist", file.string()));
  }
  Database db(file);
  db.execute("PRAGMA busy_timeout = 5000");
  check_format(db, file);
  db.execute("BEGIN"); // one state of all tables, and no lock that a manager would wait for
  const std::uint64_t next = next_epoch(db, file);
  records::Snapshot all = read_all(db, next - 1);
  db.roll_back();
  return all;
}

void make_store(const std::filesystem::path& file, const records::Snapshot& all) {
  if (identity_of(file)) {
    throw StoreError(Kind::failed,
                     fmt::format("{} exists; stop its manager and move it away, with the files "
                                 "beside it",
                                 file.string()));
  }
  const std::filesystem::path part = file.string() + ".import";
  std::error_code ignored;
  for (const char* const end : {"", "-wal", "-shm"}) {
    std::filesystem::remove(part.string() + end, ignored); // of an import that did not end
  }
  {
    SqliteStore store(part);
    if (!store.failure().empty()) {
      throw StoreError(Kind::no_room, store.failure());
    }
    store.apply(record_text::changes_of(all));
  }
  {
    Database db(part);
    Transaction transaction(db);
    db.execute(fmt::format("UPDATE meta SET value = {} WHERE key = 'epoch'", all.epoch));
    if (all.fabric != 0) {
      db.execute(fmt::format("UPDATE meta SET value = {} WHERE key = 'fabric'",
                             static_cast<std::int64_t>(all.fabric)));
    }
    transaction.commit();
  }
  std::filesystem::remove(part.string() + ".lock", ignored);
  std::error_code error;
  std::filesystem::rename(part, file, error);
  if (error) {
    throw StoreError(Kind::failed, fmt::format("{} cannot be renamed to {}: {}", part.string(),
                                               file.string(), error.message()));
  }
}

} // namespace tributary::store
