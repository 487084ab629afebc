/* An MPI program that knows nothing of Tributary: every operation, datatype and count, each result
 * compared with that of the MPI library's own function (PMPI_...), bit for bit where the operation
 * is exact. tests/hosts/test_mpi.py runs it with the library preloaded.
 *
 *   mpi_check all         everything, on MPI_COMM_WORLD and on communicators made of it
 *   mpi_check some        a fifth of it
 *   mpi_check sums SEED...
 *                         bits of sums of doubles and floats, dealt to ranks by each seed: printed
 *   mpi_check loop FILE [HELD ROUNDS]
 *                         allreduces, barriers and broadcasts, checked, until the first file *
 *                         exists; after ROUNDS rounds rank 0 waits for the second one
 *   mpi_check rounds N this many of them
 *   mpi_check ahead       reductions to one rank and broadcasts in a row, of different values:
 *                         ranks that wait for no other run ahead
 *   mpi_check handles     sums on all handles of complex numbers, and on datatypes by precision
 *   mpi_check nan [ignored]
 *                         NaNs, and zeros of both signs; `ignored`: a number beats a NaN
 *   mpi_check subnormal   subnormal numbers, where a rank flushes them to zero
 *   mpi_check late        a rank that arrives two seconds after all others
 *
 * The exit code is 0 when all results were right; otherwise errors are on standard error. */
#include <mpi.h>

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int wrong;

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

enum fill {
  integers,
  floats,
  doubles,
  complex_floats,
  complex_doubles,
  pairs_float,
  pairs_double,
  pairs_long,
  pairs_int,
  pairs_short
};

struct datatype {
  const char* name;
  MPI_Datatype handle;
  size_t bytes; /* between elements */
  enum fill fill;
};

struct float_int {
  float value;
  int index;
};
struct double_int {
  double value;
  int index;
};
struct long_int {
  long value;
  int index;
};
struct short_int {
  short value;
  int index;
};

/* A rank's operands; the same gaps everywhere, because results are compared including them. */
static int small; /* so that no sum overflows: 16-bit ones of Open MPI 4.1 saturate then */
static void fill(const struct datatype* type, unsigned char* at, size_t count, int rank, int seed) {
  memset(at, 0, count * type->bytes);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t random = mix(((uint64_t)(rank + 1) << 40) ^ ((uint64_t)seed << 28) ^ i);
    unsigned char* const to = at + i * type->bytes;
    const int few = (int)(random % 7) - 3; /* so that values are often equal */
    switch (type->fill) {
    case integers:
      if (random % 5 == 0 || small) {
        memset(to, 0, type->bytes); /* false, for logical operators */
        *to = small ? (unsigned char)(random >> 32) % 8 : 0;
      } else {
        memcpy(to, &random, type->bytes);
      }
      break;
    case floats: *(float*)to = (float)(int)(random % 2001) - 1000; break; /* sums are exact */
    case doubles: *(double*)to = (double)(int)(random % 2000001) - 1000000; break;
    case complex_floats: *(float complex*)to = (float)few + 3.0f * I * (float)(random % 99); break;
    case complex_doubles: *(double complex*)to = few - 7.0 * I * (double)(random % 1001); break;
    case pairs_float: *(struct float_int*)to = (struct float_int){(float)few, rank * 3 - 5}; break;
    case pairs_double: *(struct double_int*)to = (struct double_int){few, rank * 3 - 5}; break;
    case pairs_long: *(struct long_int*)to = (struct long_int){few, rank * 3 - 5}; break;
    case pairs_int: ((int*)to)[0] = few, ((int*)to)[1] = rank * 3 - 5; break;
    case pairs_short: *(struct short_int*)to = (struct short_int){(short)few, rank * 3 - 5}; break;
    }
    if (type->fill >= pairs_float) { /* the gaps of a pair are not compared */
      unsigned char whole[16] = {0};
      switch (type->fill) {
      case pairs_double:
        memcpy(whole, &((struct double_int*)to)->value, 8);
        memcpy(whole + 8, &((struct double_int*)to)->index, 4);
        break;
      case pairs_long:
        memcpy(whole, &((struct long_int*)to)->value, 8);
        memcpy(whole + 8, &((struct long_int*)to)->index, 4);
        break;
      case pairs_short:
        memcpy(whole, &((struct short_int*)to)->value, 2);
        memcpy(whole + 4, &((struct short_int*)to)->index, 4);
        break;
      default: continue;
      }
      memcpy(to, whole, type->bytes);
    }
  }
}

