/* The parser of plans: what it accepts, what it refuses, and where it points to. */
#include "check.h"

#include "measure/plain.h"
#include "measure/types.h"
#include "names.h"
#include "plans.h"
#include "use/use.h"

#define CASE "case id=0 function=MPI_Bcast bytes=8\n"

/* Refused at this line, at this token, with these words in the reason. */
static int refused(const char *text, int line, const char *token, const char *why)
{
    bool good = !parse(text) && error.line == line && strcmp(error.token, token) == 0 &&
                strstr(error.why, why) != NULL;
    if (!good)
        printf("# line %d token '%s': %s\n", error.line, error.token, error.why);
    return good;
}

#define SET_REFUSED(token, why) CHECK(refused(FIRST "set " token "\n" CASE, 2, token, why))
#define CASE_REFUSED(token, why)                                                                   \
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=8 " token "\n", 2, token, why))

static void check_accepted(void)
{
    CHECK(parse(FIRST CASE));
    CHECK(plan.seed == 1 && plan.blocks == 5 && plan.warmup == 16 && plan.rewarm == 1);
    CHECK_TEXT(plan.sync->name, "barrier");
    CHECK_TEXT(plan.clock->name, "monotonic_raw");
    CHECK(plan.case_count == 1 && plan.config_count == 1);
    const struct pl_case *c = &plan.cases[0];
    CHECK(c->run == pl_call_mpi && c->variant == NULL && c->config == PL_CONFIG_DEFAULT);
    CHECK(c->root == 0 && c->reps == 10 && c->bytes == 8 && c->line == 2);
    CHECK(c->delay_ns == 0 && plan.plain == NULL);
    CHECK_TEXT(pl_types[c->type].name, "MPI_BYTE");
    CHECK_TEXT(pl_ops[c->op].name, "MPI_BOR");

    CHECK(parse(
        FIRST "# a comment\n\n"
              "set run=r-1 seed=18446744073709551615 blocks=2 warmup=0 rewarm=3 sync=none "
              "clock=wtime\n"
              "config id=plain\n"
              "\tconfig  id=c1 knob_a=5  knob_b=x=y\r\n"
              "case id=7 function=MPI_Allreduce variant=library config=c1 bytes=16 type=MPI_DOUBLE "
              "op=MPI_SUM reps=3\n"
              "case id=3 function=MPI_Allreduce variant=allreduce_as_reduce_plus_bcast bytes=0\n"
              "case id=4 function=MPI_Bcast bytes=3 type=MPI_DOUBLE root=3"));
    CHECK_TEXT(plan.run, "r-1");
    CHECK(plan.seed == UINT64_MAX && plan.blocks == 2 && plan.warmup == 0 && plan.rewarm == 3);
    CHECK(plan.config_count == 3 && plan.configs[1].knob_count == 0);
    CHECK(plan.configs[2].knob_count == 2);
    CHECK_TEXT(plan.configs[2].knobs[1].name, "knob_b");
    CHECK_TEXT(plan.configs[2].knobs[1].value, "x=y");
    CHECK(plan.cases[0].run == pl_call_next && plan.cases[0].config == 2);
    CHECK(plan.cases[1].variant != NULL && plan.cases[1].run == plan.cases[1].variant->run);
    CHECK(plan.cases[2].root == 3);

    CHECK(parse(FIRST "set cache=cycle nrep=rse:0.025,cov_mean:0.01/30 nrep_min=10 nrep_step=7 "
                      "nrep_max=30 budget_ms=500\n" CASE));
    CHECK(plan.cache == PL_CACHE_CYCLE && plan.budget_ms == 500 && plan.nrep.count == 2);
    CHECK(plan.cache_bytes == 0);
    CHECK(plan.nrep.least == 10 && plan.nrep.step == 7 && plan.nrep.most == 30);
    CHECK(plan.blocks == 4 && plan.cases[0].reps == 30); /* at most: 10, 17, 24, 30 */
    CHECK(parse(FIRST "set nrep=block_medians:0.01 blocks=9\ncase id=0 function=MPI_Bcast bytes=8 "
                      "reps=3\n"));
    CHECK(plan.nrep.in_blocks && plan.blocks == 9 && plan.cases[0].reps == 3);
    CHECK(parse(FIRST CASE "set nrep=median_ci:0.01\n") && !plan.nrep.in_blocks);
    CHECK(plan.nrep.least == 20 && plan.nrep.step == 10 && plan.nrep.most == 1000);
    CHECK(parse(FIRST CASE) && plan.cache == PL_CACHE_WARM && plan.nrep.count == 0);

    CHECK(parse(FIRST "case id=0 function=MPI_Reduce variant=empty bytes=8\n"));
    CHECK(plan.cases[0].empty && plan.cases[0].variant == NULL);
    CHECK(plan.cases[0].run(NULL) == MPI_SUCCESS);

    CHECK(parse(FIRST "pingpong bytes=0\npingpong bytes=4194304 reps=7\n")); /* and no case */
    CHECK(plan.case_count == 0 && plan.pingpong_count == 2);
    CHECK(plan.pingpongs[0].bytes == 0 && plan.pingpongs[0].reps == 100);
    CHECK(plan.pingpongs[1].bytes == 4194304 && plan.pingpongs[1].reps == 7);
    CHECK(parse(FIRST "set plain=series\n"
                      "case id=0 function=MPI_Bcast bytes=8 delay_ns=1000000000\n"));
    CHECK(plan.cases[0].delay_ns == 1000000000);
    CHECK_TEXT(plan.plain->name, "series");

    CHECK(parse(FIRST "case id=0 function=MPI_Bcast bytes=80 least=8 calls=5\n"
                      "case id=1 function=MPI_Bcast bytes=80 calls=1\n"));
    CHECK(plan.cases[0].calls == 5 && plan.cases[0].least == 8 && plan.cases[0].reps == 0);
    CHECK(plan.cases[1].least == 80);
    CHECK(parse(FIRST "set nrep=rse:0.1\ncase id=0 function=MPI_Bcast bytes=8 calls=1\n"));
    CHECK(plan.cases[0].reps == 0);
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=8 least=8\n", 2, "least=8", "calls"));
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=8 least=9 calls=2\n", 2, "least=9",
                  "above bytes"));
    CASE_REFUSED("calls=0", "whole");
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=8 calls=2 reps=1\n", 2, "calls=2",
                  "only checked"));
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=8 calls=2 use=loop\n", 2, "calls=2",
                  "only checked"));

    CHECK(parse(FIRST "config id=only-a-config\n")); /* to see whether it comes into force */
    CHECK(parse("plumbline-plan 1 \t\r\n" CASE));
}

