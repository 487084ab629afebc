#include "controlplane/store/schema.hpp"

#include <fmt/format.h>

#include <array>

namespace tributary::store {
namespace {

/// "Trib"
constexpr std::int64_t application_id = 0x54726962;

constexpr const char* version_1 = R"sql(
  CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('epoch', 0);

  CREATE TABLE jobs (
    id              TEXT PRIMARY KEY,
    multicast_limit INTEGER NOT NULL,
    token           TEXT NOT NULL,
    vni             INTEGER,
    ending          INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE groups (
    id          INTEGER PRIMARY KEY,
    job         TEXT NOT NULL,
    name        TEXT NOT NULL,
    step        TEXT NOT NULL,
    multicast   INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    trees       INTEGER NOT NULL,
    wanted_root INTEGER,
    root        INTEGER,
    vni         INTEGER NOT NULL,
    cookie      INTEGER NOT NULL,
    timeout_us  INTEGER NOT NULL,
    state       TEXT NOT NULL
  ) STRICT;

  CREATE TABLE members (
    group_id INTEGER NOT NULL,
    rank     INTEGER NOT NULL,
    nid      INTEGER NOT NULL,
    host     TEXT NOT NULL,
    state    TEXT NOT NULL,
    PRIMARY KEY (group_id, rank)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE trees (
    number     INTEGER PRIMARY KEY,
    group_id   INTEGER NOT NULL,
    tree_index INTEGER NOT NULL,
    form       TEXT NOT NULL
  ) STRICT;
  CREATE INDEX trees_of_group ON trees (group_id);

  CREATE TABLE addresses (
    space TEXT PRIMARY KEY,
    next  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE topology (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    document TEXT NOT NULL
  ) STRICT;
)sql";

/// A job's allowed hosts: decimal numbers separated by commas; NULL: any.
constexpr const char* version_2 = R"sql(
  ALTER TABLE jobs ADD COLUMN hosts TEXT;
  ALTER TABLE jobs ADD COLUMN vnis TEXT;
)sql";

/// The topology, one row for each record. The document stays until the manager, which can read it,
/// has stored it in this form.
constexpr const char* version_3 = R"sql(
  CREATE TABLE switches (
    number INTEGER PRIMARY KEY,
    name   TEXT NOT NULL,
    guid   INTEGER NOT NULL,
    ports  INTEGER NOT NULL,
    up     INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE cables (
    number     INTEGER PRIMARY KEY,
    a_switch   INTEGER NOT NULL,
    a_port     INTEGER NOT NULL,
    b_switch   INTEGER NOT NULL,
    b_port     INTEGER NOT NULL,
    speed_mbps INTEGER NOT NULL,
    up         INTEGER NOT NULL,
    plugged    INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE hosts (
    nid       INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    at_switch INTEGER NOT NULL,
    at_port   INTEGER NOT NULL,
    up        INTEGER NOT NULL,
    plugged   INTEGER NOT NULL
  ) STRICT;
)sql";

/// Switches that the operator has drained, by name.
constexpr const char* version_4 = R"sql(
  CREATE TABLE drains (
    at TEXT PRIMARY KEY
  ) STRICT, WITHOUT ROWID;
)sql";

/// RDMA retransmit policies, only the values that were set; VNI 65536: all VNIs. And peers that the
/// operator has parked.
constexpr const char* version_5 = R"sql(
  CREATE TABLE rdma_settings (
    vni   INTEGER NOT NULL,
    field TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (vni, field)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE rdma_parks (
    vni INTEGER NOT NULL,
    nid INTEGER NOT NULL,
    PRIMARY KEY (vni, nid)
  ) STRICT, WITHOUT ROWID;
)sql";

/// Wide frames: the most that a group requested, what it has and why not more, and what members
/// support. Older groups and members have none.
constexpr const char* version_6 = R"sql(
  ALTER TABLE groups ADD COLUMN wanted_slots INTEGER NOT NULL DEFAULT 128;
  ALTER TABLE groups ADD COLUMN wanted_payload INTEGER NOT NULL DEFAULT 65472;
  ALTER TABLE groups ADD COLUMN slots INTEGER NOT NULL DEFAULT 8;
  ALTER TABLE groups ADD COLUMN payload INTEGER NOT NULL DEFAULT 32;
  ALTER TABLE groups ADD COLUMN half_floats INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE groups ADD COLUMN frames_note TEXT NOT NULL DEFAULT '';
  ALTER TABLE members ADD COLUMN slots INTEGER NOT NULL DEFAULT 8;
  ALTER TABLE members ADD COLUMN payload INTEGER NOT NULL DEFAULT 32;
)sql";

/// What launchers were given for jobs: JSON; NULL: nothing.
constexpr const char* version_7 = R"sql(
  ALTER TABLE jobs ADD COLUMN allocation TEXT;
)sql";

/// In-switch results: whether a group asked for them (0 unspecified, 1 yes, 2 no), whether it has
/// them, and why not; and which members support them. Older members do not, so that older groups
/// have none.
constexpr const char* version_8 = R"sql(
  ALTER TABLE groups ADD COLUMN wanted_turn INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE groups ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE groups ADD COLUMN turn_note TEXT NOT NULL DEFAULT '';
  ALTER TABLE members ADD COLUMN knows_turn INTEGER NOT NULL DEFAULT 0;
)sql";