static void compare(const char* what, const char* op, const struct datatype* type, size_t count,
                    const void* ours, const void* theirs, size_t bytes) {
  if (memcmp(ours, theirs, bytes) == 0) {
    return;
  }
  size_t at = 0;
  while (((const unsigned char*)ours)[at] == ((const unsigned char*)theirs)[at]) {
    ++at;
  }
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "rank %d: %s of %zu %s with %s differs at byte %zu\n", rank, what, count,
          type->name, op, at);
  ++wrong;
}

/* MPI_Reduce of MPICH 4.0 over TCP may hang: there only what the network handles is tested. */
static int can_reduce(MPI_Comm comm, MPI_Op op) {
#ifdef MPICH_VERSION
  return comm == MPI_COMM_WORLD && op != MPI_PROD;
#else
  (void)comm;
  (void)op;
  return 1;
#endif
}

static int seed; /* the same at all ranks of a communicator: roots are taken by it, too */

/* Blocks of different lengths, every third one empty. `in` has `count` elements for each rank. */
static void check_scatter(MPI_Comm comm, const struct datatype* type, MPI_Op op,
                          const char* op_name, int count, const unsigned char* in,
                          unsigned char* ours, unsigned char* theirs) {
  int rank;
  int size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const size_t all = (size_t)count * (size_t)size * type->bytes;
  int* const counts = malloc((size_t)size * sizeof *counts);
  for (int to = 0; to < size; ++to) {
    counts[to] = (to + seed) % 3 == 0 ? 0 : to % 2 ? count : (count + 1) / 2;
  }
  const size_t mine = (size_t)counts[rank];
  memcpy(ours, in, all);
  memcpy(theirs, in, all);
  MPI_Reduce_scatter(in, ours, counts, type->handle, op, comm);
  PMPI_Reduce_scatter(in, theirs, counts, type->handle, op, comm);
  compare("reduce_scatter", op_name, type, mine, ours, theirs, mine * type->bytes);
  memcpy(ours, in, all);
  MPI_Reduce_scatter(MPI_IN_PLACE, ours, counts, type->handle, op, comm);
  compare("reduce_scatter in place", op_name, type, mine, ours, theirs, mine * type->bytes);
  free(counts);
}

static void check_type(MPI_Comm comm, const struct datatype* type, MPI_Op op, const char* op_name,
                       int count) {
  int rank;
  int size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  ++seed;
  small = op == MPI_SUM && type->bytes < 4;
  const size_t n = (size_t)count;
  const size_t bytes = n * type->bytes;
  const size_t all = bytes * (size_t)size;
  unsigned char* const in = malloc(all + 1);
  unsigned char* const ours = malloc(all + 1);
  unsigned char* const theirs = malloc(all + 1);
  fill(type, in, n, rank, seed);
  memcpy(ours, in, bytes); /* so that unwritten bytes are equal */
  memcpy(theirs, in, bytes);
  MPI_Allreduce(in, ours, count, type->handle, op, comm);
  PMPI_Allreduce(in, theirs, count, type->handle, op, comm);
  compare("allreduce", op_name, type, n, ours, theirs, bytes);

  memcpy(ours, in, bytes);
  MPI_Allreduce(MPI_IN_PLACE, ours, count, type->handle, op, comm);
  compare("allreduce in place", op_name, type, n, ours, theirs, bytes);

  if (can_reduce(comm, op)) {
    const int root = seed % size;
    memcpy(ours, in, bytes);
    if (rank != root) {
      memcpy(theirs, in,
             bytes); /* else it is that of the allreduce: MPICH 4.0 hangs in long reduces */
    }
    MPI_Reduce(in, ours, count, type->handle, op, root, comm);
    compare("reduce", op_name, type, n, ours, theirs, bytes);
    memcpy(ours, in, bytes);
    if (rank == root) {
      MPI_Reduce(MPI_IN_PLACE, ours, count, type->handle, op, root, comm);
    } else {
      MPI_Reduce(ours, NULL, count, type->handle, op, root, comm);
    }
    compare("reduce in place", op_name, type, n, ours, theirs, bytes);
  }

  if (count <= 1000) {
    fill(type, in, n * (size_t)size, rank, seed);
    memcpy(ours, in, all);
    memcpy(theirs, in, all);
    MPI_Reduce_scatter_block(in, ours, count, type->handle, op, comm);
    PMPI_Reduce_scatter_block(in, theirs, count, type->handle, op, comm);
    compare("reduce_scatter_block", op_name, type, n, ours, theirs, bytes);
    memcpy(ours, in, all);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, ours, count, type->handle, op, comm);
    compare("reduce_scatter_block in place", op_name, type, n, ours, theirs, bytes);
    check_scatter(comm, type, op, op_name, count, in, ours, theirs);
  }
  small = 0;
  free(in);
  free(ours);
  free(theirs);
}

