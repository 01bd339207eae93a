/* Every algorithm on simulated clocks, whose truth is known: processes are threads, time is
 * virtual, each process has its own; a message arrives no earlier than it was sent plus a random
 * delay. The delays are skewed, differ by direction, and now and then are a hundred times as long.
 */
#include "check.h"

#include "clock/algorithms/algorithms.h"
#include "measure/random.h"
#include "names.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST = 9, QUEUE = 4 };
#define SECOND INT64_C(1000000000)

struct message {
    char data[64];
    double arrives_ns;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct message messages[QUEUE];
    int first, count;
};

static struct queue queues[MOST][MOST];

struct process {
    struct pl_wire wire; /* first */
    double true_ns;
    double start_ns, rate; /* of its clock */
    struct pl_random random;
    const struct pl_clock_sync *algorithm;
    struct pl_model model;
};

static double clock_at(const struct process *process, double true_ns)
{
    return process->start_ns + process->rate * true_ns;
}

static int64_t now_ns(struct pl_wire *wire)
{
    struct process *process = (struct process *)wire;
    process->true_ns += 20;
    return (int64_t)clock_at(process, process->true_ns);
}

static void wait_until(struct pl_wire *wire, int64_t own_ns)
{
    struct process *process = (struct process *)wire;
    double at = ((double)own_ns - process->start_ns) / process->rate;
    if (at > process->true_ns)
        process->true_ns = at;
}

static double delay(struct process *process, int to)
{
    double mean = to > process->wire.rank ? 600 : 200;
    double spike = pl_random_unit(&process->random) < 0.02 ? 100 : 1;
    return 2000 - spike * mean * log(1 - pl_random_unit(&process->random));
}

static void send(struct pl_wire *wire, int to, const void *data, int bytes)
{
    struct process *process = (struct process *)wire;
    struct queue *queue = &queues[wire->rank][to];
    process->true_ns += 100;
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUE)
        pthread_cond_wait(&queue->changed, &queue->lock);
    struct message *message = &queue->messages[(queue->first + queue->count++) % QUEUE];
    memcpy(message->data, data, (size_t)bytes);
    message->arrives_ns = process->true_ns + delay(process, to);
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void recv(struct pl_wire *wire, int from, void *data, int bytes)
{
    struct process *process = (struct process *)wire;
    struct queue *queue = &queues[from][wire->rank];
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    struct message *message = &queue->messages[queue->first];
    memcpy(data, message->data, (size_t)bytes);
    if (message->arrives_ns > process->true_ns)
        process->true_ns = message->arrives_ns;
    queue->first = (queue->first + 1) % QUEUE;
    queue->count--;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    process->true_ns += 50;
}

static void *run(void *argument)
{
    struct process *process = argument;
    process->model = process->algorithm->learn(&process->wire);
    return NULL;
}

struct errors {
    double now_ns, later_ns; /* the largest of all processes: at the end, and two seconds later */
    int slopes;              /* models that have one */
};

/* Processes start up to a second apart, with rates up to `drift` from the nominal one. */
static struct errors synchronise(const struct pl_clock_sync *algorithm, int size, double drift,
                                 uint64_t seed)
{
    struct process processes[MOST] = {0};
    pthread_t threads[MOST];
    struct errors errors = {0, 0, 0};
    double end_ns = 0;

    for (int rank = 0; rank < size; rank++) {
        struct process *process = &processes[rank];
        process->random = pl_random_stream(seed, (uint64_t)rank, 0);
        process->start_ns = 1e9 * pl_random_unit(&process->random) + 1e12;
        process->rate = 1 + drift * (2 * pl_random_unit(&process->random) - 1);
        process->algorithm = algorithm;
        process->wire =
            (struct pl_wire){rank, size, drift > 0, SECOND / 2, send, recv, now_ns, wait_until};
        pthread_create(&threads[rank], NULL, run, process);
    }
    for (int rank = 0; rank < size; rank++) {
        pthread_join(threads[rank], NULL);
        end_ns = fmax(end_ns, processes[rank].true_ns);
        errors.slopes += processes[rank].model.slope != 0;
    }
    for (int rank = 0; rank < size; rank++)
        for (int later = 0; later < 2; later++) {
            double at = end_ns + later * 2e9, truth = clock_at(&processes[0], at);
            int64_t own = (int64_t)clock_at(&processes[rank], at);
            double error = fabs((double)pl_model_apply(&processes[rank].model, own) - truth);
            double *worst = later ? &errors.later_ns : &errors.now_ns;
            *worst = fmax(*worst, error);
        }
    return errors;
}