static void check_lines(void)
{
    CHECK(refused("", 1, "", "first line"));
    CHECK(refused("plumbline-plan 2\n" CASE, 1, "plumbline-plan 2", "first line"));
    CHECK(refused("plumbline-plan 10\n" CASE, 1, "plumbline-plan 10", "first line"));
    CHECK(refused("# comment\n" FIRST CASE, 1, "# comment", "first line"));
    CHECK(refused(FIRST, 0, "case", "there is none"));
    CHECK(refused(FIRST "cases id=0\n", 2, "cases", "set, config, case, messages, pingpong"));
    CHECK(refused(FIRST "set seed=1\nset seed=2\n" CASE, 3, "seed=2", "twice"));
    CHECK(refused(FIRST CASE CASE, 3, "id=0", "line 2 has the same id"));
    CHECK(!parse_bytes(FIRST "set run=a\0b\n" CASE, sizeof FIRST "set run=a\0b\n" CASE - 1, 4));
    CHECK(error.line == 2 && strstr(error.why, "NUL") != NULL);
}

/* No value is made up: each key that says what is measured must stand there. */
static void check_complete(void)
{
    static const char set[] = "set run=r seed=1 blocks=5 warmup=1 rewarm=1 sync=window "
                              "clock=monotonic_raw clock_sync=hca3 clock_fit_ms=5 "
                              "clock_multiple=7 runtime=local knobs=communicator cache=warm "
                              "window_us=0 budget_ms=9\n";
    static const char timed[] = "case id=0 function=MPI_Bcast variant=default config=default "
                                "bytes=8 type=MPI_BYTE op=MPI_BOR root=0 counts=equal reps=3\n";
    static const char pingpong[] = "pingpong bytes=8 reps=9\n";
    static const char overlap[] = "overlap id=0 bench=sender bytes=8 work_ns=1 kernel=memory "
                                  "test_ns=0 requests=1 triples=3\n";
    const char *const lines[] = {set, timed, pingpong, overlap};
    char text[2048];
    for (int line = -1; line < 4; line++)
        for (int key = 0, keys = 1; key < keys; key++) {
            size_t used = (size_t)sprintf(text, FIRST);
            for (int i = 0; i < 4; i++) {
                const char *rest = lines[i];
                for (int word = 0; *rest; word++) {
                    const size_t length = strcspn(rest, " ") + (rest[strcspn(rest, " ")] == ' ');
                    if (i == line && word == 0)
                        keys = 0;
                    if (i != line || word != key + 1)
                        used += (size_t)sprintf(text + used, "%.*s", (int)length, rest);
                    if (i == line)
                        keys = word;
                    rest += length;
                }
                if (text[used - 1] != '\n')
                    used += (size_t)sprintf(text + used, "\n");
            }
            CHECK(parse_as_it_stands(text, used, 4) == (line < 0));
            CHECK(line < 0 || (error.line == line + 2 && strstr(error.why, "is missing")));
        }
    CHECK(!parse_as_it_stands(FIRST, strlen(FIRST), 4));
    CHECK(!parse_as_it_stands(timed, strlen(timed), 4));
}

