/* A program that passes wrong arguments, with MPI_ERRORS_RETURN: rank 0 prints the error class of
 * each call, and whether a buffer that no call may touch was touched. tests/hosts/test_mpi.py
 * compares its output with and without the library preloaded.
 *
 *   mpi_wrong_arguments [null]    `null`: also null buffers, which Open MPI does not look for */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

enum { most = 64 };
static int rank;
static int in[most];
static int out[most];
static MPI_Comm world;

static void answered(const char* what, int error) {
  int class = MPI_SUCCESS;
  int touched = 0;
  MPI_Error_class(error, &class);
  for (int i = 0; i < most; ++i) {
    touched |= in[i] != i + 1 || out[i] != -1;
  }
  if (rank == 0) {
    printf("%s: %d%s\n", what, class, touched ? ", and a buffer was written" : "");
    fflush(stdout);
  }
  for (int i = 0; i < most; ++i) {
    in[i] = i + 1;
    out[i] = -1;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int null = argc > 1 && strcmp(argv[1], "null") == 0;
  int size;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  for (int i = 0; i < most; ++i) {
    in[i] = i + 1;
    out[i] = -1;
  }
  int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world); /* a group, where there is one */
  MPI_Datatype uncommitted;
  MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
  MPI_Request request;
  const int roots[] = {size, size + 100000, -1};
  for (int i = 0; i < 3; ++i) {
    answered("bcast, no such root", MPI_Bcast(in, 4, MPI_INT, roots[i], world));
    answered("reduce, no such root", MPI_Reduce(in, out, 4, MPI_INT, MPI_SUM, roots[i], world));
    answered("reduce of doubles, no such root",
             MPI_Reduce(in, out, 2, MPI_DOUBLE, MPI_SUM, roots[i], world));
  }
  answered("bcast, not committed", MPI_Bcast(in, 1, uncommitted, 0, world));
  answered("bcast, no datatype", MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, world));
  answered("reduce, not committed", MPI_Reduce(in, out, 1, uncommitted, MPI_SUM, 0, world));
  answered("allreduce, result in place",
           MPI_Allreduce(in, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, world));
  answered("allreduce of doubles, result in place",
           MPI_Allreduce(in, MPI_IN_PLACE, 2, MPI_DOUBLE, MPI_SUM, world));
  answered("reduce_scatter_block, result in place",
           MPI_Reduce_scatter_block(in, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, world));
  const int halves[most] = {2, 2};
  const int negative[most] = {4, -1};
  answered("reduce_scatter, result in place",
           MPI_Reduce_scatter(in, MPI_IN_PLACE, halves, MPI_INT, MPI_SUM, world));
  answered("reduce_scatter, a negative count",
           MPI_Reduce_scatter(in, out, negative, MPI_INT, MPI_SUM, world));
  answered("reduce_scatter, bits of doubles",
           MPI_Reduce_scatter(in, out, halves, MPI_DOUBLE, MPI_BAND, world));
  answered("reduce_scatter, one buffer",
           MPI_Reduce_scatter(in, in, halves, MPI_INT, MPI_SUM, world));
  answered("reduce_scatter, no communicator",
           MPI_Reduce_scatter(in, out, halves, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  answered("iallreduce, result in place",
           MPI_Iallreduce(in, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, world, &request));
  answered("allreduce, one buffer", MPI_Allreduce(in, in, 4, MPI_INT, MPI_SUM, world));
  answered("iallreduce, one buffer", MPI_Iallreduce(in, in, 4, MPI_INT, MPI_SUM, world, &request));
  answered("allreduce, no operator", MPI_Allreduce(in, out, 4, MPI_INT, MPI_OP_NULL, world));
  answered("allreduce, bits of doubles", MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_BAND, world));
  answered("allreduce, the greatest complex number",
           MPI_Allreduce(in, out, 2, MPI_C_FLOAT_COMPLEX, MPI_MAX, world));
  /* MPI has its own operators for no derived datatype, also where the elements are contiguous. The
   * handle of one that is freed may become that of a datatype by precision, for which it has. */
  MPI_Datatype derived[3];
  MPI_Type_contiguous(2, MPI_INT, &derived[0]);
  MPI_Type_dup(MPI_INT, &derived[1]);
  MPI_Type_create_resized(MPI_INT, 0, sizeof(int), &derived[2]);
  for (int i = 0; i < 3; ++i) {
    MPI_Type_commit(&derived[i]);
    for (int again = 0; again < 4; ++again) {
      answered("allreduce of a contiguous datatype",
               MPI_Allreduce(in, out, 1, derived[i], MPI_SUM, world));
    }
    answered("reduce_scatter of a contiguous datatype",
             MPI_Reduce_scatter(in, out, halves, derived[i], MPI_SUM, world));
    MPI_Type_free(&derived[i]);
  }
  MPI_Datatype nine_digits;
  MPI_Type_create_f90_integer(9, &nine_digits);
  const int error = MPI_Allreduce(&one, &sum, 1, nine_digits, MPI_SUM, world);
  answered(sum == size ? "an integer of nine digits" : "a wrong sum of nine digits", error);
  answered("allreduce, no communicator",
           MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  answered("bcast, no communicator", MPI_Bcast(in, 4, MPI_INT, 0, MPI_COMM_NULL));
  answered("barrier, no communicator", MPI_Barrier(MPI_COMM_NULL));
  /* At one rank alone the others would wait for it, so the root is each rank itself. */
  MPI_Comm alone;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
  answered("reduce, result in place", MPI_Reduce(in, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, 0, alone));
  MPI_Comm_free(&alone);
  if (null) {
    answered("bcast, null", MPI_Bcast(NULL, 4, MPI_INT, 0, world));
    answered("allreduce, null in", MPI_Allreduce(NULL, out, 4, MPI_INT, MPI_SUM, world));
    answered("allreduce, null out", MPI_Allreduce(in, NULL, 4, MPI_INT, MPI_SUM, world));
    answered("reduce_scatter, null",
             MPI_Reduce_scatter(NULL, out, halves, MPI_INT, MPI_SUM, world));
    answered("reduce_scatter_block, null",
             MPI_Reduce_scatter_block(NULL, out, 4, MPI_INT, MPI_SUM, world));
  }
  MPI_Comm constant = MPI_COMM_WORLD;
  answered("freeing MPI_COMM_WORLD", MPI_Comm_free(&constant));
  constant = MPI_COMM_NULL;
  answered("freeing no communicator", MPI_Comm_free(&constant));
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
  answered(sum == size ? "afterwards all is well" : "afterwards a sum is wrong", MPI_SUCCESS);
  MPI_Type_free(&uncommitted);
  MPI_Comm_free(&world);
  MPI_Finalize();
  return 0;
}
