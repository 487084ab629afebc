/* An MPI program of the kind of a plane-wave code: it knows nothing of Tributary.
 *
 *   pools_and_bands STEPS
 *
 * The lowest states of two small symmetric matrices (k-points), by block iteration. Ranks are
 * divided as such codes divide them:
 *
 *   pool     half of the ranks, which has a matrix
 *   band     half of the pool, every second rank: has half of the states, the plane waves are
 *            divided among its ranks
 *   across   ranks of a pool that are neighbours in different bands
 *   pools    ranks that have the same place in different pools
 *   row, column   of the grid of all ranks, two wide
 *   task     the pool's first rank with its last one, and so on inwards
 *   all      all ranks
 *
 * Six parts of the program (a solver, transforms, the density and so on) each have a duplicate of
 * all eight, as libraries do: 48 communicators at every rank, used by turns.
 *
 * On standard output: `communicators`, how many of a rank are on several nodes and on how many
 * different sets of nodes those of all ranks are; `exact`, a digest of results that have the same
 * bits in any order of the additions, of all ranks; and `step`, energies, which do not. */
#include <mpi.h>

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { waves = 96, states = 8, parts = 6, kinds = 8, most_ranks = 256, long_count = 20000 };
enum kind { all, pool, band, across, pools, row, column, task };

static MPI_Comm comms[parts][kinds];
static int rank;
static int ranks;
static uint64_t digest = 0xcbf29ce484222325u;

static void mix(const void* what, size_t bytes) {
  const unsigned char* const at = what;
  for (size_t i = 0; i < bytes; ++i) {
    digest = (digest ^ at[i]) * 0x100000001b3u;
  }
}

static int size_of(MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  return size;
}

static int rank_in(MPI_Comm comm) {
  int mine;
  MPI_Comm_rank(comm, &mine);
  return mine;
}

static void make_communicators(void) {
  const int half = ranks / 2;
  const int in_pool = rank % half;
  const int of_pool = rank / half;
  const int colors[kinds] = {
      [all] = 0,
      [pool] = of_pool,
      [band] = 2 * of_pool + in_pool % 2,
      [across] = half * of_pool + in_pool / 2,
      [pools] = in_pool,
      [row] = rank / 2,
      [column] = rank % 2,
      [task] = half * of_pool + (in_pool < half - 1 - in_pool ? in_pool : half - 1 - in_pool),
  };
  for (int kind = 0; kind < kinds; ++kind) {
    MPI_Comm_split(MPI_COMM_WORLD, colors[kind], rank, &comms[0][kind]);
  }
  for (int part = 1; part < parts; ++part) {
    for (int kind = 0; kind < kinds; ++kind) {
      MPI_Comm_dup(comms[0][kind], &comms[part][kind]);
    }
  }
}

/* Sets of nodes, as sums of powers of two of the nodes' numbers. */
static void count_sets_of_nodes(void) {
  static char names[most_ranks][MPI_MAX_PROCESSOR_NAME];
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length;
  MPI_Get_processor_name(name, &length);
  MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
  int node = 0; /* number of the first rank on it */
  while (strcmp(names[node], name) != 0) {
    ++node;
  }
  uint64_t mine[kinds];
  int several = 0;
  for (int kind = 0; kind < kinds; ++kind) {
    const uint64_t bit = (uint64_t)1 << node;
    MPI_Allreduce(&bit, &mine[kind], 1, MPI_UINT64_T, MPI_BOR, comms[0][kind]);
    several += mine[kind] != bit ? parts : 0;
  }
  static uint64_t sets[most_ranks * kinds];
  MPI_Gather(mine, kinds, MPI_UINT64_T, sets, kinds, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank != 0) {
    return;
  }
  int different = 0;
  for (int i = 0; i < ranks * kinds; ++i) {
    int is_new = (sets[i] & (sets[i] - 1)) != 0;
    for (int before = 0; before < i; ++before) {
      is_new = is_new && sets[before] != sets[i];
    }
    different += is_new;
  }
  printf("communicators %d sets %d\n", several, different);
}

/* ---- what is exact in any order ---- */

struct maximum {
  double value;
  int index;
};

