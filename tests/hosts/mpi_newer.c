/* The features of MPI 4, in a program that knows nothing of Tributary: large counts, persistent
 * reductions and sessions. tests/hosts/test_mpi.py runs it with the library preloaded.
 *
 *   mpi_newer large        the functions with _c: 6 calls and 5 * 3 starts a rank
 *   mpi_newer persistent   initialised once, started often: 8 * 20 starts a rank
 *   mpi_newer order        started in an order of each rank's own, beside blocking calls: 60
 *   mpi_newer many         more operations at a time than the network takes: 66 starts a rank
 *   mpi_newer loop HELD READY
 *                          persistent allreduces; after some, rank 0 makes READY and waits for HELD
 *   mpi_newer session      one session and nothing else: 3 calls a rank
 *   mpi_newer sessions     several, beside MPI_Init, ended in an order of each rank's own: 10 calls
 *   mpi_newer again        one after the other: 5 calls
 *   mpi_newer left         a session that ends before its communicator was freed: 1 call
 *
 * Each result is compared with the expected one. The exit code is 0 when all were right. */
#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Barrier_init MPIX_Barrier_init
#else
#define HAS_SESSIONS
#endif
#ifdef MPICH_VERSION
#define HAS_LARGE
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wrong, rank, size;

static void must(int right, const char* what, int at) {
  if (!right) {
    fprintf(stderr, "rank %d: %s, %d, is wrong\n", rank, what, at);
    ++wrong;
  }
}

static double sum_of(double each) { /* of each * (rank + 1) at all ranks */
  return each * size * (size + 1) / 2;
}

#ifdef HAS_LARGE
static void large_and_persistent(MPI_Comm comm, const MPI_Count* counts) {
  enum { count = 300, operations = 5, rounds = 3 };
  double* in = malloc(sizeof(double) * count * (size_t)size);
  double sum[count];
  double greatest[count];
  double block[count];
  double last[count];
  double sent[count];
  MPI_Request all[operations];
  MPI_Status statuses[operations];
  MPI_Allreduce_init_c(in, sum, count, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &all[0]);
  MPI_Reduce_init_c(in, greatest, count, MPI_DOUBLE, MPI_MAX, 0, comm, MPI_INFO_NULL, &all[1]);
  MPI_Reduce_scatter_block_init_c(in, block, count, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL,
                                  &all[2]);
  MPI_Reduce_scatter_init_c(in, last, counts, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &all[3]);
  MPI_Bcast_init_c(sent, count, MPI_DOUBLE, size - 1, comm, MPI_INFO_NULL, &all[4]);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count * size; ++i) {
      in[i] = (rank + 1) * (double)(i % 100 + round);
    }
    sent[7] = rank == size - 1 ? round + 1 : -1;
    MPI_Startall(operations, all);
    MPI_Waitall(operations, all, statuses);
    must(sum[99] == sum_of(99 + round), "MPI_Allreduce_init_c", round);
    must(rank != 0 || greatest[99] == size * (99.0 + round), "MPI_Reduce_init_c", round);
    must(block[99] == sum_of(99 + round), "MPI_Reduce_scatter_block_init_c", round);
    must(rank != size - 1 || last[99] == sum_of(99 + round), "MPI_Reduce_scatter_init_c", round);
    must(sent[7] == round + 1, "MPI_Bcast_init_c", round);
  }
  for (int i = 0; i < operations; ++i) {
    MPI_Request_free(&all[i]);
  }
  free(in);
}