static void check_bcast(MPI_Comm comm, int count) {
  int rank;
  int size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const struct datatype type = {"int", MPI_INT, sizeof(int), integers};
  int* const ours = malloc((size_t)count * sizeof(int) * 2 + 1);
  int* const expected = malloc((size_t)count * sizeof(int) * 2 + 1);
  for (int root = 0; root<size; root += size> 4 ? 3 : 1) {
    fill(&type, (unsigned char*)ours, (size_t)count, rank, 7 + root);
    fill(&type, (unsigned char*)expected, (size_t)count, root, 7 + root);
    MPI_Bcast(ours, count, MPI_INT, root, comm);
    compare("bcast", "", &type, (size_t)count, ours, expected, (size_t)count * sizeof(int));
    if (count == 0) {
      continue; /* Open MPI leaves messages behind when counts of nothing differ */
    }
    /* The same bytes by different datatypes: every other int at the root. */
    MPI_Datatype every_other;
    MPI_Type_vector(count, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    memset(ours, 0, (size_t)count * sizeof(int) * 2);
    if (rank == root) {
      for (int i = 0; i < count; ++i) {
        ours[2 * i] = expected[i];
      }
      MPI_Bcast(ours, 1, every_other, root, comm);
      for (int i = 0; i < count; ++i) {
        ours[i] = ours[2 * i];
      }
    } else {
      MPI_Bcast(ours, count, MPI_INT, root, comm);
    }
    compare("bcast by two datatypes", "", &type, (size_t)count, ours, expected,
            (size_t)count * sizeof(int));
    MPI_Type_free(&every_other);
    /* By a datatype of addresses, which has no buffer. */
    MPI_Datatype absolute;
    MPI_Aint address;
    MPI_Get_address(ours, &address);
    MPI_Type_create_hindexed(1, &count, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    memset(ours, 0, (size_t)count * sizeof(int));
    if (rank == root) {
      memcpy(ours, expected, (size_t)count * sizeof(int));
    }
    MPI_Bcast(MPI_BOTTOM, 1, absolute, root, comm);
    compare("bcast from MPI_BOTTOM", "", &type, (size_t)count, ours, expected,
            (size_t)count * sizeof(int));
    MPI_Type_free(&absolute);
  }
  free(ours);
  free(expected);
}

/* Whether the MPI library's own MIN and MAX are right: Open MPI 4.1 compares unsigned longs as
 * signed ones, MPICH 4.0 unsigned chars. */
static int orders(const struct datatype* type) {
  unsigned char mine[16] = {0};
  unsigned char least[16] = {0};
  if (type->fill != integers || strncmp(type->name, "u", 1) != 0) {
    return 1;
  }
  unsigned char other[16] = {0};
  mine[type->bytes - 1] = 0x80;
  other[0] = 5;
  memcpy(least, mine, sizeof least);
  MPI_Reduce_local(other, least, 1, type->handle, MPI_MIN);
  return memcmp(least, other, type->bytes) == 0;
}

#define INTEGER(name, handle, c)                                                                   \
  { name, handle, sizeof(c), integers }

/* Each operation on each datatype by each count; or a fixed share of these, in turn, so that a few
 * counts cover all pairs. */
static void check_all(MPI_Comm comm, const int* counts, int how_many, int every) {
  const struct datatype types[] = {
      INTEGER("signed char", MPI_SIGNED_CHAR, signed char),
      INTEGER("unsigned char", MPI_UNSIGNED_CHAR, unsigned char),
      INTEGER("short", MPI_SHORT, short),
      INTEGER("unsigned short", MPI_UNSIGNED_SHORT, unsigned short),
      INTEGER("int", MPI_INT, int),
      INTEGER("unsigned", MPI_UNSIGNED, unsigned),
      INTEGER("long", MPI_LONG, long),
      INTEGER("unsigned long", MPI_UNSIGNED_LONG, unsigned long),
      INTEGER("int8_t", MPI_INT8_T, int8_t),
      INTEGER("uint64_t", MPI_UINT64_T, uint64_t),
      {"float", MPI_FLOAT, sizeof(float), floats},
      {"double", MPI_DOUBLE, sizeof(double), doubles},
      {"complex float", MPI_C_FLOAT_COMPLEX, sizeof(float complex), complex_floats},
      {"complex double", MPI_C_DOUBLE_COMPLEX, sizeof(double complex), complex_doubles},
  };
  const struct datatype pairs[] = {
      {"float and int", MPI_FLOAT_INT, sizeof(struct float_int), pairs_float},
      {"double and int", MPI_DOUBLE_INT, sizeof(struct double_int), pairs_double},
      {"long and int", MPI_LONG_INT, sizeof(struct long_int), pairs_long},
      {"two ints", MPI_2INT, 2 * sizeof(int), pairs_int},
      {"short and int", MPI_SHORT_INT, sizeof(struct short_int), pairs_short},
  };
  const struct {
    const char* name;
    MPI_Op handle;
    int floats_too;
  } ops[] = {{"SUM", MPI_SUM, 1},   {"MIN", MPI_MIN, 1},   {"MAX", MPI_MAX, 1},
             {"PROD", MPI_PROD, 0}, {"BAND", MPI_BAND, 0}, {"BOR", MPI_BOR, 0},
             {"BXOR", MPI_BXOR, 0}, {"LAND", MPI_LAND, 0}, {"LOR", MPI_LOR, 0},
             {"LXOR", MPI_LXOR, 0}};
  seed = 0; /* some ranks are in more communicators than others */
  for (int c = 0; c < how_many; ++c) {
    for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o) {
      for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        const int is_float = types[t].fill != integers;
        const int no_reference = (o == 1 || o == 2) && !orders(&types[t]);
        const int is_complex = types[t].fill == complex_floats || types[t].fill == complex_doubles;
        const int skipped = no_reference || (is_float && !ops[o].floats_too) ||
                            (is_complex && ops[o].handle != MPI_SUM) ||
                            (o + t + (size_t)c) % (size_t)every != 0;
        if (!skipped) {
          check_type(comm, &types[t], ops[o].handle, ops[o].name, counts[c]);
        }
      }
    }
    for (size_t t = 0; t < 2 * sizeof pairs / sizeof *pairs; ++t) {
      if ((t + (size_t)c) % (size_t)every == 0) {
        check_type(comm, &pairs[t / 2], t % 2 ? MPI_MAXLOC : MPI_MINLOC,
                   t % 2 ? "MAXLOC" : "MINLOC", counts[c]);
      }
    }
    check_bcast(comm, counts[c]);
    MPI_Barrier(comm);
  }
}

