#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
    FILE *file = fopen(record->part, "we");
    if (!file) {
        record->error = errno;
        return false;
    }
    pl_json_start(&record->json, file);
    return true;
}

static void release(struct pl_record *record)
{
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
