/* A program that looks up MPI's functions by name in the MPI library: mpi_by_name LIBRARY. */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*Init)(int*, char***);
typedef int (*Finalize)(void);

int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  ((Init)dlsym(library, "MPI_Init"))(&argc, &argv);
  ((Finalize)dlsym(library, "MPI_Finalize"))();
  return 0;
}
