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

/* As long as the longest of them: numbers are padded, as JSON allows. */
static const char under_way[] = "{\"record\":\"under_way\",\"block\":%11d,\"case\":%11d}\n";

static void write_over(struct pl_record *record, const char *line)
{
    const size_t length = strlen(line);
    errno = 0;
    if (pwrite(fileno(record->json.out), line, length, record->under_way) != (ssize_t)length)
        stop(record);
}

void pl_record_under_way(struct pl_record *record, int block, int case_id)
{
    FILE *file = record->json.out;
    char line[sizeof under_way + 22];
    if (!file)
        return;
    snprintf(line, sizeof line, under_way, block, case_id);
    if (record->under_way > 0) {
        write_over(record, line);
        return;
    }
    errno = 0;
    record->under_way = ftell(file);
    if (record->under_way < 0 || fputs(line, file) == EOF || fflush(file) != 0)
        stop(record);
}

void pl_record_timed(struct pl_record *record)
{
    char line[sizeof under_way + 22];
    if (!record->json.out || record->under_way <= 0)
        return;
    size_t length = (size_t)snprintf(line, sizeof line, under_way, 0, 0);
    memset(line, ' ', length - 1);
    write_over(record, line);
    record->under_way = 0;
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