/* Two calls are under way at once, and waited for in the other order. */
static void overlapping(MPI_Comm one, MPI_Comm other, int step) {
  static int64_t in[long_count];
  static int64_t out[long_count];
  const int count = step % 6 == 5 ? long_count : 100;
  float few[3] = {(float)rank, (float)step, 0.5f};
  float sums[3];
  MPI_Request requests[3];
  for (int i = 0; i < count; ++i) {
    in[i] = ((int64_t)rank << 32) + i * step;
  }
  MPI_Iallreduce(in, out, count, MPI_INT64_T, MPI_SUM, one, &requests[0]);
  MPI_Iallreduce(few, sums, 3, MPI_FLOAT, MPI_SUM, other, &requests[1]);
  MPI_Ibarrier(one, &requests[2]);
  for (int i = 2; i >= 0; --i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  mix(out, (size_t)count * sizeof *out);
  mix(sums, sizeof sums);
}

static void exact_calls(MPI_Comm comm, int step, int part) {
  const int size = size_of(comm);
  const int mine = rank_in(comm);
  const int root = step % size;

  const int64_t given = 1000 * rank + step;
  int64_t sum;
  MPI_Allreduce(&given, &sum, 1, MPI_INT64_T, MPI_SUM, comm);
  mix(&sum, sizeof sum);

  double whole[33]; /* whole numbers: sums of them do not round */
  for (int i = 0; i < 33; ++i) {
    whole[i] = (double)((rank + 1) * (i + step) - 7 * part);
  }
  MPI_Allreduce(MPI_IN_PLACE, whole, 33, MPI_DOUBLE, MPI_SUM, comm);
  mix(whole, sizeof whole);

  switch ((step + part) % 6) {
  case 0: {
    struct maximum best = {cos(rank * 0.7 + step), rank};
    MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    mix(&best.value, sizeof best.value);
    mix(&best.index, sizeof best.index);
    break;
  }
  case 1: {
    uint32_t bits[5];
    for (int i = 0; i < 5; ++i) {
      bits[i] = (uint32_t)(rank + 3) * 2654435761u >> i;
    }
    uint32_t folded[5] = {0};
    MPI_Reduce(bits, folded, 5, MPI_UINT32_T, MPI_BXOR, root, comm);
    if (mine == root) {
      mix(folded, sizeof folded);
    }
    break;
  }
  case 2: {
    /* Every second number of a matrix's row, as one element. */
    double columns[64];
    for (int i = 0; i < 64; ++i) {
      columns[i] = mine == root ? sin(i + step) : 0;
    }
    MPI_Datatype type;
    MPI_Type_vector(32, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(columns, 1, type, root, comm);
    MPI_Type_free(&type);
    mix(columns, sizeof columns);
    break;
  }
  case 3: {
    int16_t each[most_ranks];
    int16_t own = 0;
    for (int i = 0; i < size; ++i) {
      each[i] = (int16_t)(i + rank % 5);
    }
    MPI_Reduce_scatter_block(each, &own, 1, MPI_INT16_T, MPI_SUM, comm);
    mix(&own, sizeof own);
    break;
  }
  case 4: {
    const int has_converged = rank % 3 != step % 3;
    int have;
    MPI_Allreduce(&has_converged, &have, 1, MPI_INT, MPI_LAND, comm);
    MPI_Barrier(comm);
    mix(&have, sizeof have);
    break;
  }
  default: {
    const double complex given_here = (rank + 1) - 2.0 * I * step;
    double complex factor;
    MPI_Allreduce(&given_here, &factor, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm);
    mix(&factor, sizeof factor);
    break;
  }
  }
}

/* ---- the states, whose sums round ---- */

static double vectors[states][waves];

/* An element of the pool's matrix. */
static double element(int i, int j) {
  const int k = rank / (ranks / 2);
  return i == j ? i + 1.0 + 0.1 * k : 0.3 / (1 + abs(i - j));
}

static void begin_states(void) {
  for (int s = 0; s < states; ++s) {
    for (int i = 0; i < waves; ++i) {
      vectors[s][i] = (s == i) + 0.01 * cos(s + 3.0 * i);
    }
  }
}

/* Makes the states orthonormal. All ranks of the pool have all of them. */
static void orthonormalise(MPI_Comm of_band) {
  const int size = size_of(of_band);
  const int first = waves * rank_in(of_band) / size;
  const int end = waves * (rank_in(of_band) + 1) / size;
  for (int s = 0; s < states; ++s) {
    double products[states] = {0};
    for (int pass = 0; pass < 2; ++pass) { /* against those before it, then its length */
      memset(products, 0, sizeof products);
      for (int t = pass == 0 ? 0 : s; t < s + pass; ++t) {
        for (int i = first; i < end; ++i) {
          products[t] += vectors[s][i] * vectors[t][i];
        }
      }
      MPI_Allreduce(MPI_IN_PLACE, products, states, MPI_DOUBLE, MPI_SUM, of_band);
      for (int i = 0; i < waves; ++i) {
        if (pass == 1) {
          vectors[s][i] /= sqrt(products[s]);
          continue;
        }
        for (int t = 0; t < s; ++t) {
          vectors[s][i] -= products[t] * vectors[t][i];
        }
      }
    }
  }
}

/* One step towards the lowest states: v - c (H v), where c is such that the highest ones vanish.
 * Returns the sum of the pool's energies. */
static double improve(const MPI_Comm* of) {
  static double product[states][waves];
  const int size = size_of(of[band]);
  const int first = waves * rank_in(of[band]) / size;
  const int end = waves * (rank_in(of[band]) + 1) / size;
  const int which = rank_in(of[across]);
  const int bands = size_of(of[across]);
  memset(product, 0, sizeof product);
  for (int s = which; s < states; s += bands) { /* the band's states, this rank's waves */
    for (int j = first; j < end; ++j) {
      for (int i = 0; i < waves; ++i) {
        product[s][i] += element(i, j) * vectors[s][j];
      }
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, product, states * waves, MPI_DOUBLE, MPI_SUM, of[band]);
  MPI_Allreduce(MPI_IN_PLACE, product, states * waves, MPI_DOUBLE, MPI_SUM, of[across]);
  double energy = 0;
  for (int s = 0; s < states; ++s) {
    for (int i = 0; i < waves; ++i) {
      energy += vectors[s][i] * product[s][i];
      vectors[s][i] -= product[s][i] / (waves + 2);
    }
  }
  orthonormalise(of[band]);
  return energy;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? atoi(argv[1]) : 0;
  if (steps < 1 || ranks % 4 != 0 || ranks > most_ranks || ranks > 64) {
    fprintf(stderr, "pools_and_bands STEPS, at least 1, with 4, 8 ... 64 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  make_communicators();
  count_sets_of_nodes();
  begin_states();
  orthonormalise(comms[0][band]);
  for (int step = 0; step < steps; ++step) {
    const MPI_Comm* const of = comms[step % parts];
    for (int part = 0; part < parts; ++part) {
      for (int kind = 0; kind < kinds; ++kind) {
        exact_calls(comms[part][kind], step, part);
      }
    }
    overlapping(of[pool], of[column], step);
    overlapping(of[task], of[all], step);
    const double of_pool = improve(of);
    double energies[2] = {of_pool, of_pool * of_pool}; /* both pools */
    MPI_Allreduce(MPI_IN_PLACE, energies, 2, MPI_DOUBLE, MPI_SUM, of[pools]);
    float density[waves];
    for (int i = 0; i < waves; ++i) {
      density[i] = (float)(vectors[0][i] * vectors[0][i]);
    }
    MPI_Allreduce(MPI_IN_PLACE, density, waves, MPI_FLOAT, MPI_SUM, of[row]);
    double charge = 0;
    for (int i = 0; i < waves; ++i) {
      charge += (i + 1) * density[i];
    }
    if (rank == 0) {
      printf("step %d %.15e %.15e %.7e\n", step, energies[0], energies[1], charge);
    }
  }
  static uint64_t digests[most_ranks];
  MPI_Gather(&digest, 1, MPI_UINT64_T, digests, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i) {
    printf("exact %d %016llx\n", i, (unsigned long long)digests[i]);
  }
  for (int part = 0; part < parts; ++part) {
    for (int kind = 0; kind < kinds; ++kind) {
      MPI_Comm_free(&comms[part][kind]);
    }
  }
  MPI_Finalize();
  return 0;
}
