#include "measure/pingpong.h"

#include "measure/random.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_TURN = 1, TAG_RESULT, TAG_BALL };
enum { NO_MORE = -1 };

/* One pair and one message size. */
struct item {
    int pair, first, second, line; /* line: index into the plan's pingpongs */
};

struct game {
    const struct pl_plan *plan;
    const struct pl_world *world;
    struct pl_record *record;
    MPI_Comm comm;
    int item_count;
    struct item *items;
    void *out, *in; /* message buffers */
    int64_t *ns;
};

void pl_pingpong_choose(const struct pl_seat *seats, int nprocs, uint64_t seed,
                        int chosen[PL_PAIR_CLASSES][2])
{
    struct pl_random random = pl_random_stream(seed, UINT64_MAX - 1, 0);
    uint64_t seen[PL_PAIR_CLASSES] = {0};
    for (int pair = 0; pair < PL_PAIR_CLASSES; pair++)
        chosen[pair][0] = chosen[pair][1] = -1;
    for (int first = 0; first < nprocs; first++)
        for (int second = first + 1; second < nprocs; second++) {
            enum pl_pair pair = pl_pair_of(&seats[first], &seats[second]);
            /* The n-th of a class takes the place with probability 1 / n. */
            if (pair == PL_PAIR_UNKNOWN || pl_random_below(&random, ++seen[pair]) > 0)
                continue;
            chosen[pair][0] = first;
            chosen[pair][1] = second;
        }
}

/* The items in random order; rank 0 only. */
static bool make_items(struct game *game, const struct pl_seat *seats)
{
    const struct pl_plan *plan = game->plan;
    int chosen[PL_PAIR_CLASSES][2], count = 0;
    int *order = calloc((size_t)PL_PAIR_CLASSES * (size_t)plan->pingpong_count, sizeof *order);
    if (!order)
        return false;
    pl_pingpong_choose(seats, game->world->size, plan->seed, chosen);
    for (int pair = 0; pair < PL_PAIR_CLASSES; pair++)
        for (int line = 0; line < plan->pingpong_count && chosen[pair][0] >= 0; line++)
            order[count++] = pair * plan->pingpong_count + line;
    struct pl_random random = pl_random_stream(plan->seed, UINT64_MAX - 1, 1);
    pl_random_shuffle(&random, order, count);
    for (int i = 0; i < count; i++) {
        int pair = order[i] / plan->pingpong_count, line = order[i] % plan->pingpong_count;
        game->items[i] = (struct item){pair, chosen[pair][0], chosen[pair][1], line};
    }
    game->item_count = count;
    free(order);
    return true;
}

static void *allocate(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (bytes / page + 1) * page;
    void *memory = aligned_alloc(page, size);
    return memory ? memset(memory, 0, size) : NULL;
}

/* Memory, items, communicator; false on all ranks when memory is short on one. */
static bool open_game(struct game *game, const struct pl_seat *seat)
{
    const struct pl_plan *plan = game->plan;
    int bytes = 0, reps = 0;
    for (int i = 0; i < plan->pingpong_count; i++) {
        bytes = plan->pingpongs[i].bytes > bytes ? plan->pingpongs[i].bytes : bytes;
        reps = plan->pingpongs[i].reps > reps ? plan->pingpongs[i].reps : reps;
    }
    size_t most = (size_t)PL_PAIR_CLASSES * (size_t)plan->pingpong_count;
    game->items = calloc(most, sizeof *game->items);
    game->out = allocate((size_t)bytes);
    game->in = allocate((size_t)bytes);
    game->ns = allocate((size_t)reps * sizeof *game->ns);
    struct pl_seat *seats = NULL;
    if (game->world->rank == 0)
        seats = calloc((size_t)game->world->size, sizeof *seats);
    bool good = game->items && game->out && game->in && game->ns &&
                (game->world->rank > 0 || seats != NULL);
    if (pl_p2p_agree(game->world, !good)) {
        free(seats);
        return false;
    }
    pl_p2p_gather(game->world, seat, (int)sizeof *seat, seats);
    good = game->world->rank > 0 || make_items(game, seats);
    free(seats);
    if (pl_p2p_agree(game->world, !good))
        return false;
    pl_p2p_broadcast(game->world, &game->item_count, (int)sizeof game->item_count);
    pl_p2p_broadcast(game->world, game->items, game->item_count * (int)sizeof *game->items);
    PMPI_Comm_dup(game->world->comm, &game->comm);
    PMPI_Comm_set_errhandler(game->comm, MPI_ERRORS_ARE_FATAL);
    return true;
}