static void check_keys(void)
{
    SET_REFUSED("speed=1", "no such key");
    SET_REFUSED("seed=-1", "whole number");
    CHECK(
        refused(FIRST "set seed=18446744073709551616\n", 2, "seed=18446744073709551616", "whole"));
    SET_REFUSED("seed=0x10", "whole number");
    SET_REFUSED("seed=", "key=value");
    SET_REFUSED("=1", "key=value");
    SET_REFUSED("seed", "key=value");
    CHECK(refused(FIRST "set seed=1 seed=1\n" CASE, 2, "seed=1", "twice"));
    SET_REFUSED("blocks=2147483648", "whole number");
    SET_REFUSED("sync=shout", "start scheme");
    SET_REFUSED("clock=sundial", "timer");
    SET_REFUSED("plain=vanilla", "no such loop");

    CHECK(refused(FIRST "case function=MPI_Bcast bytes=8\n", 2, "case", "'id' is missing"));
    CHECK(refused(FIRST "case id=0 bytes=8\n", 2, "case", "'function' is missing"));
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast\n", 2, "case", "'bytes' is missing"));
    CHECK(refused(FIRST "case id=0 function=MPI_Bcats bytes=8\n", 2, "function=MPI_Bcats",
                  "no such function"));
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=8k\n", 2, "bytes=8k", "whole number"));
    CASE_REFUSED("type=INT", "no such datatype");
    CASE_REFUSED("op=SUM", "no such operation");
    CASE_REFUSED("root=4", "4 ranks");
    CASE_REFUSED("counts=first", "no such shape");
    CASE_REFUSED("counts=last", "same count for all ranks");
    CHECK(parse(FIRST "case id=0 function=MPI_Bcast bytes=8 counts=equal\n"));
    CHECK(parse(FIRST "case id=0 function=MPI_Scatterv bytes=8 counts=half\n"));
    CHECK(plan.cases[0].counts == PL_COUNTS_HALF);
    CHECK(refused(FIRST "case id=0 function=MPI_Scatterv bytes=8 counts=half calls=3\n", 2,
                  "calls=3", "leave out"));
    CHECK(parse(FIRST "case id=0 function=MPI_Bcast bytes=8 ranks=2 root=1\n"));
    CHECK(plan.cases[0].ranks == 2 && parse(FIRST CASE) && plan.cases[0].ranks == 0);
    CASE_REFUSED("ranks=5", "there are 4 ranks");
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=8 root=2 ranks=2\n", 2, "root=2",
                  "from 0 to 1"));
    CASE_REFUSED("reps=0", "from 1");
    CASE_REFUSED("delay_ns=-1", "from 0 to 1000000000");
    CASE_REFUSED("delay_ns=1000000001", "from 0 to 1000000000");
    CASE_REFUSED("variant=x", "no such variant");
    CASE_REFUSED("config=c", "config id=c");
    CASE_REFUSED("flavour=sweet", "it has: id function");
}

