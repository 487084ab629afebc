#include "endpoint/mpi/node/shared_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <stdexcept>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace tributary::mpi::node {

using contexts::NodeSet;
using contexts::NodeTable;
using contexts::ProcessId;

struct SharedTable::Memory {
  struct Set {
    NodeSet nodes;
    SetPlace place;
  };
  std::uint32_t is_initialised; ///< written last, under the lock of the file
  std::atomic<std::uint32_t> attached;
  std::atomic<std::uint64_t> version;
  pthread_mutex_t mutex; ///< guards all below
  std::array<ProcessId, most_processes> processes;
  std::uint32_t next_set;
  std::array<Set, std::size_t{2} * NodeTable::most_pools> sets;
  alignas(NodeTable) std::array<std::byte, sizeof(NodeTable)> table;
};

namespace {

std::string reason(int error) { return std::strerror(error); }

/// A lock of the file that this process alone has, until it is unlocked or the process ends.
class FileLock {
public:
  explicit FileLock(int file) : file_(file) {
    while (flock(file_, LOCK_EX) != 0) {
      if (errno != EINTR) {
        throw std::runtime_error(
            fmt::format("the memory that the processes of this node share cannot be locked: {}",
                        reason(errno)));
      }
    }
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() { flock(file_, LOCK_UN); }

private:
  int file_;
};

/// The lock of a process's place: a byte of the file.
struct flock place_lock(std::uint32_t place, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

} // namespace

SharedTable::SharedTable(Memory* memory, int file, ProcessId self)
    : memory_(memory), file_(file), self_(self) {}

SharedTable::SharedTable(SharedTable&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), file_(std::exchange(other.file_, -1)),
      self_(other.self_), place_(other.place_) {}

void SharedTable::initialise(Memory& memory) {
  if (memory.is_initialised != 0) {
    return;
  }
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int error = pthread_mutex_init(&memory.mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  if (error != 0) {
    throw std::runtime_error(fmt::format(
        "no lock for the memory that the processes of this node share: {}", reason(error)));
  }
  new (memory.table.data()) NodeTable;
  std::atomic_thread_fence(std::memory_order_release);
  memory.is_initialised = 1;
}

SharedTable SharedTable::attach(const std::string& name, std::uint32_t ranks, ProcessId self) {
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  struct stat facts {};
  if (file < 0 || fstat(file, &facts) != 0) {
    const int error = errno;
    if (file >= 0) {
      close(file);
    }
    throw std::runtime_error(fmt::format("cannot make shared memory {}: {}", name, reason(error)));
  }
  SharedTable table(nullptr, file, self); // closes the file
  if (facts.st_uid != geteuid()) {
    throw std::runtime_error(fmt::format("shared memory {} belongs to user {}, not to this "
                                         "program's: the ranks of a node run as one user",
                                         name, facts.st_uid));
  }
  const FileLock lock(file);
  if (const int error = posix_fallocate(file, 0, sizeof(Memory)); error != 0) {
    throw std::runtime_error(
        fmt::format("/dev/shm has no room for {} bytes, which the ranks of a node need: {}; make "
                    "it larger, or free what other programs left there",
                    sizeof(Memory), reason(error)));
  }
  void* const at = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    throw std::runtime_error(fmt::format("no {} bytes of memory for the ranks of a node: {}",
                                         sizeof(Memory), reason(errno)));
  }
  table.memory_ = static_cast<Memory*>(at);
  initialise(*table.memory_);
  table.register_self();
  if (table.memory_->attached.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
    remove_name(name);
  }
  return table;
}

SharedTable SharedTable::alone(ProcessId self) {
  void* const at =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    throw std::runtime_error(fmt::format("no {} bytes of memory for the trees of communicators: {}",
                                         sizeof(Memory), reason(errno)));
  }
  SharedTable table(static_cast<Memory*>(at), -1, self);
  initialise(*table.memory_);
  table.register_self();
  return table;
}

void SharedTable::remove_name(const std::string& name) { shm_unlink(name.c_str()); }

void SharedTable::register_self() {
  const Lock held = lock();
  static_cast<void>(reap_locked());
  auto& all = memory_->processes;
  const auto found = std::find(all.begin(), all.end(), ProcessId{});
  if (found == all.end()) {
    throw std::runtime_error(
        fmt::format("more than {} processes of one job on this node", most_processes));
  }
  const auto place = static_cast<std::uint32_t>(found - all.begin());
  if (file_ >= 0) {
    struct flock alive = place_lock(place, F_WRLCK);
    if (fcntl(file_, F_SETLK, &alive) != 0) {
      throw std::runtime_error(fmt::format(
          "the memory that the processes of this node share cannot be locked: {}", reason(errno)));
    }
  }
  *found = self_;
  place_ = place;
}

SharedTable::~SharedTable() {
  if (memory_ != nullptr) {
    if (place_ < most_processes) {
      const Lock held = lock();
      held->process_ended(self_);
      memory_->processes[place_] = {};
      held.changed();
    }
    munmap(memory_, sizeof(Memory));
  }
  if (file_ >= 0) {
    close(file_);
  }
}

std::uint64_t SharedTable::version() const {
  return memory_->version.load(std::memory_order_acquire);
}

std::uint32_t SharedTable::reap() const {
  const Lock held = lock();
  return reap_locked();
}

std::uint32_t SharedTable::reap_locked() const {
  std::uint32_t dead = 0;
  for (std::uint32_t place = 0; file_ >= 0 && place < most_processes; ++place) {
    ProcessId& process = memory_->processes[place];
    if (process == ProcessId{} || process == self_) {
      continue;
    }
    struct flock alive = place_lock(place, F_WRLCK);
    if (fcntl(file_, F_GETLK, &alive) == 0 && alive.l_type == F_UNLCK) {
      reinterpret_cast<NodeTable*>(memory_->table.data())->process_ended(process);
      process = {};
      ++dead;
    }
  }
  if (dead > 0) {
    memory_->version.fetch_add(1, std::memory_order_acq_rel);
  }
  return dead;
}

SharedTable::Lock::Lock(const SharedTable& table) : table_(table) {
  if (pthread_mutex_lock(&table.memory_->mutex) == EOWNERDEAD) {
    (*this)->repair();
    pthread_mutex_consistent(&table.memory_->mutex);
    static_cast<void>(table.reap_locked());
  }
}

SharedTable::Lock::~Lock() { pthread_mutex_unlock(&table_.memory_->mutex); }

NodeTable& SharedTable::Lock::operator*() const {
  return *reinterpret_cast<NodeTable*>(table_.memory_->table.data());
}

void SharedTable::Lock::changed() const {
  table_.memory_->version.fetch_add(1, std::memory_order_acq_rel);
}

void SharedTable::Lock::set_place(NodeSet nodes, const SetPlace& place) const {
  if (place_in(nodes)) {
    return;
  }
  Memory& memory = *table_.memory_;
  const std::size_t at = memory.next_set++ % memory.sets.size();
  memory.sets[at].place = place;
  memory.sets[at].nodes = nodes;
}

std::optional<SetPlace> SharedTable::Lock::place_in(NodeSet nodes) const {
  const auto& sets = table_.memory_->sets;
  const auto found = std::find_if(sets.begin(), sets.end(),
                                  [&](const Memory::Set& one) { return one.nodes == nodes; });
  return found == sets.end() ? std::nullopt : std::optional(found->place);
}

} // namespace tributary::mpi::node
