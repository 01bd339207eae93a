/* Writing JSON: commas, nesting, escapes, bad UTF-8. */
#include "check.h"

#include "json.h"

#include <math.h>
#include <stdlib.h>

static char *text;
static size_t size;

static FILE *begin(struct pl_json *json)
{
    FILE *out = open_memstream(&text, &size);
    pl_json_start(json, out);
    return out;
}

static const char *string(const char *value)
{
    struct pl_json json;
    char *last = text;
    FILE *out = begin(&json);
    free(last);
    pl_json_text(&json, NULL, value);
    fclose(out);
    return text;
}

int main(void)
{
    struct pl_json json;
    FILE *out = begin(&json);
    pl_json_object(&json, NULL);
    pl_json_text(&json, "a", "b");
    pl_json_array(&json, "list");
    pl_json_integer(&json, NULL, INT64_MIN);
    pl_json_unsigned(&json, NULL, UINT64_MAX);
    pl_json_object(&json, NULL);
    pl_json_end(&json);
    pl_json_array(&json, NULL);
    pl_json_end(&json);
    pl_json_end(&json);
    pl_json_bool(&json, "yes", true);
    pl_json_bool(&json, "no", false);
    pl_json_end(&json);
    fclose(out);
    CHECK_TEXT(text, "{\"a\":\"b\",\"list\":[-9223372036854775808,18446744073709551615,{},[]],"
                     "\"yes\":true,\"no\":false}");
    CHECK(json.depth == 0);

    out = begin(&json);
    pl_json_array(&json, NULL);
    pl_json_real(&json, NULL, 0.1);
    pl_json_real(&json, NULL, -2);
    pl_json_real(&json, NULL, 1.0 / 3);
    pl_json_real(&json, NULL, 1e-300);
    pl_json_real(&json, NULL, (double)NAN);
    pl_json_real(&json, NULL, (double)INFINITY);
    pl_json_end(&json);
    fclose(out);
    CHECK_TEXT(text, "[0.1,-2,0.3333333333333333,1e-300,null,null]");

    CHECK_TEXT(string("plain"), "\"plain\"");
    CHECK_TEXT(string(""), "\"\"");
    CHECK_TEXT(string("a\"b\\c"), "\"a\\\"b\\\\c\"");
    CHECK_TEXT(string("\n\t\x01\x7f"), "\"\\u000a\\u0009\\u0001\\u007f\"");
    CHECK_TEXT(string("µ ⪯ \xF0\x9D\x84\x9E"), "\"µ ⪯ \xF0\x9D\x84\x9E\"");
    CHECK_TEXT(string("\xFF"), "\"\\ufffd\"");                       /* never in UTF-8 */
    CHECK_TEXT(string("\xC3"), "\"\\ufffd\"");                       /* ends too early */
    CHECK_TEXT(string("\xC0\xAF"), "\"\\ufffd\\ufffd\"");            /* overlong */
    CHECK_TEXT(string("\xE0\x9F\xBF"), "\"\\ufffd\\ufffd\\ufffd\""); /* overlong */
    CHECK_TEXT(string("\xED\xA0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* surrogate */
    CHECK_TEXT(string("\xF4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    CHECK_TEXT(string("a\xE2\x82x"), "\"a\\ufffd\\ufffdx\"");
    free(text);

    pl_json_start(&json, NULL); /* silent */
    pl_json_object(&json, "swallowed");
    pl_json_text(&json, "x", "y");
    pl_json_end(&json);
    CHECK(json.depth == 0);
    return check_done();
}
