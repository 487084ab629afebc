// What the processes of a job on one node know of the trees that their communicators share
// (contexts/node_table.hpp), in memory that they share, under a lock that a process which dies does
// not keep.
//
//   const SharedTable table = SharedTable::attach(name, ranks, self);
//   {
//     const SharedTable::Lock lock = table.lock();
//     lock->ready(...);
//     lock.changed();                 others look again (version())
//   }
//
// Each rank of the node makes or opens it, and waits for no other rank; the last one removes the
// name. Who initialises it holds a lock of the file, which ends with its process.
//
// A process is alive as long as it holds the lock of its place in the file. The kernel takes that
// away when the process ends, however it ends, and in whatever namespace it is; a number of a
// process could be another's by then. (A child after fork() does not hold it.)
#pragma once

#include "endpoint/contexts/node_table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <pthread.h>

namespace tributary::mpi::node {

/// The place of this node in a set of nodes, by which it is a member of the set's trees.
struct SetPlace {
  std::uint32_t place = 0;
  std::uint32_t nodes = 0;
};

class SharedTable {
public:
  static constexpr std::uint32_t most_processes = 2048;

  /// `name` ("/something") is known to the `ranks` ranks of the node only, which give the same
  /// numbers. Throws std::runtime_error, also without enough room.
  static SharedTable attach(const std::string& name, std::uint32_t ranks, contexts::ProcessId self);
  /// For a process that shares trees with no other one of its node. Throws std::runtime_error.
  static SharedTable alone(contexts::ProcessId self);
  /// Removes the name, if it is there; the memory stays.
  static void remove_name(const std::string& name);

  SharedTable(SharedTable&& other) noexcept;
  SharedTable& operator=(SharedTable&&) = delete;
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;
  /// What the process used is free.
  ~SharedTable();

  class Lock {
  public:
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();
    [[nodiscard]] contexts::NodeTable& operator*() const;
    contexts::NodeTable* operator->() const { return &**this; }
    /// A tree has become ready, has moved or has ended.
    void changed() const;
    /// The node's place in a set of nodes, for a process that adopts a tree of it. The oldest set
    /// is forgotten where there are too many.
    void set_place(contexts::NodeSet nodes, const SetPlace& place) const;
    [[nodiscard]] std::optional<SetPlace> place_in(contexts::NodeSet nodes) const;

  private:
    friend class SharedTable;
    explicit Lock(const SharedTable& table);
    const SharedTable& table_;
  };
  [[nodiscard]] Lock lock() const { return Lock(*this); }

  [[nodiscard]] contexts::ProcessId self() const { return self_; }
  /// Counts changes; read without the lock.
  [[nodiscard]] std::uint64_t version() const;
  /// Reports the processes that have died to the table. Returns their number.
  std::uint32_t reap() const;

private:
  struct Memory;
  SharedTable(Memory* memory, int file, contexts::ProcessId self);
  /// Under the lock of the file.
  static void initialise(Memory& memory);
  void register_self();
  std::uint32_t reap_locked() const;

  Memory* memory_;
  int file_; ///< -1: alone
  contexts::ProcessId self_;
  std::uint32_t place_ = most_processes; ///< of this process
};

} // namespace tributary::mpi::node
