// Functions of MPI 4 that the MPI library may lack, or the header that this is compiled with: one
// build serves Open MPI 4.1 and 5.0, and one MPICH 4.0 and 4.2. The address is null at load time
// where the library lacks the function.
//
//                    Open MPI 4.1     5.0     MPICH 4.0, 4.2
//   sessions         -                yes     yes
//   persistent       MPIX_            yes     yes
//   large counts     -                -       yes
//
// No program is linked to a function that its library lacks, so its replacement here is never
// called.
#pragma once

#include <mpi.h>

#if defined(OPEN_MPI) && !defined(MPI_SESSION_NULL)
/// Open MPI's: a pointer, like all its handles.
typedef struct ompi_instance_t* MPI_Session; // NOLINT(modernize-use-using)
#endif

#define TRIBUTARY_NEWER(name, ...)                                                                 \
  int MPI_##name(__VA_ARGS__);                                                                     \
  int PMPI_##name(__VA_ARGS__) __attribute__((weak))

/// Open MPI 4.1 has these as extensions under other names, with the same meaning.
#ifdef OPEN_MPI
#define TRIBUTARY_PERSISTENT(name, ...)                                                            \
  TRIBUTARY_NEWER(name, __VA_ARGS__);                                                              \
  int MPIX_##name(__VA_ARGS__);                                                                    \
  int PMPIX_##name(__VA_ARGS__) __attribute__((weak))
#define TRIBUTARY_EITHER(name) (PMPI_##name != nullptr ? PMPI_##name : PMPIX_##name)
#else
#define TRIBUTARY_PERSISTENT(name, ...) TRIBUTARY_NEWER(name, __VA_ARGS__)
#define TRIBUTARY_EITHER(name) PMPI_##name
#endif

// NOLINTBEGIN(readability-identifier-naming,readability-redundant-declaration)
extern "C" {

TRIBUTARY_NEWER(Session_init, MPI_Info info, MPI_Errhandler handler, MPI_Session* session);
TRIBUTARY_NEWER(Session_finalize, MPI_Session* session);
TRIBUTARY_NEWER(Group_from_session_pset, MPI_Session session, const char* name, MPI_Group* group);
TRIBUTARY_NEWER(Comm_create_from_group, MPI_Group group, const char* tag, MPI_Info info,
                MPI_Errhandler handler, MPI_Comm* comm);

/// User-defined operators whose functions take large counts.
using TributaryLargeOperator = void(void*, void*, MPI_Count*, MPI_Datatype*);
TRIBUTARY_NEWER(Op_create_c, TributaryLargeOperator* function, int commutes, MPI_Op* op);

TRIBUTARY_NEWER(Allreduce_c, const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                MPI_Op op, MPI_Comm comm);
TRIBUTARY_NEWER(Reduce_c, const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                MPI_Op op, int root, MPI_Comm comm);
TRIBUTARY_NEWER(Reduce_scatter_block_c, const void* in, void* out, MPI_Count count,
                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
TRIBUTARY_NEWER(Reduce_scatter_c, const void* in, void* out, const MPI_Count* counts,
                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
TRIBUTARY_NEWER(Bcast_c, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
                MPI_Comm comm);
TRIBUTARY_NEWER(Iallreduce_c, const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                MPI_Op op, MPI_Comm comm, MPI_Request* request);

TRIBUTARY_PERSISTENT(Allreduce_init, const void* in, void* out, int count, MPI_Datatype datatype,
                     MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request);
TRIBUTARY_PERSISTENT(Reduce_init, const void* in, void* out, int count, MPI_Datatype datatype,
                     MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request);
TRIBUTARY_PERSISTENT(Reduce_scatter_block_init, const void* in, void* out, int count,
                     MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                     MPI_Request* request);
TRIBUTARY_PERSISTENT(Reduce_scatter_init, const void* in, void* out, const int* counts,
                     MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                     MPI_Request* request);
TRIBUTARY_PERSISTENT(Bcast_init, void* buffer, int count, MPI_Datatype datatype, int root,
                     MPI_Comm comm, MPI_Info info, MPI_Request* request);
TRIBUTARY_PERSISTENT(Barrier_init, MPI_Comm comm, MPI_Info info, MPI_Request* request);

TRIBUTARY_NEWER(Allreduce_init_c, const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request);
TRIBUTARY_NEWER(Reduce_init_c, const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request);
TRIBUTARY_NEWER(Reduce_scatter_block_init_c, const void* in, void* out, MPI_Count count,
                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                MPI_Request* request);
TRIBUTARY_NEWER(Reduce_scatter_init_c, const void* in, void* out, const MPI_Count* counts,
                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                MPI_Request* request);
TRIBUTARY_NEWER(Bcast_init_c, void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
                MPI_Comm comm, MPI_Info info, MPI_Request* request);

} // extern "C"
// NOLINTEND(readability-identifier-naming,readability-redundant-declaration)

#undef TRIBUTARY_NEWER
#undef TRIBUTARY_PERSISTENT
