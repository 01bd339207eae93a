/* Which knobs a communicator keeps, for which releases. */
#include "check.h"

#include "measure/knob.h"

static char reason[256];

static int refused(const char *library, const char *knob, int off)
{
    struct pl_knob_start start = {off != 0, false};
    reason[0] = '\0';
    return pl_knob_obstacle(library, knob, PL_SWITCH_COMMUNICATOR, start, reason, sizeof reason);
}

static int refused_at_calls(const char *library, const char *knob)
{
    struct pl_knob_start start = {true, true};
    reason[0] = '\0';
    return pl_knob_obstacle(library, knob, PL_SWITCH_CALL, start, reason, sizeof reason);
}

static int refused_with_rules_file(const char *library, const char *knob)
{
    struct pl_knob_start start = {false, true};
    reason[0] = '\0';
    return pl_knob_obstacle(library, knob, PL_SWITCH_COMMUNICATOR, start, reason, sizeof reason);
}

int main(void)
{
    static const char knob[] = "coll_tuned_allreduce_algorithm";

    CHECK(!refused("Open MPI v4.1.4, package: …", knob, 0));
    CHECK(refused("Open MPI v4.1.4, package: …", knob, 1));
    CHECK(strstr(reason, "OMPI_MCA_coll_tuned_use_dynamic_rules=1") != NULL);
    CHECK(refused("Open MPI v4.1.6, …", knob, 1));
    CHECK(!refused("Open MPI v4.1.7, …", knob, 1));
    CHECK(!refused("Open MPI v4.1.8, …", knob, 1));
    CHECK(refused("Open MPI v4.0.7, …", knob, 1));
    CHECK(refused("Open MPI v3.1.6, …", knob, 1));
    CHECK(refused("Open MPI v5.0.5, …", knob, 1));
    CHECK(!refused("Open MPI v5.0.6, …", knob, 1));
    CHECK(!refused("Open MPI v5.1.0, …", knob, 1));
    CHECK(!refused("Open MPI v6.0.0, …", knob, 1));
    CHECK(refused("Open MPI of unknown version", knob, 1)); /* in doubt it is not in force */

    CHECK(refused_with_rules_file("Open MPI v4.1.8, …", knob));
    CHECK(strstr(reason, "coll_tuned_dynamic_rules_filename") != NULL);
    CHECK(!refused_with_rules_file("Open MPI v5.0.11, …", knob));

    CHECK(!refused("Open MPI v5.0.6", "coll_tuned_bcast_algorithm_segmentsize", 0));
    CHECK(refused("Open MPI v5.0.6", "coll_tuned_bcast_algorithm_knomial_radix", 0));
    CHECK(refused("Open MPI v5.0.6", "btl_vader_eager_limit", 0));
    CHECK(strstr(reason, "OMPI_MCA_btl_vader_eager_limit") != NULL);
    CHECK(refused("MPICH Version: 5.0.2", "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", 0));

    CHECK(!refused("Open MPI v5.0.11, …", "coll_han_priority", 1));
    CHECK(!refused_with_rules_file("Open MPI v4.1.8, …", "coll_basic_priority"));
    CHECK(refused("Open MPI v5.0.11, …", "coll_sm_priority", 0));
    CHECK(refused("Open MPI v5.0.11, …", "coll_adapt_bcast_algorithm", 0));
    CHECK(refused("Open MPI v5.0.11, …", "coll_libnbc_iallreduce_algorithm", 0));
    CHECK(refused("Open MPI v5.0.11, …", "coll_han_use_bcast_algorithm", 0));

    static const char mpich[] = "MPICH Version:      5.0.2\n…";
    CHECK(!refused_at_calls(mpich, "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"));
    CHECK(!refused_at_calls("MPICH Version:      4.3.2", "MPIR_CVAR_BCAST_TREE_KVAL"));
    CHECK(!refused_at_calls("MVAPICH Version:      4.1", "MPIR_CVAR_BCAST_INTRA_ALGORITHM"));
    CHECK(!refused_at_calls(mpich, "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE"));
    CHECK(
        refused_at_calls(mpich, "MPIR_CVAR_BCAST_INTRANODE_TREE_KVAL")); /* kept in shared memory */
    CHECK(refused_at_calls(mpich, "MPIR_CVAR_BCAST_TREE_TYPE"));         /* read in MPI_Init */
    CHECK(refused_at_calls(mpich, "MPIR_CVAR_CH4_CMA_ENABLE"));
    CHECK(strstr(reason, "at start") != NULL);
    CHECK(refused_at_calls("Open MPI v5.0.6", knob));
    CHECK(strstr(reason, "does not read its variables at every call") != NULL);
    return check_done();
}