static void check_rules(void)
{
    SET_REFUSED("nrep=rse", "criterion:threshold");
    CHECK(refused(FIRST "set nrep_max=5\n" CASE, 2, "nrep_max=5", "add nrep="));
    CHECK(refused(FIRST CASE "set nrep_max=5\n", 3, "nrep_max=5", "add nrep="));
    CHECK(refused(FIRST "set nrep=rse:0.1 nrep_min=4 blocks=5\n" CASE, 2, "blocks=5", "or blocks"));
    CHECK(refused(FIRST "set nrep=rse:0.1 nrep_max=40\n" CASE
                        "case id=1 function=MPI_Bcast bytes=8 reps=3\n",
                  4, "reps=3", "or write blocks"));
    CHECK(refused(FIRST "set nrep=rse:0.1 nrep_min=30 nrep_max=20\n" CASE, 2, "nrep_max=20",
                  "below nrep_min"));
    CHECK(refused(FIRST "set nrep=cov_mean:0.1/50 nrep_max=40\n" CASE, 2, "nrep_max=40",
                  "below the window"));
    CHECK(refused(FIRST "set nrep=rse:0.1 nrep_step=0\n" CASE, 2, "nrep_step=0", "from 1"));
    SET_REFUSED("budget_ms=0", "from 1");
    SET_REFUSED("cache=cold", "warm, cycle, cycle:BYTES or overwrite");
    SET_REFUSED("cache=cycle:0", "from 1");
    SET_REFUSED("cache=cycle:2MiB", "whole number");

    CHECK(refused(FIRST "set plain=each cache=cycle\n" CASE, 2, "plain=each", "leave out nrep"));
    CHECK(refused(FIRST "set plain=each sync=roundtime\n" CASE, 2, "sync=roundtime", "barriers"));
    CHECK(refused(FIRST "set plain=each sync=none\n" CASE, 2, "sync=none", "leave out plain"));
    CHECK(refused(FIRST "set plain=each budget_ms=9\n" CASE, 2, "budget_ms=9", "leave it out"));
    SET_REFUSED("window_us=1", "sync=window");
    SET_REFUSED("settle=16", "more than warmup");
    SET_REFUSED("cycle=10", "does not repeat itself");
    CHECK(parse(FIRST "set warmup=8 settle=16\n" CASE) && plan.settle == 16 && plan.cycle == 0);
    CHECK(refused(FIRST CASE "set window_us=5 sync=roundtime\n", 3, "window_us=5", "sync=window"));
    CHECK(refused(FIRST "set budget_ms=5 sync=none\n" CASE, 2, "budget_ms=5", "nrep"));
    SET_REFUSED("knobs=never", "communicator");
    CHECK(refused(FIRST "set knobs=call\nconfig id=plain\n" CASE, 2, "knobs=call", "no config"));
    CHECK(parse(FIRST "set knobs=call\nconfig id=c knob=1\n" CASE));
    CHECK(plan.knobs == PL_SWITCH_CALL);
    CHECK(parse(FIRST "set plain=each sync=barrier\n" CASE));
    CHECK(parse(FIRST "set budget_ms=5 nrep=rse:0.1\n" CASE));
    CHECK(parse(FIRST "set budget_ms=5 window_us=7 clock_sync=jk sync=window\n" CASE));
    CHECK(parse(FIRST "set budget_ms=5 clock_fit_ms=7 clock_multiple=2 sync=roundtime\n" CASE));
    CHECK(parse(FIRST "set clock_sync=jk runtime=global\n" CASE));
    CHECK(refused(FIRST "set plain=each nrep=rse:0.1\n" CASE, 2, "plain=each", "leave out nrep"));

    CHECK(refused(FIRST "pingpong reps=5\n", 2, "pingpong", "'bytes' is missing"));
    CHECK(refused(FIRST "pingpong bytes=8 size=5\n", 2, "size=5", "it has: bytes reps"));
    CHECK(refused(FIRST "pingpong bytes=2147483648\n", 2, "bytes=2147483648", "whole number"));
    CHECK(refused(FIRST "pingpong bytes=8 reps=0\n", 2, "reps=0", "from 1"));
    CHECK(refused(FIRST "pingpong bytes=8\n#\npingpong bytes=8 reps=2\n", 4, "bytes=8", "line 2"));
}

#define USE(name) "case id=7 function=MPI_Bcast bytes=8 use=" name "\n"

