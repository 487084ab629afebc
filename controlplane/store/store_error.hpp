// Errors of the store.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tributary::store {

class StoreError : public std::runtime_error {
public:
  enum class Kind : std::uint8_t {
    not_a_database, ///< the file, or what is under the prefix, is something else, or damaged
    other_version,  ///< written by a program of another version
    locked,         ///< another manager uses it
    no_permission,
    no_room,     ///< disk, quota or file size limit; try again when there is room
    fenced,      ///< another manager leads: this one may neither write nor answer any more
    unreachable, ///< etcd does not answer, or has no leader
    unfinished,  ///< it was filled in part only, by an import that did not end
    failed,      ///< any other error of the disk, SQLite or etcd
  };
  StoreError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

private:
  Kind kind_;
};

} // namespace tributary::store
