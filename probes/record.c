#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void pl_record_silent(struct pl_record *record)
{
    *record = (struct pl_record){0};
    pl_json_start(&record->json, NULL);
}

bool pl_record_open(struct pl_record *record, const char *path)
{
    pl_record_silent(record);
    record->path = strdup(path);
    if (!record->path || asprintf(&record->part, "%s.part", path) < 0) {
        record->part = NULL;
        record->error = ENOMEM;
        return false;
    }
    FILE *file = fopen(record->part, "w+e");
    if (!file) {
        record->error = errno;
        return false;
    }
    pl_json_start(&record->json, file);
    return true;
}

/* The line of what is timed is of one length, whatever the case: values are padded, as JSON allows.
 */
#define UNDER_WAY "{\"record\":\"under_way\",\"block\":%11s,\"case\":%11s}\n"
enum { UNDER_WAY_BYTES = sizeof UNDER_WAY - sizeof "%11s%11s" + 2 * 11 };

/* The line is written before each case in each block, and a call of the system takes as long as
 * many a collective. */
static void map_under_way(struct pl_record *record)
{
    const long inside = record->under_way % sysconf(_SC_PAGESIZE);
    char *page = mmap(NULL, (size_t)inside + UNDER_WAY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                      fileno(record->json.out), record->under_way - inside);
    record->mapped = page == MAP_FAILED ? NULL : page + inside;
}

static void unmap_under_way(struct pl_record *record)
{
    const long inside = record->under_way % sysconf(_SC_PAGESIZE);
    if (record->mapped)
        munmap(record->mapped - inside, (size_t)inside + UNDER_WAY_BYTES);
    record->mapped = NULL;
}

static void release(struct pl_record *record)
{
    unmap_under_way(record);
    free(record->path);
    free(record->part);
    record->path = record->part = NULL;
}

/* Nothing is to be written any more; the first reason is kept. */
static void stop(struct pl_record *record)
{
    if (!record->error)
        record->error = errno ? errno : EIO;
}

bool pl_record_finish(struct pl_record *record)
{
    FILE *file = record->json.out;
    if (!file)
        return true;
    errno = 0;
    if (fflush(file) != 0 || fsync(fileno(file)) != 0)
        stop(record);
    if (fclose(file) != 0)
        stop(record);
    pl_json_start(&record->json, NULL);
    if (!record->error && rename(record->part, record->path) != 0)
        stop(record);
    release(record);
    return record->error == 0;
}

void pl_record_abandon(struct pl_record *record)
{
    if (record->json.out)
        fclose(record->json.out);
    pl_json_start(&record->json, NULL);
    release(record);
}

struct pl_json *pl_record_start(struct pl_record *record, const char *kind)
{
    pl_json_object(&record->json, NULL);
    pl_json_text(&record->json, "record", kind);
    return &record->json;
}

static void write_under_way(struct pl_record *record, const char *block, const char *case_id)
{
    char line[UNDER_WAY_BYTES + 1];
    snprintf(line, sizeof line, UNDER_WAY, block, case_id);
    errno = 0;
    if (record->mapped)
        memcpy(record->mapped, line, UNDER_WAY_BYTES);
    else if (pwrite(fileno(record->json.out), line, UNDER_WAY_BYTES, record->under_way) ==
             UNDER_WAY_BYTES)
        map_under_way(record);
    else
        stop(record);
}

void pl_record_under_way(struct pl_record *record, int block, int case_id)
{
    FILE *file = record->json.out;
    char texts[2][12];
    if (!file)
        return;
    snprintf(texts[0], sizeof texts[0], "%d", block);
    snprintf(texts[1], sizeof texts[1], "%d", case_id);
    const bool first = record->under_way == 0;
    if (first)
        record->under_way = ftell(file);
    write_under_way(record, texts[0], texts[1]);
    if (first && fseek(file, 0, SEEK_END) != 0)
        stop(record);
}

void pl_record_timed(struct pl_record *record)
{
    if (record->json.out && record->under_way > 0)
        write_under_way(record, "null", "null");
}

void pl_record_end(struct pl_record *record)
{
    FILE *file = record->json.out;
    pl_json_end(&record->json);
    if (!file)
        return;
    errno = 0;
    fputc('\n', file);
    if (fflush(file) != 0 || ferror(file))
        stop(record);
}
