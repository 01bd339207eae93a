/* Lines `messages` of a plan: what is played, and what is refused. */
#include "check.h"

#include "measure/replay.h"
#include "plans.h"

#define RANK(rank, steps) "messages id=p rank=" #rank " steps=" steps "\n"
#define CASE "case id=0 function=MPI_Bcast bytes=8 variant=replay:messages=p\n"

static bool refused(const char *text, const char *why)
{
    bool good = !parse(text) && strstr(error.why, why) != NULL;
    if (!good)
        printf("# token '%s': %s\n", error.token, error.why);
    return good;
}

static void check_accepted(void)
{
    CHECK(parse(FIRST RANK(2, "isend:0:8:0,isend:0:4:1,wait:1,wait:0")
                    RANK(0, "recv:2:4:1,recv:2:8:0") CASE));
    const struct pl_messages *played = plan.cases[0].messages;
    CHECK(played && played->ranks == 3);
    CHECK(played->of_rank[1].count == 0);
    const struct pl_rank_steps *root = &played->of_rank[2], *leaf = &played->of_rank[0];
    CHECK(root->count == 4 && root->request_count == 2 && root->send_bytes == 8);
    CHECK(root->steps[2].kind == PL_STEP_WAIT && root->steps[2].peer == 1);
    CHECK(leaf->recv_bytes == 12 && leaf->steps[1].place == 4 && leaf->steps[1].tag == 0);
    CHECK(parse(FIRST RANK(0, "ssend:1:0:0") RANK(1, "irecv:0:0:0,wait:0") CASE));
}

static void check_refused(void)
{
    CHECK(refused(FIRST CASE, "no such messages"));
    CHECK(refused(FIRST RANK(0, "give:1:8:0") CASE, "write WORD:PEER"));
    CHECK(refused(FIRST RANK(0, "send:1:8") CASE, "write WORD:PEER"));
    CHECK(refused(FIRST RANK(0, "send:1:8:0,") CASE, "write WORD:PEER"));
    CHECK(refused(FIRST RANK(0, "send:1:-8:0") CASE, "write WORD:PEER"));
    CHECK(refused(FIRST RANK(0, "send:1:2000000000:0") CASE, "write WORD:PEER"));
    CHECK(refused(FIRST RANK(0, "send:1::0") CASE, "write WORD:PEER"));
    CHECK(refused(FIRST RANK(0, "wait:0") CASE, "waited for once"));
    CHECK(refused(FIRST RANK(0, "isend:1:8:0") CASE, "waited for once"));
    CHECK(refused(FIRST RANK(0, "isend:1:8:0,wait:0,wait:0") CASE, "waited for once"));
    CHECK(refused(FIRST RANK(0, "send:1:8:0") RANK(0, "send:1:8:1") CASE, "stand twice"));
    CHECK(refused(FIRST RANK(0, "send:1:8:0") CASE, "not one send and one receive"));
    CHECK(refused(FIRST RANK(0, "send:1:8:0") RANK(1, "recv:0:9:0") CASE, "not one send"));
    CHECK(refused(FIRST RANK(0, "send:1:8:0") RANK(1, "recv:0:8:1") CASE, "not one send"));
    CHECK(refused(FIRST RANK(0, "send:1:8:0,send:1:8:0") RANK(1, "recv:0:8:0,recv:0:8:0") CASE,
                  "not one send"));
    CHECK(refused(FIRST RANK(0, "send:1:8:0")
                      RANK(1, "recv:0:8:0") "case id=0 function=MPI_Bcast bytes=8 type=MPI_INT "
                                            "variant=replay:messages=p\n",
                  "played as bytes"));
    CHECK(refused(FIRST RANK(0, "send:5:8:0") RANK(5, "recv:0:8:0") CASE, "are of 6 ranks"));
    CHECK(refused(FIRST RANK(0, "send:1:8:0")
                      RANK(1, "recv:0:8:0") "case id=0 function=MPI_Bcast bytes=8 calls=3 "
                                            "variant=replay:messages=p\n",
                  "a trial is only checked"));
    CHECK(refused(FIRST "messages id=p rank=0\n" CASE, "key 'steps' is missing"));
}

int main(void)
{
    check_accepted();
    check_refused();
    pl_plan_free(&plan);
    return check_done();
}
