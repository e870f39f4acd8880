/* What the C programs of these tests share. */

#ifndef HEARTH_TESTS_C_SUPPORT_H
#define HEARTH_TESTS_C_SUPPORT_H

#include <hearth/hearth.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, hearth_error(cache));                   \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

struct Compiles {
    int count;
    int dropped;
    hearth_status status;
};

static hearth_bytes text(const char* given)
{
    hearth_bytes bytes;
    bytes.data = given;
    bytes.size = strlen(given);
    return bytes;
}

static int is(hearth_bytes bytes, const char* wanted)
{
    return bytes.size == strlen(wanted) && memcmp(bytes.data, wanted, bytes.size) == 0;
}

static hearth_status compile(void* user, hearth_result* result)
{
    struct Compiles* const compiles = user;
    ++compiles->count;
    if (compiles->status != HEARTH_OK) {
        hearth_result_explain(result, "The test wants this to fail.");
        return compiles->status;
    }
    hearth_result_describe(result, "a kernel", "a test", NULL);
    hearth_result_add(result, "code", text("compiled"));
    return hearth_result_add(result, "log", text("a warning"));
}

static void drop(void* user)
{
    ++((struct Compiles*)user)->dropped;
}

static int make_key(hearth_cache* cache, const char* source, hearth_key* key)
{
    const char* options[] = {"-O2", "-g"};
    hearth_key_builder* const builder = hearth_new_key("c test");
    EXPECT(hearth_key_text(builder, "source", source) == HEARTH_OK);
    EXPECT(hearth_key_number(builder, "target", 90) == HEARTH_OK);
    EXPECT(hearth_key_flag(builder, "fast", 1) == HEARTH_OK);
    EXPECT(hearth_key_bytes(builder, "image", text("\x7f")) == HEARTH_OK);
    EXPECT(hearth_key_list(builder, "options", options, 2) == HEARTH_OK);
    EXPECT(hearth_make_key(builder, key) == HEARTH_OK);
    hearth_free_key(builder);
    return 0;
}

#endif