static void check_uses(void)
{
    CHECK(parse(FIRST CASE) && plan.cases[0].use == NULL && !pl_plan_is_global(&plan));
    struct pl_way way = pl_way_of(&plan, &plan.cases[0]);
    CHECK(way.scheme == plan.sync && way.span == PL_SPAN_LONGEST && !way.stream);
    CHECK(parse(FIRST "set runtime=global\n" CASE));
    CHECK(pl_way_of(&plan, &plan.cases[0]).span == PL_SPAN_FIRST_TO_LAST);

    CHECK(parse(FIRST CASE USE("synchronised")) && pl_plan_is_global(&plan));
    CHECK(!pl_case_is_global(&plan, &plan.cases[0]) && pl_case_is_global(&plan, &plan.cases[1]));
    CHECK_TEXT(plan.cases[1].use->name, "synchronised");
    CHECK_TEXT(pl_way_of(&plan, &plan.cases[1]).scheme->name, "window");
    CHECK(parse(FIRST USE("synchronised") "set sync=roundtime\n"));
    CHECK_TEXT(pl_way_of(&plan, &plan.cases[0]).scheme->name, "roundtime");
    CHECK(parse(FIRST USE("loop") "set sync=none runtime=global\n"));
    CHECK(!pl_case_is_global(&plan, &plan.cases[0]));
    way = pl_way_of(&plan, &plan.cases[0]);
    CHECK(strcmp(way.scheme->name, "barrier") == 0 && way.span == PL_SPAN_MEAN);
    CHECK(parse(FIRST USE("stream")) && !pl_plan_is_global(&plan));
    CHECK(pl_way_of(&plan, &plan.cases[0]).stream);
    CHECK(parse(
        FIRST "set window_us=5 budget_ms=7 clock_sync=jk clock_multiple=2\n" USE("synchronised")));

    CHECK(parse(FIRST "set use=loop\n" CASE USE("stream")));
    CHECK(plan.cases[0].use == NULL);
    CHECK(pl_way_of(&plan, &plan.cases[0]).span == PL_SPAN_MEAN);
    CHECK(pl_way_of(&plan, &plan.cases[1]).stream);
    SET_REFUSED("use=abuse", "probe --list");
    CHECK(refused(FIRST "set use=stream nrep=rse:0.1\n" CASE, 2, "use=stream", "stopping rule"));

    CHECK(refused(FIRST CASE USE("abuse"), 3, "use=abuse", "probe --list"));
    CHECK(refused(FIRST "set plain=each\n" CASE USE("loop"), 4, "use=loop", "leave out use"));
    CHECK(refused(FIRST CASE USE("stream") "set nrep=rse:0.1\n", 3, "use=stream", "stopping rule"));
    CHECK(refused(FIRST "set cache=cycle\n" USE("stream"), 3, "use=stream", "cold"));
    CHECK(parse(FIRST "set cache=cycle nrep=rse:0.1\n" USE("loop")));
    CHECK(refused(FIRST "set window_us=5\n" USE("loop"), 2, "window_us=5", "use=synchronised"));
    CHECK(refused(FIRST "set budget_ms=5\n" USE("loop"), 2, "budget_ms=5", "use=synchronised"));
}

static void check_arrivals(void)
{
    CHECK(parse(FIRST USE("late")) && pl_plan_is_global(&plan) && !plan.arrivals.text);
    CHECK(plan.arrivals.kind == PL_ARRIVALS_ONE && plan.arrivals.ns == 0);
    struct pl_way way = pl_way_of(&plan, &plan.cases[0]);
    CHECK(way.scheme->arrivals && way.scheme->budget && way.span == PL_SPAN_LAST_TO_LAST);
    CHECK(parse(FIRST "set arrival=one:0\n" USE("late")) && plan.arrivals.text);
    CHECK(parse(FIRST "set arrival=uniform:1000000000 budget_ms=9\n" USE("late")));
    CHECK(plan.arrivals.kind == PL_ARRIVALS_UNIFORM && plan.arrivals.ns == 1000000000);
    CHECK(parse(FIRST USE("late") "set arrival=list:7,0,900,30\n"));
    CHECK(plan.arrivals.kind == PL_ARRIVALS_LIST && plan.arrivals.count == 4);
    CHECK(plan.arrivals.ns == 900 && plan.arrivals.list[0] == 7 && plan.arrivals.list[3] == 30);
    CHECK(parse_bytes(FIRST "set arrival=list:7,0\n" USE("late"),
                      strlen(FIRST "set arrival=list:7,0\n" USE("late")), 0));

    SET_REFUSED("arrival=one:5", "use=late");
    CHECK(refused(FIRST "set arrival=one:5\n" USE("loop"), 2, "arrival=one:5", "use=late"));
    CHECK(refused(FIRST "set arrival=file:x\n" USE("late"), 2, "arrival=file:x", "list:NS"));
    CHECK(refused(FIRST "set arrival=one\n" USE("late"), 2, "arrival=one", "one:NS"));
    CHECK(refused(FIRST "set arrival=one:\n" USE("late"), 2, "arrival=one:", "whole number"));
    CHECK(refused(FIRST "set arrival=uniform:1000000001\n" USE("late"), 2,
                  "arrival=uniform:1000000001", "to 1000000000"));
    CHECK(refused(FIRST "set arrival=list:1,2,,3\n" USE("late"), 2, "arrival=list:1,2,,3",
                  "whole number"));
    CHECK(refused(FIRST "set arrival=list:1,2,3,99999999999999999999999999\n" USE("late"), 2,
                  "arrival=list:1,2,3,99999999999999999999999999", "whole number"));
    CHECK(refused(FIRST "set arrival=list:1,2,3\n" CASE USE("late"), 2, "arrival=list:1,2,3",
                  "line 4 runs on 4 ranks"));
    CHECK(refused(FIRST "set arrival=list:1,2,3,4\n" USE("late ranks=2"), 2, "arrival=list:1,2,3,4",
                  "2 ranks"));
    CHECK(parse(FIRST "set arrival=list:1,2\n" CASE USE("late ranks=2") "\n"));
}

