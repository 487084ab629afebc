#include "endpoint/mpi/collectives/packed.hpp"

#include <algorithm>

namespace tributary::mpi::collectives {

Packed::Packed(void* buffer, int count, MPI_Datatype datatype, std::size_t bytes, MPI_Comm comm)
    : buffer_(buffer), count_(count), datatype_(datatype), size_(bytes), comm_(comm) {
  int room = 0;
  PMPI_Pack_size(count, datatype, comm, &room);
  bytes_.resize(std::max(static_cast<std::size_t>(room), bytes));
  if (buffer != MPI_BOTTOM) {
    // The program may free its datatype as soon as a persistent operation is initialised with it.
    PMPI_Type_dup(datatype, &own_);
    datatype_ = own_;
    return;
  }
  // MPICH's MPI_Pack refuses MPI_BOTTOM, so there the elements are described relative to our own
  // buffer.
  MPI_Aint back = 0;
  PMPI_Get_address(bytes_.data(), &back);
  back = -back;
  PMPI_Type_create_hindexed(1, &count, &back, datatype, &own_);
  PMPI_Type_commit(&own_);
  buffer_ = bytes_.data();
  count_ = 1;
  datatype_ = own_;
}

Packed::~Packed() { PMPI_Type_free(&own_); }

void Packed::pack() {
  int at = 0;
  PMPI_Pack(buffer_, count_, datatype_, bytes_.data(), static_cast<int>(bytes_.size()), &at, comm_);
}

void Packed::unpack() {
  int at = 0;
  PMPI_Unpack(bytes_.data(), static_cast<int>(size_), &at, buffer_, count_, datatype_, comm_);
}

} // namespace tributary::mpi::collectives
