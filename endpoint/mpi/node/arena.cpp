#include "endpoint/mpi/node/arena.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tributary::mpi::node {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t rounded(std::size_t bytes) { return (bytes + page - 1) / page * page; }

std::string reason() { return std::strerror(errno); }

/// Closes itself.
struct File {
  int descriptor;
  explicit File(int opened) : descriptor(opened) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
};

void* map(int descriptor, std::size_t bytes, int flags) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (at == MAP_FAILED) {
    throw std::runtime_error(
        fmt::format("no {} bytes of memory for the ranks of a node: {}", bytes, reason()));
  }
  return at;
}

} // namespace

// Head, seats, two results, parts; each begins a page.
Arena::Seat& Arena::seat(std::uint32_t rank) const {
  return reinterpret_cast<Seat*>(static_cast<std::byte*>(at_) + rounded(sizeof(Head)))[rank];
}

namespace {

std::size_t bytes_of(std::size_t head, std::size_t seat, std::uint32_t ranks, std::size_t part) {
  return rounded(head) + rounded(seat * ranks) + (ranks + 2) * rounded(part);
}

} // namespace

std::byte* Arena::result(StepNumber step) const {
  return static_cast<std::byte*>(at_) + rounded(sizeof(Head)) + rounded(sizeof(Seat) * ranks_) +
         (step % 2) * rounded(part_bytes_);
}

std::byte* Arena::part(std::uint32_t rank) const {
  return result(0) + (2 + rank) * rounded(part_bytes_);
}

Arena::Arena(void* at, std::size_t bytes, std::uint32_t ranks, std::size_t part_bytes)
    : at_(at), bytes_(bytes), ranks_(ranks), part_bytes_(part_bytes) {}

Arena::Arena(Arena&& other) noexcept
    : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_), ranks_(other.ranks_),
      part_bytes_(other.part_bytes_) {}

Arena::~Arena() {
  if (at_ != nullptr) {
    munmap(at_, bytes_);
  }
}

Arena Arena::attach(const std::string& name, std::uint32_t ranks, std::size_t part_bytes) {
  const std::size_t bytes = bytes_of(sizeof(Head), sizeof(Seat), ranks, part_bytes);
  const File file(shm_open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct stat facts {};
  if (file.descriptor < 0 || fstat(file.descriptor, &facts) != 0) {
    throw std::runtime_error(fmt::format("cannot make shared memory {}: {}", name, reason()));
  }
  if (facts.st_uid != geteuid()) {
    throw std::runtime_error(fmt::format(
        "shared memory {} belongs to user {}, not to this program's: the ranks of a node "
        "run as one user",
        name, facts.st_uid));
  }
  // Reserved, not only allocated lazily: a write to a missing page would kill the process. Where it
  // is there already, this changes nothing.
  if (const int error = posix_fallocate(file.descriptor, 0, static_cast<off_t>(bytes));
      error != 0) {
    throw std::runtime_error(
        fmt::format("/dev/shm has no room for {} bytes, which {} ranks of a node need: {}; make it "
                    "larger, or free what other programs left there",
                    bytes, ranks, std::strerror(error)));
  }
  Arena arena(map(file.descriptor, bytes, MAP_SHARED), bytes, ranks, part_bytes);
  if (arena.head().attached.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
    remove_name(name);
  }
  return arena;
}

Arena Arena::alone(std::size_t part_bytes) {
  const std::size_t bytes = bytes_of(sizeof(Head), sizeof(Seat), 1, part_bytes);
  return {map(-1, bytes, MAP_PRIVATE | MAP_ANONYMOUS), bytes, 1, part_bytes};
}

void Arena::remove_name(const std::string& name) { shm_unlink(name.c_str()); }

void Arena::arrive(std::uint32_t rank, StepNumber step, const Terms& terms) {
  seat(rank).terms = terms;
  seat(rank).arrived.store(step, std::memory_order_release);
  if (rank != 0) {
    head().arrivals.raise();
  }
}

void Arena::wait_for_all(StepNumber step, const Idle& idle) {
  std::uint32_t next = 0; // all before it have arrived
  head().arrivals.wait_until(
      [&] {
        while (next < ranks_ && has_arrived(next, step)) {
          ++next;
        }
        return next == ranks_;
      },
      idle);
}

void Arena::finish(StepNumber step) {
  head().finished.store(step, std::memory_order_release);
  if (ranks_ > 1) {
    head().results.raise();
  }
}

void Arena::wait_for_result(StepNumber step, const Idle& idle) {
  head().results.wait_until([&] { return head().finished.load(std::memory_order_acquire) >= step; },
                            idle);
}

bool Arena::enter(std::uint32_t rank, CallNumber call) {
  seat(rank).entered.store(call, std::memory_order_seq_cst);
  if (head().frozen.load(std::memory_order_seq_cst) == 0) {
    return true;
  }
  head().results.wait_until([&] { return head().decided.load(std::memory_order_acquire) != 0; },
                            [] {});
  return call < head().decided.load(std::memory_order_acquire);
}

CallNumber Arena::freeze() {
  head().frozen.store(1, std::memory_order_seq_cst);
  CallNumber last = 0;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    last = std::max(last, seat(rank).entered.load(std::memory_order_seq_cst));
  }
  return last;
}

void Arena::decide(CallNumber last) {
  head().decided.store(last + 1, std::memory_order_release);
  head().results.raise();
}

bool Arena::is_frozen() const { return head().frozen.load(std::memory_order_acquire) != 0; }

void Arena::vacate() { head().vacated.store(1, std::memory_order_release); }

bool Arena::is_vacated() const { return head().vacated.load(std::memory_order_acquire) != 0; }

namespace {

/// FNV-1a.
class Hash {
public:
  void mix(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
  }
  void mix_boot() {
    std::array<char, 256> text{};
    const File boot(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (const auto n = boot.descriptor < 0 ? 0 : read(boot.descriptor, text.data(), text.size());
        n > 0) {
      mix({text.data(), static_cast<std::size_t>(n)});
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

} // namespace

std::uint64_t node_identity() {
  // What determines which ranks can share memory: the machine, and the file system of /dev/shm.
  Hash hash;
  std::array<char, 256> text{};
  if (gethostname(text.data(), text.size() - 1) == 0) {
    hash.mix(text.data());
  }
  hash.mix_boot();
  for (const char* const place : {"/dev/shm", "/proc/self/ns/net"}) {
    struct stat facts {};
    if (stat(place, &facts) == 0) {
      hash.mix(fmt::format("{}:{} ", facts.st_dev, facts.st_ino));
    }
  }
  return hash.value();
}

std::uint64_t machine_identity() {
  Hash hash;
  hash.mix_boot();
  return hash.value();
}

} // namespace tributary::mpi::node
