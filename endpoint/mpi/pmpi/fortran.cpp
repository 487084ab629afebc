// Fortran's functions that call the PMPI_ ones, and so bypass the replacements in calls.cpp and
// life.cpp. So they are replaced, too; each is C's function with C's handles.
//
//   Open MPI  all: for the symbol that mpif.h and `use mpi` call, and for that of `use mpi_f08`;
//             both have these arguments
//   MPICH     those of `use mpi_f08` without a buffer; all others call the MPI_ functions
//
// Functions that are not replaced here, also non-blocking ones, are the MPI library's: a request
// that Fortran waits for must be one that MPI knows (requests.cpp). MPICH's MPI_Iallreduce of
// mpi_f08 calls C's, but its MPI_Wait does not, so that one is left to the library; and so are its
// persistent operations, whose MPI_Start does not.
#include "endpoint/mpi/collectives/later_calls.hpp"
#include "endpoint/mpi/collectives/newer.hpp"

#include <mpi.h>

#ifdef OPEN_MPI

// Fortran's MPI_IN_PLACE and MPI_BOTTOM, which are identified by their addresses. A program in C
// does not have them.
extern "C" char mpi_fortran_in_place_ __attribute__((weak));
extern "C" char mpi_fortran_bottom_ __attribute__((weak));

// Only in libraries that have sessions.
extern "C" MPI_Fint PMPI_Session_c2f(MPI_Session session) __attribute__((weak));
extern "C" MPI_Session PMPI_Session_f2c(MPI_Fint session) __attribute__((weak));

