/* Preloaded before the library, on the node whose name is in MPI_OTHER_VERSION: its ranks introduce
 * themselves with another version of the library (Introduction of directory.hpp). */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { version_at = 16, most = 256 };

typedef int gather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);

int PMPI_Allgather(const void* in, int count, MPI_Datatype type, void* out, int counts,
                   MPI_Datatype types, MPI_Comm comm) {
  static unsigned char mine[most];
  char host[most] = "";
  const char* const other = getenv("MPI_OTHER_VERSION");
  gethostname(host, sizeof host - 1);
  if (count <= most && other != NULL && strcmp(host, other) == 0) {
    uint32_t version;
    memcpy(mine, in, (size_t)count);
    memcpy(&version, mine + version_at, sizeof version);
    --version;
    memcpy(mine + version_at, &version, sizeof version);
    in = mine;
  }
  gather* const next = (gather*)dlsym(RTLD_NEXT, "PMPI_Allgather");
  return next(in, count, type, out, counts, types, comm);
}