static void large(MPI_Comm comm) {
  enum { count = 3000 };
  double* in = malloc(sizeof(double) * count * (size_t)size);
  double* out = malloc(sizeof(double) * count);
  for (int i = 0; i < count * size; ++i) {
    in[i] = (rank + 1) * (double)(i % 100);
  }
  MPI_Allreduce_c(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
  must(out[count - 1] == sum_of(99), "MPI_Allreduce_c", 0);
  MPI_Reduce_c(in, out, count, MPI_DOUBLE, MPI_MAX, size - 1, comm);
  must(rank != size - 1 || out[1] == size, "MPI_Reduce_c", 0);
  MPI_Reduce_scatter_block_c(in, out, 100, MPI_DOUBLE, MPI_SUM, comm);
  must(out[99] == sum_of(99), "MPI_Reduce_scatter_block_c", 0);
  MPI_Count* counts = malloc(sizeof *counts * (size_t)size);
  for (int to = 0; to < size; ++to) {
    counts[to] = to == size - 1 ? 300 : 0;
  }
  MPI_Reduce_scatter_c(in, out, counts, MPI_DOUBLE, MPI_SUM, comm);
  must(rank != size - 1 || out[299] == sum_of(99), "MPI_Reduce_scatter_c", 0);
  in[5] = rank == 1 ? 42 : 0;
  MPI_Bcast_c(in, count, MPI_DOUBLE, 1, comm);
  must(in[5] == 42, "MPI_Bcast_c", 0);
  MPI_Request request;
  int one = 1;
  int all = 0;
  MPI_Iallreduce_c(&one, &all, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  must(all == size, "MPI_Iallreduce_c", 0);
  large_and_persistent(comm, counts);
  free(counts);
  free(in);
  free(out);
}
#endif

/* Persistent operations, and every function that waits for them. */
static void persistent(MPI_Comm comm) {
  enum { count = 500, rounds = 20, operations = 8 };
  static double in[count], sum[count], place[count], scattered[16], here[16 * 64], part[24];
  static int counts[64];
  int before = 0; /* this rank's block */
  static int derived[2 * count];
  int one = 0;
  int greatest = 0;
  MPI_Request all[operations];
  MPI_Datatype every_other;
  MPI_Type_vector(count, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Allreduce_init(in, sum, count, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &all[0]);
  MPI_Allreduce_init(MPI_IN_PLACE, place, count, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &all[1]);
  MPI_Bcast_init(&one, 1, MPI_INT, size - 1, comm, MPI_INFO_NULL, &all[2]);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &all[3]);
  MPI_Reduce_init(&rank, &greatest, 1, MPI_INT, MPI_MAX, 0, comm, MPI_INFO_NULL, &all[4]);
  MPI_Reduce_scatter_block_init(here, scattered, 16, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL,
                                &all[5]);
  /* The same bytes, but every other int at the root. */
  MPI_Bcast_init(derived, rank == 0 ? 1 : count, rank == 0 ? every_other : MPI_INT, 0, comm,
                 MPI_INFO_NULL, &all[6]);
  for (int to = 0; to < size; ++to) {
    counts[to] = to % 2 ? 4 : 24;
    before += to < rank ? counts[to] : 0;
  }
  MPI_Reduce_scatter_init(here, part, counts, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &all[7]);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; ++i) {
      in[i] = (rank + 1) * (double)(round + i);
      place[i] = in[i];
      sum[i] = -1;
      derived[i] = 0;
    }
    for (int i = 0; i < count && rank == 0; ++i) {
      derived[2 * i] = round + i;
    }
    for (int i = 0; i < 16 * size; ++i) {
      here[i] = (rank + 1) * (double)(i + round);
    }
    one = rank == size - 1 ? round : -1;
    greatest = -1;
    int flag = 0;
    int index = 0;
    int done = 0;
    int indices[operations];
    MPI_Status status, statuses[operations];
    switch (round % 5) {
    case 0:
      MPI_Startall(operations, all);
      MPI_Waitall(operations, all, statuses);
      break;
    case 1:
      for (int i = 0; i < operations; ++i) {
        MPI_Start(&all[i]);
        while (!flag) {
          MPI_Test(&all[i], &flag, &status);
        }
        flag = 0;
      }
      break;
    case 2:
      MPI_Startall(operations, all);
      for (int n = 0; n < operations; ++n) {
        MPI_Waitany(operations, all, &index, &status);
        must(index >= 0 && index < operations && !(done & 1 << index), "MPI_Waitany", index);
        done |= 1 << index;
      }
      break;
    case 3:
      MPI_Startall(operations, all);
      for (int left = operations; left > 0; left -= done) {
        MPI_Waitsome(operations, all, &done, indices, statuses);
        must(done > 0 && done <= left, "MPI_Waitsome", done);
      }
      break;
    default:
      MPI_Startall(operations, all);
      do {
        MPI_Request_get_status(all[0], &flag, &status);
      } while (!flag);
      must(sum[0] == sum_of(round), "MPI_Request_get_status", round);
      do {
        MPI_Testall(operations, all, &flag, statuses);
      } while (!flag);
      break;
    }
    for (int i = 0; i < count; ++i) {
      must(sum[i] == sum_of(round + i), "a persistent allreduce", round);
      must(place[i] == sum_of(round + i), "one in place", round);
      must(derived[rank == 0 ? 2 * i : i] == round + i, "a persistent broadcast by two datatypes",
           round);
    }
    for (int i = 0; i < 16; ++i) {
      must(scattered[i] == sum_of(16 * rank + i + round), "a persistent reduce_scatter_block",
           round);
    }
    for (int i = 0; i < counts[rank]; ++i) {
      must(part[i] == sum_of(before + i + round), "a persistent reduce_scatter", round);
    }
    must(one == round, "a persistent broadcast", round);
    must(rank != 0 || greatest == size - 1, "a persistent reduce", round);
  }
  for (int i = 0; i < operations; ++i) {
    MPI_Request_free(&all[i]);
    must(all[i] == MPI_REQUEST_NULL, "MPI_Request_free", i);
  }
  MPI_Type_free(&every_other); /* not before: Open MPI 4.1 does not hold it */
}