namespace {

/// A buffer as C passes it.
void* buffer(void* given) {
  if (given == &mpi_fortran_in_place_) {
    return MPI_IN_PLACE;
  }
  return given == &mpi_fortran_bottom_ ? MPI_BOTTOM : given;
}

MPI_Comm comm_of(const MPI_Fint* handle) { return PMPI_Comm_f2c(*handle); }
MPI_Datatype type_of(const MPI_Fint* handle) { return PMPI_Type_f2c(*handle); }
MPI_Op op_of(const MPI_Fint* handle) { return PMPI_Op_f2c(*handle); }

/// The common part of the functions that end a communicator.
void end(MPI_Fint* comm, MPI_Fint* error, int (*function)(MPI_Comm*)) {
  MPI_Comm handle = comm_of(comm);
  *error = function(&handle);
  if (*error == MPI_SUCCESS) {
    *comm = PMPI_Comm_c2f(handle);
  }
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming)
/// Defines a function under both of its names.
#define TRIBUTARY_FORTRAN(name, ...)                                                               \
  void mpi_##name##_(__VA_ARGS__) __attribute__((alias("ompi_" #name "_f")));                      \
  void ompi_##name##_f(__VA_ARGS__)

extern "C" {

TRIBUTARY_FORTRAN(init, MPI_Fint* error) { *error = MPI_Init(nullptr, nullptr); }

TRIBUTARY_FORTRAN(init_thread, MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
  int level = 0;
  *error = MPI_Init_thread(nullptr, nullptr, *required, &level);
  *provided = level;
}

TRIBUTARY_FORTRAN(finalize, MPI_Fint* error) { *error = MPI_Finalize(); }

TRIBUTARY_FORTRAN(session_init, MPI_Fint* info, MPI_Fint* handler, MPI_Fint* session,
                  MPI_Fint* error) {
  MPI_Session made{};
  *error = MPI_Session_init(PMPI_Info_f2c(*info), PMPI_Errhandler_f2c(*handler), &made);
  if (*error == MPI_SUCCESS) {
    *session = PMPI_Session_c2f(made);
  }
}

TRIBUTARY_FORTRAN(session_finalize, MPI_Fint* session, MPI_Fint* error) {
  MPI_Session given = PMPI_Session_f2c(*session);
  *error = MPI_Session_finalize(&given);
  if (*error == MPI_SUCCESS) {
    *session = PMPI_Session_c2f(given);
  }
}

TRIBUTARY_FORTRAN(comm_free, MPI_Fint* comm, MPI_Fint* error) { end(comm, error, MPI_Comm_free); }

TRIBUTARY_FORTRAN(comm_disconnect, MPI_Fint* comm, MPI_Fint* error) {
  end(comm, error, MPI_Comm_disconnect);
}

TRIBUTARY_FORTRAN(allreduce, void* in, void* out, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* op,
                  MPI_Fint* comm, MPI_Fint* error) {
  *error =
      MPI_Allreduce(buffer(in), buffer(out), *count, type_of(datatype), op_of(op), comm_of(comm));
}

TRIBUTARY_FORTRAN(reduce, void* in, void* out, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* op,
                  MPI_Fint* root, MPI_Fint* comm, MPI_Fint* error) {
  *error = MPI_Reduce(buffer(in), buffer(out), *count, type_of(datatype), op_of(op), *root,
                      comm_of(comm));
}

TRIBUTARY_FORTRAN(reduce_scatter_block, void* in, void* out, MPI_Fint* count, MPI_Fint* datatype,
                  MPI_Fint* op, MPI_Fint* comm, MPI_Fint* error) {
  *error = MPI_Reduce_scatter_block(buffer(in), buffer(out), *count, type_of(datatype), op_of(op),
                                    comm_of(comm));
}

TRIBUTARY_FORTRAN(reduce_scatter, void* in, void* out, MPI_Fint* counts, MPI_Fint* datatype,
                  MPI_Fint* op, MPI_Fint* comm, MPI_Fint* error) {
  static_assert(sizeof(MPI_Fint) == sizeof(int));
  *error = MPI_Reduce_scatter(buffer(in), buffer(out), counts, type_of(datatype), op_of(op),
                              comm_of(comm));
}

TRIBUTARY_FORTRAN(bcast, void* data, MPI_Fint* count, MPI_Fint* datatype, MPI_Fint* root,
                  MPI_Fint* comm, MPI_Fint* error) {
  *error = MPI_Bcast(buffer(data), *count, type_of(datatype), *root, comm_of(comm));
}

TRIBUTARY_FORTRAN(barrier, MPI_Fint* comm, MPI_Fint* error) { *error = MPI_Barrier(comm_of(comm)); }

} // extern "C"
// NOLINTEND(readability-identifier-naming)

#else

#include <dlfcn.h>

namespace {

using tributary::mpi::collectives::LeftToLibrary;

/// Sets the error code; the argument is optional in Fortran.
void answer(MPI_Fint* error, int code) {
  if (error != nullptr) {
    *error = code;
  }
}

/// Calls the library's function as a whole: no call within it is ours. Its arguments are addresses,
/// for buffers those of Fortran's descriptors, which only it reads.
template <typename... Addresses> void leave(const char* symbol, Addresses... arguments) {
  using Function = void (*)(Addresses...);
  const auto of_library = reinterpret_cast<Function>(dlsym(RTLD_NEXT, symbol));
  const LeftToLibrary whole_call;
  of_library(arguments...);
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

void mpi_init_f08_(MPI_Fint* error) { answer(error, MPI_Init(nullptr, nullptr)); }

void mpi_init_thread_f08_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* error) {
  answer(error, MPI_Init_thread(nullptr, nullptr, *required, provided));
}

void mpi_finalize_f08_(MPI_Fint* error) { answer(error, MPI_Finalize()); }

void mpi_comm_free_f08_(MPI_Fint* comm, MPI_Fint* error) { answer(error, MPI_Comm_free(comm)); }

void mpi_comm_disconnect_f08_(MPI_Fint* comm, MPI_Fint* error) {
  answer(error, MPI_Comm_disconnect(comm));
}

void mpi_barrier_f08_(const MPI_Fint* comm, MPI_Fint* error) { answer(error, MPI_Barrier(*comm)); }

void mpi_session_init_f08_(const MPI_Fint* info, const MPI_Fint* handler, MPI_Fint* session,
                           MPI_Fint* error) {
  answer(error, MPI_Session_init(*info, *handler, session));
}

void mpi_session_finalize_f08_(MPI_Fint* session, MPI_Fint* error) {
  answer(error, MPI_Session_finalize(session));
}

void mpi_iallreduce_f08ts_(void* in, void* out, void* count, void* datatype, void* op, void* comm,
                           void* request, void* error) {
  leave("mpi_iallreduce_f08ts_", in, out, count, datatype, op, comm, request, error);
}
void mpi_iallreduce_f08ts_large_(void* in, void* out, void* count, void* datatype, void* op,
                                 void* comm, void* request, void* error) {
  leave("mpi_iallreduce_f08ts_large_", in, out, count, datatype, op, comm, request, error);
}
void mpi_allreduce_init_f08ts_(void* in, void* out, void* count, void* datatype, void* op,
                               void* comm, void* info, void* request, void* error) {
  leave("mpi_allreduce_init_f08ts_", in, out, count, datatype, op, comm, info, request, error);
}
void mpi_allreduce_init_f08ts_large_(void* in, void* out, void* count, void* datatype, void* op,
                                     void* comm, void* info, void* request, void* error) {
  leave("mpi_allreduce_init_f08ts_large_", in, out, count, datatype, op, comm, info, request,
        error);
}
void mpi_reduce_init_f08ts_(void* in, void* out, void* count, void* datatype, void* op, void* root,
                            void* comm, void* info, void* request, void* error) {
  leave("mpi_reduce_init_f08ts_", in, out, count, datatype, op, root, comm, info, request, error);
}
void mpi_reduce_init_f08ts_large_(void* in, void* out, void* count, void* datatype, void* op,
                                  void* root, void* comm, void* info, void* request, void* error) {
  leave("mpi_reduce_init_f08ts_large_", in, out, count, datatype, op, root, comm, info, request,
        error);
}
void mpi_reduce_scatter_block_init_f08ts_(void* in, void* out, void* count, void* datatype,
                                          void* op, void* comm, void* info, void* request,
                                          void* error) {
  leave("mpi_reduce_scatter_block_init_f08ts_", in, out, count, datatype, op, comm, info, request,
        error);
}
void mpi_reduce_scatter_block_init_f08ts_large_(void* in, void* out, void* count, void* datatype,
                                                void* op, void* comm, void* info, void* request,
                                                void* error) {
  leave("mpi_reduce_scatter_block_init_f08ts_large_", in, out, count, datatype, op, comm, info,
        request, error);
}
void mpi_reduce_scatter_init_f08ts_(void* in, void* out, void* counts, void* datatype, void* op,
                                    void* comm, void* info, void* request, void* error) {
  leave("mpi_reduce_scatter_init_f08ts_", in, out, counts, datatype, op, comm, info, request,
        error);
}
void mpi_reduce_scatter_init_f08ts_large_(void* in, void* out, void* counts, void* datatype,
                                          void* op, void* comm, void* info, void* request,
                                          void* error) {
  leave("mpi_reduce_scatter_init_f08ts_large_", in, out, counts, datatype, op, comm, info, request,
        error);
}
void mpi_bcast_init_f08ts_(void* buffer, void* count, void* datatype, void* root, void* comm,
                           void* info, void* request, void* error) {
  leave("mpi_bcast_init_f08ts_", buffer, count, datatype, root, comm, info, request, error);
}
void mpi_bcast_init_f08ts_large_(void* buffer, void* count, void* datatype, void* root, void* comm,
                                 void* info, void* request, void* error) {
  leave("mpi_bcast_init_f08ts_large_", buffer, count, datatype, root, comm, info, request, error);
}

} // extern "C"
  // NOLINTEND(readability-identifier-naming)

#endif