/* Other handles of complex numbers, and datatypes by precision and range, which have none of their
 * own. All are sums. */
static void check_handles(MPI_Comm comm) {
  MPI_Datatype real;
  MPI_Datatype narrow;
  MPI_Datatype complex_one;
  MPI_Datatype integer;
  MPI_Type_create_f90_real(15, 307, &real);
  MPI_Type_create_f90_real(6, MPI_UNDEFINED, &narrow);
  MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &complex_one);
  MPI_Type_create_f90_integer(9, &integer);
  const struct datatype types[] = {
      {"MPI_C_COMPLEX", MPI_C_COMPLEX, sizeof(float complex), complex_floats},
      {"MPI_COMPLEX", MPI_COMPLEX, sizeof(float complex), complex_floats},
      {"MPI_DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, sizeof(double complex), complex_doubles},
      {"MPI_CXX_FLOAT_COMPLEX", MPI_CXX_FLOAT_COMPLEX, sizeof(float complex), complex_floats},
      {"MPI_CXX_DOUBLE_COMPLEX", MPI_CXX_DOUBLE_COMPLEX, sizeof(double complex), complex_doubles},
      {"a real of 15 digits", real, sizeof(double), doubles},
      {"a real of 6 digits", narrow, sizeof(float), floats},
      {"a complex number of 15 digits", complex_one, sizeof(double complex), complex_doubles},
      {"an integer of 9 digits", integer, sizeof(int), integers},
  };
  const int counts[] = {1, 17, 1000};
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    if (types[t].handle != MPI_DATATYPE_NULL) {
      for (int c = 0; c < 3; ++c) {
        check_type(comm, &types[t], MPI_SUM, "SUM", counts[c]);
      }
    }
  }
}

