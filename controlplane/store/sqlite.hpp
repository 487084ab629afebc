// SQLite's C interface with owners and exceptions: a connection, and statements prepared once and
// run many times.
//
//   Statement put = database.prepare("INSERT INTO t VALUES (?, ?)");
//   put.run(1, "one");
//   Statement all = database.prepare("SELECT a, b FROM t");
//   while (all.step()) use(all.integer(0), all.text(1));
//
// Every function throws StoreError of the matching kind, with the file's name.
#pragma once

#include "controlplane/store/store_error.hpp"

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::store {

class Database;

class Statement {
public:
  /// Binds the parameters in order, runs the statement to the end, and resets it.
  template <typename... Values> void run(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    finish();
  }
  /// Moves to the next row. False at the end; then the statement can be run again.
  bool step();

  [[nodiscard]] bool null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string_view text(int column) const; ///< until the next step

private:
  friend class Database;
  Statement(Database& database, std::string_view sql);
  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view value); ///< must live until the statement has run
  template <std::integral Integer> void bind(int index, Integer value) {
    bind(index, static_cast<std::int64_t>(value));
  }
  template <typename Value> void bind(int index, const std::optional<Value>& value) {
    value ? bind(index, *value) : bind_null(index);
  }
  void bind_null(int index);
  void finish();
  void check(int result);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

class Database {
public:
  /// The file must exist; an empty one is an empty database.
  explicit Database(const std::filesystem::path& file);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] Statement prepare(std::string_view sql) { return {*this, sql}; }
  /// Statements without parameters; their rows are discarded.
  void execute(const std::string& sql);
  /// The one value of a one-row query.
  [[nodiscard]] std::int64_t integer(std::string_view sql);
  /// Rolls an open transaction back. Never throws.
  void roll_back() noexcept;

  /// Throws SQLite's last error.
  [[noreturn]] void fail() const;

private:
  friend class Statement;
  [[nodiscard]] int system_error() const;

  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Close> handle_;
};

} // namespace tributary::store
