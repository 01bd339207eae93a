/* Factors of several hosts as one: distinct values in order, and who could not say. */
#include "check.h"

#include "system/factors.h"

#include <stdlib.h>
#include <string.h>

enum { HOSTS = 4 };

static struct pl_reading *readings;

static void set(int host, int factor, const char *value, const char *missing)
{
    struct pl_reading *reading = &readings[host * pl_factor_count + factor];
    snprintf(reading->value, sizeof reading->value, "%s", value);
    snprintf(reading->missing, sizeof reading->missing, "%s", missing);
}

int main(void)
{
    char names[HOSTS][MPI_MAX_PROCESSOR_NAME] = {"n0", "n1", "n2", "n3"};
    readings = calloc((size_t)(HOSTS * pl_factor_count), sizeof *readings);
    struct pl_factors factors = {HOSTS, readings, names};
    char *text = NULL;
    size_t size = 0;

    if (!CHECK(readings != NULL && pl_factor_count > 4))
        return check_done();
    static const char *const kernels[] = {"6.2", "6.1", "6.2", "6.10"};
    for (int host = 0; host < HOSTS; host++) {
        set(host, 0, kernels[host], "");
        set(host, 1, "", "no file");
        set(host, 2, host == 2 ? "" : "on", host == 2 ? "refused" : "");
        set(host, 3, "", host % 2 ? "refused" : "no file");
    }
    struct pl_json json;
    FILE *out = open_memstream(&text, &size);
    pl_json_start(&json, out);
    pl_json_object(&json, NULL);
    pl_factors_json(&json, &factors);
    pl_json_end(&json);
    fclose(out);
    CHECK(strstr(text, "\"values\":[\"6.1\",\"6.10\",\"6.2\"],\"missing\":\"\"") != NULL);
    CHECK(strstr(text, "\"values\":[],\"missing\":\"no file\"") != NULL);
    CHECK(strstr(text, "\"values\":[\"on\"],\"missing\":\"n2: refused\"") != NULL);
    CHECK(strstr(text, "\"missing\":\"n0, n2: no file; n1, n3: refused\"") != NULL);
    free(text);
    pl_factors_free(&factors);
    return check_done();
}
