/* Programs with many communicators; the exit code is 0 when all results were right.
 *
 *   mpi_many dup COUNT       COUNT times MPI_Comm_dup of MPI_COMM_WORLD, allreduce, MPI_Comm_free
 *   mpi_many ahead COUNT     the same with a broadcast, whose root runs ahead of the others
 *   mpi_many live COUNT      COUNT duplicates at the same time, two rounds of allreduces
 *   mpi_many grid COPIES     rows and columns of a grid two ranks wide, pools and bands (halves of
 *                            the ranks, even and odd halves of these), COPIES of each; prints every
 *                            sum
 *   mpi_many turns COUNT     the same communicators one after the other, COUNT times
 *   mpi_many sides COUNT     even and odd ranks at the same time, COUNT calls, after one of all
 *   mpi_many threads COUNT   four threads, each COUNT times, at the same time
 *   mpi_many short COUNT     the same beside eight communicators that live, then ten one by one
 *   mpi_many flight COUNT    COUNT duplicates freed while their calls are under way
 *   mpi_many loop COPIES END the communicators of `grid` at the same time, with short and long
 *                            calls, until file END exists; prints `round N` every fifth round
 *   mpi_many keeper END      rank 2 dies, which keeps its node's tree, and the ranks of the other
 *                            side (`sides`) continue until file END exists; prints `call N` now and
 *                            then, and `right RANK`; kills itself
 *   mpi_many long COUNT      a duplicate with COUNT long allreduces, another one with short ones
 *   mpi_many shrink COUNT    COUNT duplicates at the same time, with 70 short allreduces of each
 *                            before the next one is made, and one when all are there
 *   mpi_many shrinks COUNT   a call of all, then the same of each side (`sides`) at the same time
 *   mpi_many dies            rank 3 dies while the others set up a duplicate
 *   mpi_many child           a call, then one of a duplicate
 *   mpi_many full            /dev/shm of rank 1's node is full at first
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_live = 4096, most_copies = 64, threads = 4, short_calls = 70, long_count = 32768 };

static int wrong;

static int64_t sum(MPI_Comm comm, int64_t what) {
  int rank;
  int size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int64_t mine = what + rank;
  int64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, comm);
  if (all != size * what + (int64_t)size * (size - 1) / 2 &&
      __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) == 0) {
    fprintf(stderr, "rank %d of %d: %lld\n", rank, size, (long long)all);
  }
  return all;
}

static void dups(int count, int rank, int ahead) {
  for (int i = 0; i < count; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (ahead == 0) {
      sum(comm, i);
    } else {
      const int root = i % 3;
      int64_t told = rank == root ? 77 + i : 0;
      if (rank == (i + 1) % 4) {
        usleep(300);
      }
      MPI_Bcast(&told, 1, MPI_INT64_T, root, comm);
      wrong += told != 77 + i;
    }
    MPI_Comm_free(&comm);
  }
}

static void live(int count) {
  static MPI_Comm all[most_live];
  for (int i = 0; i < count && i < most_live; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    sum(all[i], i);
  }
  for (int i = count - 1; i >= 0; --i) {
    sum(all[i], 5 * i);
  }
  for (int i = 0; i < count; ++i) {
    MPI_Comm_free(&all[(7 * i) % count]); /* COUNT is no multiple of 7 */
  }
}

/* The communicator of this rank among its row, column, pool or band (0 to 3). */
static MPI_Comm split(int what, int rank) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int pool = 2 * rank / size;
  const int colors[4] = {rank / 2, rank % 2, pool, 2 * pool + rank % 2};
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, colors[what], rank, &comm);
  return comm;
}

static void turns(int count, int rank) {
  for (int i = 0; i < 4 * count; ++i) {
    MPI_Comm comm = split(i % 4, rank);
    sum(comm, i);
    MPI_Comm_free(&comm);
  }
}

/* Their number. */
static int grid_of(int copies, int rank, MPI_Comm* all) {
  int count = 0;
  for (int copy = 0; copy < copies && copy < most_copies; ++copy) {
    for (int what = 0; what < 4; ++what) {
      all[count++] = split(what, rank);
    }
  }
  return count;
}

static void grid(int copies, int rank) {
  MPI_Comm all[4 * most_copies];
  int count = grid_of(copies, rank, all);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < count; ++i) {
      const int64_t all_of_it = sum(all[i], 1000 * i + round);
      if (rank == 0) {
        printf("%d %d %lld\n", round, i, (long long)all_of_it);
      }
    }
    sum(MPI_COMM_WORLD, round);
  }
  while (count > 0) {
    MPI_Comm_free(&all[--count]);
  }
}

