"""Tests of test_mpi.py with the MPI libraries and programs of another release of Debian, while all of Tributary is this
build's: one library for Open MPI and one for MPICH serve both releases. Needs the root that --platform makes of it."""

import test_mpi
from platforms import names, root
from tributary import mpi_library
from tributary.cases import Skip

ALONE = True  # as test_mpi
CASES = [
    "every_operation_is_right_with_open_mpi_on_two_nodes_and_six_ranks_on_three",
    "every_operation_is_right_with_mpich_on_two_nodes",
    "wrong_arguments_are_the_errors_that_they_are_without_the_library",
    "a_nan_at_any_rank_is_everyones_whichever_way_a_call_goes",
    "ranks_that_make_different_calls_are_named_and_get_no_result",
    "calls_that_are_left_to_the_mpi_library_are_all_counted",
    "a_program_in_fortran_reduces_in_the_network_with_both_mpi_libraries",
    "large_counts_are_reduced_in_the_network",
    "persistent_operations_are_reduced_in_the_network_in_any_order",
    "communicators_of_sessions_are_reduced_in_the_network",
    "a_library_for_another_mpi_library_says_so",
    "reproducible_sums_have_the_same_bits_for_any_ranks_placement_and_way",
    "a_switch_killed_in_the_middle_leaves_the_job_to_the_mpi_library",
]


def other_root():
    """Raises Skip."""
    here = names.release_in("/")[0]
    for platform in names.PLATFORMS.values():
        place = root.place_of(test_mpi.SOURCE.parents[2], platform)
        if platform.name != here and root.state_of(place, platform) == root.COMPLETE:
            return str(place)
    raise Skip(f"no root of another release than {here}; scripts/platforms/enter debian13 true makes one")


def elsewhere(case):
    def test(lab):
        mpi_library.use(mpi_library.ROOT or other_root())
        getattr(test_mpi, f"test_{case}")(lab)

    return test


globals().update({f"test_{case}": elsewhere(case) for case in CASES})