/// The order in which jobs lost VNIs, and which of those are in quarantine.
constexpr const char* version_9 = R"sql(
  CREATE TABLE vni_releases (
    vni           INTEGER PRIMARY KEY,
    number        INTEGER NOT NULL,
    in_quarantine INTEGER NOT NULL
  ) STRICT;
)sql";

constexpr std::array steps_from_the_first = {version_1, version_2, version_3, version_4, version_5,
                                             version_6, version_7, version_8, version_9};

} // namespace

std::span<const char* const> migrations() { return steps_from_the_first; }

void check_format(Database& database, const std::filesystem::path& file) {
  using Kind = StoreError::Kind;
  const std::int64_t tables = database.integer("SELECT count(*) FROM sqlite_schema");
  if (tables == 0) {
    return; // a new file
  }
  const std::int64_t application = database.integer("PRAGMA application_id");
  if (application != application_id) {
    throw StoreError(Kind::not_a_database,
                     fmt::format("{} is an SQLite database, but not a fabric manager's store; "
                                 "configure another file",
                                 file.string()));
  }
  const std::int64_t version = database.integer("PRAGMA user_version");
  const auto known = static_cast<std::int64_t>(migrations().size());
  if (version > known) {
    throw StoreError(Kind::newer_version,
                     fmt::format("{} has format version {}, and this program knows versions up to "
                                 "{}: it was written by a newer tributary-fabricd; start that one, "
                                 "or configure another file",
                                 file.string(), version, known));
  }
  Statement check = database.prepare("PRAGMA quick_check(1)");
  if (check.step() && check.text(0) != "ok") {
    throw StoreError(Kind::not_a_database,
                     fmt::format("{} is damaged: {}; move it away and put a back-up in its place",
                                 file.string(), check.text(0)));
  }
}

std::uint64_t next_epoch(Database& database, const std::filesystem::path& file) {
  const auto version = static_cast<std::size_t>(database.integer("PRAGMA user_version"));
  if (version < migrations().size()) {
    throw StoreError(StoreError::Kind::no_room,
                     fmt::format("{}: there is no room for {}; make room and start again",
                                 file.string(),
                                 version == 0 ? "a new store" : "bringing it up to date"));
  }
  return static_cast<std::uint64_t>(
      database.integer("SELECT value + 1 FROM meta WHERE key = 'epoch'"));
}

std::uint64_t migrate_and_count(Database& database, std::span<const char* const> steps) {
  const auto version = static_cast<std::size_t>(database.integer("PRAGMA user_version"));
  for (std::size_t step = version; step < steps.size(); ++step) {
    database.execute(steps[step]);
  }
  database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                               application_id, steps.size()));
  database.execute("UPDATE meta SET value = value + 1 WHERE key = 'epoch'");
  return static_cast<std::uint64_t>(database.integer("SELECT value FROM meta WHERE key = 'epoch'"));
}

} // namespace tributary::store