/* One of the two ranks of each node is on each side, with a leader of its own. */
static MPI_Comm side_of(int rank, int* here) {
  MPI_Comm side;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, here);
  MPI_Comm_free(&node);
  MPI_Comm_split(MPI_COMM_WORLD, *here, rank, &side);
  return side;
}

static void sides(int count, int rank) {
  int here;
  MPI_Comm side = side_of(rank, &here);
  for (int i = 0; i < count; ++i) {
    sum(i == 0 ? MPI_COMM_WORLD : side, i);
  }
  MPI_Comm_free(&side);
}

/* Of a thread. */
struct work {
  MPI_Comm comm;
  int count;
};

static void* in_thread(void* argument) {
  const struct work* const work = argument;
  for (int i = 0; i < work->count; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(work->comm, &comm);
    sum(comm, i);
    MPI_Comm_free(&comm);
  }
  return NULL;
}

static void in_threads(int count) {
  struct work works[threads];
  pthread_t all[threads];
  for (int i = 0; i < threads; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm);
    works[i].count = count;
  }
  for (int i = 0; i < threads; ++i) {
    pthread_create(&all[i], NULL, in_thread, &works[i]);
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(all[i], NULL);
    MPI_Comm_free(&works[i].comm);
  }
}

/* The four threads have the ids of one communicator between them where a tree serves nine. */
static void in_threads_where_ids_are_short(int count, int rank) {
  MPI_Comm all[8];
  for (int i = 0; i < 8; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    sum(all[i], i);
  }
  in_threads(count);
  for (int i = 0; i < 8; ++i) {
    sum(all[i], 3 * i);
    MPI_Comm_free(&all[i]);
  }
  dups(10, rank, 0);
}

/* Each is freed, and the next one made, before its calls are waited for. */
static void in_flight(int count) {
  static int64_t in[2][long_count];
  static int64_t out[2][long_count];
  MPI_Request requests[2][2];
  int size;
  int rank;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i <= count; ++i) {
    const int now = i % 2;
    const int elements = i % 5 == 0 ? long_count : 1 + i % 300;
    if (i < count) {
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      sum(comm, i);
      for (int at = 0; at < elements; ++at) {
        in[now][at] = i + rank + at;
        out[now][at] = -1;
      }
      if (rank == i % size) {
        usleep(2000); /* the others have freed theirs by then */
      }
      MPI_Iallreduce(in[now], out[now], elements, MPI_INT64_T, MPI_SUM, comm, &requests[now][0]);
      MPI_Ibarrier(comm, &requests[now][1]);
      MPI_Comm_free(&comm);
    }
    if (i > 0) {
      const int before = i - 1;
      const int then = before % 2;
      const int given = before % 5 == 0 ? long_count : 1 + before % 300;
      MPI_Wait(&requests[then][0], MPI_STATUS_IGNORE);
      MPI_Wait(&requests[then][1], MPI_STATUS_IGNORE);
      for (int at = 0; at < given; ++at) {
        wrong += out[then][at] != (int64_t)size * (before + at) + (int64_t)size * (size - 1) / 2;
      }
    }
  }
}

static void say(const char* what, long number) {
  printf("%s %ld\n", what, number);
  fflush(stdout);
}

static void loop(int copies, const char* end, int rank) {
  static int64_t in[long_count];
  static int64_t out[long_count];
  MPI_Comm all[4 * most_copies];
  int count = grid_of(copies, rank, all);
  int go_on = 1;
  for (long round = 1; go_on; ++round) {
    for (int i = 0; i < count; ++i) {
      sum(all[i], 1000 * i + round);
    }
    MPI_Comm one = all[round % count];
    const int elements = round % 7 == 0 ? long_count : 500;
    int size;
    int mine;
    MPI_Comm_size(one, &size);
    MPI_Comm_rank(one, &mine);
    for (int i = 0; i < elements; ++i) {
      in[i] = mine + i + round;
    }
    MPI_Allreduce(in, out, elements, MPI_INT64_T, MPI_SUM, one);
    for (int i = 0; i < elements; ++i) {
      wrong += out[i] != (int64_t)size * (i + round) + (int64_t)size * (size - 1) / 2;
    }
    if (rank == 0 && round % 5 == 0) {
      say("round", round);
    }
    go_on = access(end, F_OK) != 0;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  while (count > 0) {
    MPI_Comm_free(&all[--count]);
  }
}

/* MPI_Finalize would wait for the rank that is missing. */
static void keeper(const char* end, int rank) {
  int here;
  MPI_Comm side = side_of(rank, &here);
  sum(MPI_COMM_WORLD, 1);
  sum(side, 1);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) {
    usleep(200000); /* the others have left the barrier */
    say("dies", rank);
    raise(SIGKILL);
  }
  for (int go_on = 1, i = 0; here == 1 && go_on; ++i) {
    const int64_t all = sum(side, i);
    int mine;
    MPI_Comm_rank(side, &mine);
    if (mine == 0 && i % 50 == 0) {
      say("call", i);
    }
    usleep(1000);
    go_on = access(end, F_OK) != 0 && all >= 0;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, side);
  }
  while (access(end, F_OK) != 0) {
    usleep(10000);
  }
  say(wrong == 0 ? "right" : "wrong", rank);
  raise(SIGKILL);
}