static void says(const char *name, int size, struct errors errors)
{
    fprintf(stderr, "%-14s p=%d: %.2f us at the end, %.2f us two seconds later, %d slopes\n", name,
            size, errors.now_ns / 1e3, errors.later_ns / 1e3, errors.slopes);
}

int main(void)
{
    static const int sizes[] = {1, 2, 4, 5, 9};
    static const char *const linear[] = {"jk", "hca", "hca2", "hca3"};
    static const char *const published[] = {"jk:paper", "hca:paper", "netgauge:paper"};
    static const char *const offset_only[] = {"skampi", "netgauge"};

    for (int from = 0; from < MOST; from++)
        for (int to = 0; to < MOST; to++) {
            pthread_mutex_init(&queues[from][to].lock, NULL);
            pthread_cond_init(&queues[from][to].changed, NULL);
        }
    CHECK(pl_clock_sync_count == 10);
    CHECK(pl_named(PL_LIST_CLOCK_SYNCS, "sundial") == NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i];
        for (size_t a = 0; a < sizeof linear / sizeof *linear; a++) {
            const struct pl_clock_sync *algorithm = pl_named(PL_LIST_CLOCK_SYNCS, linear[a]);
            struct errors drifting = synchronise(algorithm, size, 50e-6, 11);
            says(linear[a], size, drifting);
            CHECK(drifting.now_ns < 1500 && drifting.later_ns < 5000);
            CHECK(drifting.slopes == size - 1);
            struct errors steady = synchronise(algorithm, size, 0, 12);
            CHECK(steady.slopes == 0 && steady.later_ns < 500);
        }
        for (size_t a = 0; a < sizeof offset_only / sizeof *offset_only; a++) {
            const struct pl_clock_sync *algorithm = pl_named(PL_LIST_CLOCK_SYNCS, offset_only[a]);
            struct errors drifting = synchronise(algorithm, size, 50e-6, 13);
            says(offset_only[a], size, drifting);
            CHECK(drifting.slopes == 0);
            CHECK(size == 1 || drifting.later_ns > 5000); /* the drift of two seconds */
            CHECK(synchronise(algorithm, size, 0, 14).later_ns < 500);
        }
        for (size_t a = 0; a < sizeof published / sizeof *published; a++) {
            const struct pl_clock_sync *algorithm = pl_named(PL_LIST_CLOCK_SYNCS, published[a]);
            const bool line = a < 2;
            struct errors drifting = synchronise(algorithm, size, 50e-6, 16);
            says(published[a], size, drifting);
            CHECK(drifting.now_ns < 5000 || !line);
            CHECK(drifting.slopes == (line ? size - 1 : 0));
            CHECK(line ? drifting.later_ns < 5000 : size == 1 || drifting.later_ns > 1000);
            CHECK(synchronise(algorithm, size, 0, 17).now_ns < 5000);
        }
        struct errors bare = synchronise(pl_named(PL_LIST_CLOCK_SYNCS, "none"), size, 0, 15);
        CHECK(size == 1 || bare.now_ns > 1e6);
    }
    /* Over many draws: how often drift between two processes is learnt to 5 us over two seconds. */
    int bad = 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        bad += synchronise(pl_named(PL_LIST_CLOCK_SYNCS, "hca3"), 2, 50e-6, seed).later_ns >= 5000;
    CHECK(bad == 0);
    return check_done();
}