static void close_game(struct game *game)
{
    if (game->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&game->comm);
    free(game->items);
    free(game->out);
    free(game->in);
    free(game->ns);
}

/* Libraries spin in a receive: who waits for long asks now and then, and sleeps between. */
static void sleep_until_message(const struct game *game, int source, int tag)
{
    static const struct timespec nap = {.tv_nsec = 500000};
    int there = 0;
    for (;;) {
        PMPI_Iprobe(source, tag, game->comm, &there, MPI_STATUS_IGNORE);
        if (there)
            return;
        nanosleep(&nap, NULL);
    }
}

static void serve(const struct game *game, const struct item *item, int count, int64_t *ns)
{
    int64_t (*const now_ns)(void) = game->plan->clock->now_ns;
    int bytes = game->plan->pingpongs[item->line].bytes;
    for (int i = 0; i < count; i++) {
        int64_t begin = now_ns();
        PMPI_Send(game->out, bytes, MPI_BYTE, item->second, TAG_BALL, game->comm);
        PMPI_Recv(game->in, bytes, MPI_BYTE, item->second, TAG_BALL, game->comm, MPI_STATUS_IGNORE);
        int64_t trip = now_ns() - begin;
        if (ns)
            ns[i] = trip;
    }
}

static void play(const struct game *game, const struct item *item)
{
    const struct pl_pingpong *line = &game->plan->pingpongs[item->line];
    if (game->world->rank == item->first) {
        serve(game, item, game->plan->warmup, NULL);
        serve(game, item, line->reps, game->ns);
        return;
    }
    for (int64_t left = (int64_t)game->plan->warmup + line->reps; left > 0; left--) {
        PMPI_Recv(game->in, line->bytes, MPI_BYTE, item->first, TAG_BALL, game->comm,
                  MPI_STATUS_IGNORE);
        PMPI_Send(game->out, line->bytes, MPI_BYTE, item->first, TAG_BALL, game->comm);
    }
}

/* Rank 0 calls the pairs to play one after the other and takes down what they tell. */
static void umpire(struct game *game, int64_t *timed_ns)
{
    const int no_more = NO_MORE;
    for (int i = 0; i < game->item_count; i++) {
        const struct item *item = &game->items[i];
        const struct pl_pingpong *line = &game->plan->pingpongs[item->line];
        if (item->first > 0)
            PMPI_Send(&i, 1, MPI_INT, item->first, TAG_TURN, game->comm);
        PMPI_Send(&i, 1, MPI_INT, item->second, TAG_TURN, game->comm); /* never rank 0 */
        if (item->first == 0) {
            play(game, item);
        } else {
            sleep_until_message(game, item->first, TAG_RESULT);
            PMPI_Recv(game->ns, line->reps, MPI_INT64_T, item->first, TAG_RESULT, game->comm,
                      MPI_STATUS_IGNORE);
        }
        for (int j = 0; j < line->reps; j++)
            *timed_ns += game->ns[j];
        pl_record_pingpong(game->record, item->first, item->second,
                           pl_pair_name((enum pl_pair)item->pair), line, game->ns);
    }
    for (int rank = 1; rank < game->world->size; rank++)
        PMPI_Send(&no_more, 1, MPI_INT, rank, TAG_TURN, game->comm);
}

static void wait_for_turns(const struct game *game)
{
    for (;;) {
        int turn;
        sleep_until_message(game, 0, TAG_TURN);
        PMPI_Recv(&turn, 1, MPI_INT, 0, TAG_TURN, game->comm, MPI_STATUS_IGNORE);
        if (turn == NO_MORE)
            return;
        const struct item *item = &game->items[turn];
        play(game, item);
        if (game->world->rank == item->first)
            PMPI_Send(game->ns, game->plan->pingpongs[item->line].reps, MPI_INT64_T, 0, TAG_RESULT,
                      game->comm);
    }
}

const char *pl_pingpong_run(const struct pl_plan *plan, const struct pl_world *world,
                            const struct pl_seat *seat, struct pl_record *record, int64_t *timed_ns)
{
    struct game game = {.plan = plan, .world = world, .record = record, .comm = MPI_COMM_NULL};
    const char *failure = NULL;
    if (plan->pingpong_count == 0)
        return NULL;
    if (!open_game(&game, seat))
        failure = "out of memory for the messages of ping-pongs; ask for fewer bytes";
    else if (world->rank == 0)
        umpire(&game, timed_ns);
    else
        wait_for_turns(&game);
    close_game(&game);
    return failure;
}