static void with_short_calls(int count, MPI_Comm of) {
  static MPI_Comm all[most_live];
  for (int i = 0; i < count && i < most_live; ++i) {
    MPI_Comm_dup(of, &all[i]);
    for (int call = 0; call < short_calls; ++call) {
      sum(all[i], i + call);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < count; ++i) {
    sum(all[i], 3 * i);
  }
  for (int i = 0; i < count; ++i) {
    MPI_Comm_free(&all[i]);
  }
}

static void with_long_calls(int count) {
  static int64_t in[long_count];
  static int64_t out[long_count];
  MPI_Comm comms[2];
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sum(MPI_COMM_WORLD, 1); /* so that the duplicates are not the first */
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  for (int round = 0; round < count; ++round) {
    for (int i = 0; i < long_count; ++i) {
      in[i] = i + round;
    }
    MPI_Allreduce(in, out, long_count, MPI_INT64_T, MPI_SUM, comms[0]);
    for (int i = 0; i < long_count; ++i) {
      wrong += out[i] != (int64_t)size * (i + round);
    }
    sum(comms[1], round);
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[0]);
  dups(3, 0, 0);
}

static void dies(int rank) {
  MPI_Comm comm;
  sum(MPI_COMM_WORLD, 1);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank == 3) {
    usleep(100000); /* the others are in their first call */
    raise(SIGKILL);
  }
  sum(comm, 2);
}

static void child(void) {
  MPI_Comm comm;
  sum(MPI_COMM_WORLD, 1);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  sum(comm, 2);
  MPI_Comm_free(&comm);
}

static void full(int rank) {
  const char* const name = "/dev/shm/filler";
  int file = -1;
  if (rank == 1) {
    file = open(name, O_CREAT | O_RDWR, 0600);
    off_t at = 0;
    for (off_t step = 1 << 20; step >= 4096; step /= 2) {
      while (posix_fallocate(file, at, step) == 0) {
        at += step;
      }
    }
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  sum(MPI_COMM_WORLD, 1); /* by the MPI library */
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    close(file);
    unlink(name);
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  dups(10, rank, 0); /* in the network */
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "dup";
  const int count = argc > 2 ? atoi(argv[2]) : 10;
  int level = 0;
  MPI_Init_thread(&argc, &argv,
                  strcmp(what, "threads") == 0 || strcmp(what, "short") == 0 ? MPI_THREAD_MULTIPLE
                                                                             : MPI_THREAD_SINGLE,
                  &level);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(what, "dup") == 0) {
    dups(count, rank, 0);
  } else if (strcmp(what, "ahead") == 0) {
    dups(count, rank, 1);
  } else if (strcmp(what, "live") == 0) {
    live(count);
  } else if (strcmp(what, "grid") == 0) {
    grid(count, rank);
  } else if (strcmp(what, "turns") == 0) {
    turns(count, rank);
  } else if (strcmp(what, "sides") == 0) {
    sides(count, rank);
  } else if (strcmp(what, "threads") == 0 && level == MPI_THREAD_MULTIPLE) {
    in_threads(count);
  } else if (strcmp(what, "short") == 0 && level == MPI_THREAD_MULTIPLE) {
    in_threads_where_ids_are_short(count, rank);
  } else if (strcmp(what, "flight") == 0) {
    in_flight(count);
  } else if (strcmp(what, "loop") == 0 && argc > 3) {
    loop(count, argv[3], rank);
  } else if (strcmp(what, "keeper") == 0 && argc > 2) {
    keeper(argv[2], rank);
  } else if (strcmp(what, "child") == 0) {
    child();
  } else if (strcmp(what, "long") == 0) {
    with_long_calls(count);
  } else if (strcmp(what, "shrink") == 0) {
    with_short_calls(count, MPI_COMM_WORLD);
  } else if (strcmp(what, "shrinks") == 0) {
    int here;
    MPI_Comm side = side_of(rank, &here);
    sum(MPI_COMM_WORLD, 1); /* the first tree is there */
    with_short_calls(count, side);
    MPI_Comm_free(&side);
  } else if (strcmp(what, "dies") == 0) {
    dies(rank);
  } else if (strcmp(what, "full") == 0) {
    full(rank);
  } else {
    fprintf(stderr, "mpi_many: %s cannot be done\n", what);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