/* MPI lets ranks start persistent operations in any order. */
static void order(MPI_Comm comm) {
  enum { rounds = 20 };
  double in[2];
  double out[2] = {0, 0};
  MPI_Request both[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Allreduce_init(&in[i], &out[i], 1, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &both[i]);
  }
  for (int round = 0; round < rounds; ++round) {
    const int first = (rank + round) % 2;
    double blocking = 1;
    for (int i = 0; i < 2; ++i) {
      in[i] = (rank + 1) * (double)(round + 1 + i);
    }
    if (first == 0 && round % 3 == 0) { /* before them at some ranks, after them at others */
      MPI_Allreduce(MPI_IN_PLACE, &blocking, 1, MPI_DOUBLE, MPI_SUM, comm);
    }
    MPI_Start(&both[first]);
    if (round % 2 == 1 && first == 0) {
      usleep(2000);
    }
    MPI_Start(&both[1 - first]);
    if (first == 1 || round % 3 != 0) {
      MPI_Allreduce(MPI_IN_PLACE, &blocking, 1, MPI_DOUBLE, MPI_SUM, comm);
    }
    MPI_Status statuses[2]; /* gcc warns of MPICH's MPI_STATUSES_IGNORE */
    MPI_Waitall(2, both, statuses);
    must(blocking == size, "a blocking call", round);
    must(out[0] == sum_of(round + 1) && out[1] == sum_of(round + 2), "an order", round);
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

static void many(MPI_Comm comm) {
  enum { operations = 66 };
  MPI_Request all[operations];
  int in[operations];
  int out[operations];
  for (int i = 0; i < operations; ++i) {
    in[i] = rank == i % size;
    MPI_Allreduce_init(&in[i], &out[i], 1, MPI_INT, MPI_LOR, comm, MPI_INFO_NULL, &all[i]);
  }
  MPI_Startall(operations, all);
  MPI_Status statuses[operations];
  MPI_Waitall(operations, all, statuses);
  for (int i = 0; i < operations; ++i) {
    must(out[i] == 1, "one of many", i);
    MPI_Request_free(&all[i]);
  }
}

static void loop(MPI_Comm comm, const char* held, const char* ready) {
  int in = 0;
  int out = 0;
  MPI_Request request;
  MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
  for (int round = 0; round < 40; ++round) {
    in = round;
    if (round == 20 && rank == 0) {
      fclose(fopen(ready, "w"));
      while (access(held, F_OK) != 0) {
        usleep(1000);
      }
    }
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    must(out == round * size, "a persistent allreduce", round);
  }
  MPI_Request_free(&request);
}

#ifdef HAS_SESSIONS
/* A communicator of all processes. */
static MPI_Comm made_of(MPI_Session session, const char* tag) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  return comm;
}

static void add(MPI_Comm comm, int at) {
  int all = 0;
  MPI_Allreduce(&at, &all, 1, MPI_INT, MPI_SUM, comm);
  must(all == at * size, "a sum in a session", at);
}

static void session(void) {
  MPI_Session one;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
  MPI_Comm comm = made_of(one, "one");
  add(comm, 1);
  MPI_Barrier(comm);
  int all = rank == 0 ? 17 : 0;
  MPI_Bcast(&all, 1, MPI_INT, 0, comm);
  must(all == 17, "a broadcast in a session", 0);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&one);
}