/* Checks that no rank leaves a barrier before all have entered it. */
static void check_barrier(MPI_Comm comm) {
  int rank;
  int size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  for (int late = 0; late < size; ++late) {
    struct timespec pause = {.tv_sec = 0, .tv_nsec = rank == late ? 20000000 : 0};
    struct timespec began;
    struct timespec ended;
    PMPI_Barrier(comm);
    clock_gettime(CLOCK_MONOTONIC, &began); /* one machine: all have this clock */
    nanosleep(&pause, NULL);
    struct timespec arrived;
    clock_gettime(CLOCK_MONOTONIC, &arrived);
    double latest = (double)arrived.tv_sec + (double)arrived.tv_nsec * 1e-9;
    MPI_Barrier(comm);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double last;
    PMPI_Allreduce(&latest, &last, 1, MPI_DOUBLE, MPI_MAX, comm);
    if ((double)ended.tv_sec + (double)ended.tv_nsec * 1e-9 < last) {
      fprintf(stderr, "rank %d left a barrier before the last one came\n", rank);
      ++wrong;
    }
  }
}

/* Several calls that do not block, on two communicators, with blocking ones in between. */
static void check_later(MPI_Comm first, MPI_Comm second) {
  enum { rounds = 20, most = 1000 };
  int rank;
  PMPI_Comm_rank(first, &rank);
  static double in[4][most];
  static double ours[4][most];
  static double theirs[4][most];
  const struct datatype type = {"double", MPI_DOUBLE, sizeof(double), doubles};
  for (int round = 0; round < rounds; ++round) {
    const int count = round % 3 == 0 ? 1 : round % 3 == 1 ? 5 : most;
    MPI_Request requests[5];
    MPI_Status statuses[5];
    for (int i = 0; i < 4; ++i) {
      fill(&type, (unsigned char*)in[i], (size_t)count, rank, round * 4 + i);
      MPI_Iallreduce(in[i], ours[i], count, MPI_DOUBLE, i % 2 ? MPI_SUM : MPI_MAX,
                     i < 2 ? first : second, &requests[i]);
    }
    MPI_Ibarrier(first, &requests[4]);
    int64_t mine = rank;
    int64_t greatest = -1;
    int64_t expected = -1;
    MPI_Allreduce(&mine, &greatest, 1, MPI_INT64_T, MPI_MAX, first);
    if (round % 4 == 0) {
      MPI_Waitall(5, requests, statuses);
    } else if (round % 4 == 1) {
      for (int i = 0; i < 5; ++i) {
        int which;
        MPI_Waitany(5, requests, &which, MPI_STATUS_IGNORE);
      }
    } else if (round % 4 == 2) {
      for (int done = 0; !done;) {
        MPI_Testall(5, requests, &done, statuses);
      }
    } else {
      for (int i = 4; i >= 0; --i) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
    }
    PMPI_Allreduce(&mine, &expected, 1, MPI_INT64_T, MPI_MAX, first);
    if (greatest != expected) {
      fprintf(stderr, "rank %d: a blocking call between others is wrong\n", rank);
      ++wrong;
    }
    for (int i = 0; i < 4; ++i) {
      PMPI_Allreduce(in[i], theirs[i], count, MPI_DOUBLE, i % 2 ? MPI_SUM : MPI_MAX,
                     i < 2 ? first : second);
      compare("iallreduce", i % 2 ? "SUM" : "MAX", &type, (size_t)count, ours[i], theirs[i],
              (size_t)count * sizeof(double));
    }
  }
}

