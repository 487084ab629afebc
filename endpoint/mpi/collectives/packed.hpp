// The elements of a broadcast with a derived datatype, as contiguous bytes.
#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

namespace tributary::mpi::collectives {

class Packed {
public:
  /// `bytes`: the size of all elements. The program keeps the buffer.
  Packed(void* buffer, int count, MPI_Datatype datatype, std::size_t bytes, MPI_Comm comm);
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  ~Packed();

  [[nodiscard]] std::byte* data() { return bytes_.data(); }
  /// Copies from the program's buffer.
  void pack();
  /// Copies to the program's buffer.
  void unpack();

private:
  void* buffer_;
  int count_;
  MPI_Datatype datatype_;
  MPI_Datatype own_ = MPI_DATATYPE_NULL;
  std::size_t size_;
  MPI_Comm comm_;
  std::vector<std::byte> bytes_;
};

} // namespace tributary::mpi::collectives