/* Ended in the order in which they began at even ranks, and the other way round at odd ones. */
static void sessions(int argc, char** argv) {
  MPI_Session both[2];
  MPI_Comm comms[2];
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &both[0]);
  comms[0] = made_of(both[0], "first");
  add(comms[0], 1);
  MPI_Init(&argc, &argv);
  add(MPI_COMM_WORLD, 2);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &both[1]);
  comms[1] = made_of(both[1], "second");
  add(comms[1], 3);
  add(comms[0], 4);
  add(MPI_COMM_WORLD, 5);
  MPI_Comm_free(&comms[0]);
  add(comms[1], 6);
  MPI_Finalize();
  for (int i = 0; i < 4; ++i) { /* communicators of a session remain valid after MPI_Finalize */
    add(comms[1], 7 + i);
  }
  MPI_Comm_free(&comms[1]);
  MPI_Session_finalize(&both[rank % 2]);
  MPI_Session_finalize(&both[1 - rank % 2]);
}

/* Another session, after all others have ended. */
static void again(void) {
  session();
  MPI_Session one;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
  MPI_Comm comm = made_of(one, "again");
  add(comm, 11);
  double most = rank;
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
  must(most == size - 1, "a maximum in a later session", 0);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&one);
}

static void left(void) {
  MPI_Session one;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
  add(made_of(one, "one"), 1);
  MPI_Session_finalize(&one);
}
#endif

int main(int argc, char** argv) {
  const char* const what = argv[1];
#ifdef HAS_SESSIONS
  if (strcmp(what, "session") == 0) {
    session();
    return wrong != 0;
  }
  if (strcmp(what, "sessions") == 0) {
    sessions(argc, argv);
    return wrong != 0;
  }
  if (strcmp(what, "again") == 0) {
    again();
    return wrong != 0;
  }
  if (strcmp(what, "left") == 0) {
    left();
    return wrong != 0;
  }
#endif
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "persistent") == 0) {
    persistent(MPI_COMM_WORLD);
  } else if (strcmp(what, "order") == 0) {
    order(MPI_COMM_WORLD);
  } else if (strcmp(what, "many") == 0) {
    many(MPI_COMM_WORLD);
  } else if (strcmp(what, "loop") == 0) {
    loop(MPI_COMM_WORLD, argv[2], argv[3]);
#ifdef HAS_LARGE
  } else if (strcmp(what, "large") == 0) {
    large(MPI_COMM_WORLD);
#endif
  } else {
    fprintf(stderr, "this MPI library has no %s\n", what);
    wrong = 1;
  }
  MPI_Finalize();
  return wrong != 0;
}