static void everything(int every) {
  const int counts[] = {0, 1, 3, 4, 5, 1000, 100003};
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_all(MPI_COMM_WORLD, counts, 6, every);
  check_all(MPI_COMM_WORLD, counts + 6, 1, 3 * every);
  check_barrier(MPI_COMM_WORLD);
  check_handles(MPI_COMM_WORLD);

  /* Communicators that exist beside each other. Of the last one only some ranks are members. */
  MPI_Comm half;
  MPI_Comm copy;
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Group world;
  MPI_Group members;
  const int range[1][3] = {{0, size - 1, 3}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, (int(*)[3])range, &members);
  if (rank % 3 == 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, members, 5, &some);
  }
  const int few[] = {1, 5, 1000};
  check_all(half, few, 3, 7);
  check_all(copy, few, 3, 7);
  if (some != MPI_COMM_NULL) {
    check_all(some, few, 3, 7);
  }
  check_later(MPI_COMM_WORLD, copy);
  check_later(copy, half);
  if (some != MPI_COMM_NULL) {
    MPI_Comm_free(&some);
  }
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  MPI_Group_free(&members);
  MPI_Group_free(&world);
  check_all(MPI_COMM_WORLD, few, 1, 7);

  /* What only the MPI library can do. */
  if (size > 1) {
    MPI_Comm part;
    MPI_Comm between;
    const int low = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 9, &between);
    int one = 1;
    int there = 0;
    int remote;
    MPI_Comm_remote_size(between, &remote);
    MPI_Allreduce(&one, &there, 1, MPI_INT, MPI_SUM, between);
    if (there != remote) {
      fprintf(stderr, "rank %d: an allreduce between two groups is wrong\n", rank);
      ++wrong;
    }
    MPI_Barrier(between);
    MPI_Comm_free(&between);
    MPI_Comm_free(&part);
  }
}