static void check_whole_lines(void)
{
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast variant=gather_as_reduce bytes=8\n", 2,
                  "variant=gather_as_reduce", "computes MPI_Gather, not MPI_Bcast"));
    CHECK(refused(FIRST "case id=0 function=MPI_Reduce bytes=8 type=MPI_DOUBLE\n", 2, "op=MPI_BOR",
                  "does not define MPI_BOR on MPI_DOUBLE"));
    CHECK(refused(FIRST "case id=0 function=MPI_Reduce bytes=8 op=MPI_SUM\n", 2, "op=MPI_SUM",
                  "does not define MPI_SUM on MPI_BYTE"));
    CHECK(refused(FIRST "case id=0 function=MPI_Reduce bytes=8 type=MPI_CHAR op=MPI_MAX\n", 2,
                  "op=MPI_MAX", "MPI_CHAR"));
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=2147483648\n", 2, "bytes=2147483648",
                  "more than"));
    CHECK(refused(FIRST "case id=0 function=MPI_Bcast bytes=9223372036854775807\n", 2,
                  "bytes=9223372036854775807", "whole number"));

    CHECK(refused(FIRST "config\n" CASE, 2, "config", "'id' is missing"));
    CHECK(refused(FIRST "config knob=1 id=c\n" CASE, 2, "knob=1", "starts with id="));
    CHECK(refused(FIRST "config id=default\n" CASE, 2, "id=default", "MPI_COMM_WORLD"));
    CHECK(refused(FIRST "config id=c\nconfig id=c\n" CASE, 3, "id=c", "given before"));
    CHECK(refused(FIRST "config id=c k=1 k=2\n" CASE, 2, "k=2", "twice"));

    char longest[1000] = FIRST "set ";
    memset(longest + strlen(longest), 'x', 900);
    CHECK(!parse(longest) && strlen(error.token) == sizeof error.token - 1);
}

/* Each name is found in its list, and nothing else is. */
static void check_names(void)
{
    for (enum pl_list list = 0; list < PL_LISTS; list++) {
        for (int i = 0; i < *pl_names[list].count; i++) {
            CHECK(pl_names_find(list, pl_names_at(list, i)) == i);
            CHECK(pl_named(list, pl_names_at(list, i)) == pl_names_entry(list, i));
        }
        CHECK(pl_names_find(list, "sundial") == -1 && pl_named(list, "") == NULL);
    }
    CHECK_TEXT(pl_names_at(PL_LIST_CACHES, PL_CACHE_OVERWRITE), "overwrite");
    CHECK_TEXT(pl_names_at(PL_LIST_COUNTS, PL_COUNTS_HALF), "half");
    CHECK_TEXT(pl_names_at(PL_LIST_SWITCHES, PL_SWITCH_CALL), "call");
    CHECK_TEXT(pl_names_at(PL_LIST_RUNTIMES, PL_RUNTIME_GLOBAL), "global");
}

int main(void)
{
    check_names();
    check_accepted();
    check_lines();
    check_complete();
    check_keys();
    check_rules();
    check_uses();
    check_arrivals();
    check_whole_lines();
    pl_plan_free(&plan);
    return check_done();
}