/* Values whose sum is equal in any order only if it is exact; the seed assigns them to ranks. */
static void sums(int seed) {
  enum { elements = 40, values = 16 };
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double mine[elements];
  double sum[elements];
  double again[elements];
  double at_root[elements] = {0};
  for (int i = 0; i < elements; ++i) {
    int order[values];
    for (int v = 0; v < values; ++v) {
      order[v] = v;
    }
    for (int v = values - 1; v > 0; --v) {
      const int w =
          (int)(mix((uint64_t)seed * 1000003u + (uint64_t)(i * values + v)) % (uint64_t)(v + 1));
      const int swapped = order[v];
      order[v] = order[w];
      order[w] = swapped;
    }
    /* Ranks above the sixteenth, and missing ones, have zeros. */
    mine[i] = 0;
    if (rank < values) {
      const uint64_t random = mix((uint64_t)(i * values + order[rank]));
      mine[i] = ldexp((double)(int64_t)random, (int)(random % 60) - 90);
    }
  }
  MPI_Allreduce(mine, sum, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  memcpy(again, mine, sizeof again);
  MPI_Allreduce(MPI_IN_PLACE, again, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce(mine, at_root, elements, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
  MPI_Request request;
  double later[elements];
  MPI_Iallreduce(mine, later, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* The same numbers as pairs, and a part of the sum at each rank: none at the first one. */
  double pairs[elements];
  double part[elements];
  double part_of_pairs[elements];
  int* const counts = malloc((size_t)size * sizeof *counts);
  int before = 0;
  for (int to = 0, left = elements / 2; to < size; left -= counts[to++]) {
    counts[to] = to == size - 1 || to * 7 % 5 > left ? left : to * 7 % 5;
    before += to < rank ? counts[to] : 0;
  }
  MPI_Allreduce(mine, pairs, elements / 2, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter(mine, part, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter(mine, part_of_pairs, counts, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  const size_t bytes = (size_t)counts[rank] * sizeof(double);
  free(counts);
  float small[elements];
  float small_sum[elements];
  for (int i = 0; i < elements; ++i) {
    small[i] = (float)mine[i];
  }
  MPI_Allreduce(small, small_sum, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, small, elements / 2, MPI_C_FLOAT_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  const char* const how = getenv("TRIBUTARY_SUM");
  const int reproducible = how != NULL && strcmp(how, "reproducible") == 0;
  if (reproducible &&
      (memcmp(sum, again, sizeof sum) != 0 || memcmp(sum, later, sizeof sum) != 0 ||
       memcmp(sum, pairs, sizeof sum) != 0 || memcmp(sum + before, part, bytes) != 0 ||
       memcmp(sum + 2 * before, part_of_pairs, 2 * bytes) != 0 ||
       memcmp(small_sum, small, sizeof small) != 0 ||
       (rank == size - 1 && memcmp(sum, at_root, sizeof sum) != 0))) {
    fprintf(stderr, "rank %d: the same sum has different bits\n", rank);
    ++wrong;
  }
  if (rank == 0) {
    uint64_t digest = 0;
    for (int i = 0; i < elements; ++i) {
      uint64_t bits;
      memcpy(&bits, &sum[i], sizeof bits);
      digest = mix(digest ^ bits);
      uint32_t of_float;
      memcpy(&of_float, &small_sum[i], sizeof of_float);
      digest = mix(digest ^ of_float);
    }
    printf("digest %016llx\n", (unsigned long long)digest);
  }
}

static int is_there(const char* file) { return access(file, F_OK) == 0; }

static void wait_for(const char* file) {
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = 10 * 1000 * 1000};
  while (!is_there(file)) {
    nanosleep(&pause, NULL);
  }
}

/* Until the file exists or, without one, for `most_rounds` rounds, beginning with 0. */
static void loop(const char* until, long most_rounds, const char* held, long held_after) {
  enum { most = 20000 };
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static int64_t in[most];
  static int64_t out[most];
  int64_t later_in = rank;
  int64_t later_out;
  long rounds = 0;
  for (int go_on = 1; go_on; ++rounds) {
    const int count = rounds % 10 == 9 ? most : 1 + (int)(rounds % 7);
    for (int i = 0; i < count; ++i) {
      in[i] = rank + rounds + i;
    }
    MPI_Request request;
    MPI_Iallreduce(&later_in, &later_out, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Allreduce(in, out, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
      if (out[i] != (int64_t)size * (size - 1) / 2 + size * (rounds + i)) {
        fprintf(stderr, "rank %d: wrong result in round %ld\n", rank, rounds);
        ++wrong;
        break;
      }
    }
    /* A rank may wait for another one's message, which arrives only after that one's result. */
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    int token = rank;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, next, 1, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += later_out != (int64_t)size * (size - 1) / 2;
    MPI_Barrier(MPI_COMM_WORLD);
    go_on = rank != 0 ? 0 : until != NULL ? !is_there(until) : rounds + 1 < most_rounds;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0 && rounds + 1 == (held == NULL ? 21 : held_after)) {
      printf("going\n");
      fflush(stdout);
      if (held != NULL) {
        wait_for(held);
      }
    }
  }
  if (rank == 0) {
    printf("%ld rounds\n", rounds);
  }
}

/* Each rank in turn is the root of several reductions and of two broadcasts. Only the calls
 * themselves hold a rank back. Long ones take several steps of the memory that ranks share. */
static void ahead(void) {
  enum { rounds = 100, reductions = 4, calls = 6, few = 5, many = 150000 };
  static double values[many];
  static double out[many];
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int call = 0; call < rounds * calls; ++call) {
    const int root = call / calls % size;
    const int count = call / calls % 20 == 19 ? many : few;
    const int reduces = call % calls < reductions;
    for (int i = 0; i < count; ++i) {
      values[i] = reduces || rank == root ? call + (reduces ? rank : 0) : -1;
      out[i] = -1;
    }
    if (reduces) {
      MPI_Reduce(values, out, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    } else {
      MPI_Bcast(values, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    }
    const double expected = reduces ? size * (double)call + size * (size - 1) / 2 : call;
    const double* const result = reduces ? out : values;
    for (int i = 0; i < count && (!reduces || rank == root); ++i) {
      if (result[i] != expected && wrong++ == 0) {
        fprintf(stderr, "rank %d, call %d, a %s, element %d: %g, not %g\n", rank, call,
                reduces ? "reduction" : "broadcast", i, result[i], expected);
      }
    }
  }
}

/* A rank that arrives two seconds after all others. */
static void late(void) {
  const struct timespec pause = {.tv_sec = 2, .tv_nsec = 0};
  int rank;
  int one = 1;
  int sum = 0;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    nanosleep(&pause, NULL);
  }
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  wrong += sum != size;
}

static void expect(int right, const char* what, int at) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!right) {
    fprintf(stderr, "rank %d: %s, given by rank %d\n", rank, what, at);
    ++wrong;
  }
}

static void nan_at_each_rank(int ignored) {
  const MPI_Op ops[] = {MPI_MIN, MPI_MAX};
  const MPI_Op places[] = {MPI_MINLOC, MPI_MAXLOC};
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int at = 0; at < size; ++at) {
    for (int op = 0; op < 2; ++op) {
      double in[3] = {rank, rank == at ? NAN : rank, -rank};
      double out[3];
      double later[3];
      float narrow = rank == at ? NAN : (float)rank;
      float narrow_out;
      struct double_int pair = {rank == at ? NAN : rank, rank};
      struct double_int found;
      MPI_Request request;
      MPI_Allreduce(in, out, 3, MPI_DOUBLE, ops[op], MPI_COMM_WORLD);
      expect((isnan(out[1]) != 0) != ignored && !isnan(out[0]), "a NaN of doubles", at);
      MPI_Iallreduce(in, later, 3, MPI_DOUBLE, ops[op], MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect((isnan(later[1]) != 0) != ignored && !isnan(later[2]), "a NaN of doubles, later", at);
      MPI_Allreduce(&narrow, &narrow_out, 1, MPI_FLOAT, ops[op], MPI_COMM_WORLD);
      expect((isnan(narrow_out) != 0) != ignored, "a NaN of floats", at);
      MPI_Allreduce(&pair, &found, 1, MPI_DOUBLE_INT, places[op], MPI_COMM_WORLD);
      expect((isnan(found.value) != 0) != ignored && (found.index == at) != ignored,
             "a NaN of pairs", at);
      double scattered[3] = {0};
      int* const counts = calloc((size_t)size, sizeof *counts);
      counts[size - 1] = 3;
      MPI_Reduce_scatter(in, scattered, counts, MPI_DOUBLE, ops[op], MPI_COMM_WORLD);
      expect(rank != size - 1 || ((isnan(scattered[1]) != 0) != ignored && !isnan(scattered[0])),
             "a NaN of scattered doubles", at);
      free(counts);
      double zero = (rank == at) != op ? -0.0 : 0.0; /* one -0 among +0, or one +0 among -0 */
      double least;
      MPI_Allreduce(&zero, &least, 1, MPI_DOUBLE, ops[op], MPI_COMM_WORLD);
      expect((signbit(least) != 0) == (op == 0), "a zero", at);
    }
  }
}

static void subnormal(void) {
#ifdef __SSE2__
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const uint64_t bits = 1;
  const uint64_t none = 0;
  uint64_t sum = 0;
  uint64_t least = 0;
  if (rank == 0) {
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
  }
  MPI_Allreduce(&bits, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(rank == 0 ? &bits : &none, &least, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x8040u);
  }
  expect(sum == (uint64_t)size && least == 1, "a subnormal number", 0);
#endif
}

/* From bench/compare/programs/wait_when_idle.c, where that is preloaded. */
extern int longest_wait_ms __attribute__((weak));
static void wait_when_idle(int milliseconds) {
  if (&longest_wait_ms != NULL) {
    longest_wait_ms = milliseconds;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  PMPI_Barrier(MPI_COMM_WORLD);
  wait_when_idle(1);
  const char* const what = argc > 1 ? argv[1] : "all";
  if (strcmp(what, "sums") == 0 && argc > 2) {
    for (int i = 2; i < argc; ++i) {
      sums(atoi(argv[i]));
    }
  } else if (strcmp(what, "loop") == 0 && argc > 2) {
    loop(argv[2], 0, argc > 4 ? argv[3] : NULL, argc > 4 ? atol(argv[4]) : 0);
  } else if (strcmp(what, "rounds") == 0 && argc > 2) {
    loop(NULL, atol(argv[2]), NULL, 0);
  } else if (strcmp(what, "ahead") == 0) {
    ahead();
  } else if (strcmp(what, "late") == 0) {
    late();
  } else if (strcmp(what, "handles") == 0) {
    check_handles(MPI_COMM_WORLD);
  } else if (strcmp(what, "nan") == 0) {
    nan_at_each_rank(argc > 2);
  } else if (strcmp(what, "subnormal") == 0) {
    subnormal();
  } else {
    everything(strcmp(what, "some") == 0 ? 5 : 1);
  }
  int all = 0;
  PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  wait_when_idle(0);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
