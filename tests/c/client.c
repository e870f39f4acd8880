/* What a C program does with hearth.h, step by step. Exits with 0, or says which step is wrong. */

#include "support.h"

#include <pthread.h>

static int keys(hearth_cache* cache)
{
    char hex[65];
    hearth_key one, other;
    if (make_key(cache, "one", &one) || make_key(cache, "other", &other))
        return 1;
    EXPECT(memcmp(&one, &other, sizeof one) != 0);
    EXPECT(hearth_key_to_hex(&one, hex) == HEARTH_OK && strlen(hex) == 64);
    EXPECT(hearth_key_from_hex(hex, &other) == HEARTH_OK && memcmp(&one, &other, sizeof one) == 0);
    EXPECT(hearth_key_from_hex("12", &other) == HEARTH_INVALID_ARGUMENT);
    EXPECT(strcmp(hearth_error(NULL), "A key is 64 hexadecimal digits.") == 0);
    return 0;
}

static int entries(hearth_cache* cache)
{
    struct Compiles compiles = {0, 0, HEARTH_OK};
    hearth_stats stats = HEARTH_INIT(hearth_stats);
    hearth_lease* lease = NULL;
    hearth_lease* again = NULL;
    hearth_key key;
    if (make_key(cache, "entries", &key))
        return 1;
    EXPECT(hearth_get(cache, &key, &lease) == HEARTH_NOT_FOUND && lease == NULL);
    EXPECT(strcmp(hearth_error(cache), "absent") == 0 && strcmp(hearth_error(NULL), "") == 0);
    EXPECT(hearth_get_or_compile(cache, &key, compile, &compiles, &lease) == HEARTH_OK);
    EXPECT(hearth_lease_outcome(lease) == HEARTH_COMPILED && strcmp(hearth_lease_reason(lease), "absent") == 0);
    EXPECT(is(hearth_lease_bytes(lease, NULL), "compiled") && is(hearth_lease_bytes(lease, "log"), "a warning"));
    EXPECT(hearth_lease_bytes(lease, "absent").data == NULL && hearth_lease_status(lease) == 0);
    EXPECT(hearth_lease_section_count(lease) == 2 && strcmp(hearth_lease_section_name(lease, 1), "log") == 0);
    EXPECT(hearth_lease_section_name(lease, 2) == NULL && hearth_lease_cost_ns(lease) > 0);
    EXPECT(hearth_get_or_compile(cache, &key, compile, &compiles, &again) == HEARTH_OK && compiles.count == 1);
    EXPECT(hearth_lease_outcome(again) == HEARTH_HIT && strcmp(hearth_lease_tier(again), "memory") == 0);
    EXPECT(hearth_remove(cache, &key) == HEARTH_OK && hearth_remove(cache, &key) == HEARTH_NOT_FOUND);
    EXPECT(is(hearth_lease_bytes(again, "code"), "compiled")); /* what is in use stays */
    hearth_release(again);
    hearth_release(lease);
    EXPECT(hearth_put_bytes(cache, &key, "code", text("put")) == HEARTH_OK);
    EXPECT(hearth_get(cache, &key, &lease) == HEARTH_OK && is(hearth_lease_bytes(lease, "code"), "put"));
    hearth_release(lease);
    EXPECT(hearth_get_stats(cache, HEARTH_OF_PROCESS, &stats) == HEARTH_OK);
    EXPECT(stats.compiles == 1 && stats.hits == 2 && stats.misses == 2 && stats.stores >= 2);
    return 0;
}

/* A worker of the cache may have it until that is closed. */
static struct Compiles g_lasting = {0, 0, HEARTH_OK};

static int failures(hearth_cache* cache)
{
    struct Compiles compiles = {0, 0, HEARTH_UNAVAILABLE};
    hearth_get_options options = HEARTH_INIT(hearth_get_options);
    hearth_lease* lease = NULL;
    hearth_cache* none = NULL;
    hearth_key key;
    const char* settings[] = {"memory_bytes=lots", NULL};
    hearth_options wrong = HEARTH_INIT(hearth_options);
    if (make_key(cache, "failures", &key))
        return 1;
    EXPECT(hearth_get_or_compile(cache, &key, compile, &compiles, &lease) == HEARTH_UNAVAILABLE && lease == NULL);
    EXPECT(strstr(hearth_error(cache), "The test wants this to fail.") != NULL);
    options.deadline_ms = 60000;
    EXPECT(hearth_get_or_compile_with(cache, &key, compile, &g_lasting, &options, &lease) == HEARTH_INVALID_ARGUMENT);
    options.drop = drop;
    EXPECT(hearth_get_or_compile_with(cache, &key, compile, &g_lasting, &options, &lease) == HEARTH_OK);
    hearth_release(lease);
    EXPECT(hearth_get_or_compile_with(cache, NULL, compile, &g_lasting, &options, &lease) == HEARTH_INVALID_ARGUMENT);
    EXPECT(hearth_get(NULL, &key, &lease) == HEARTH_INVALID_ARGUMENT && strlen(hearth_error(NULL)) > 0);
    EXPECT(hearth_flush(cache) == HEARTH_OK);
    wrong.settings = settings;
    EXPECT(hearth_open(&wrong, &none) == HEARTH_INVALID_ARGUMENT && none == NULL);
    EXPECT(strstr(hearth_error(NULL), "memory_bytes=lots") != NULL);
    settings[0] = "colour=red";
    EXPECT(hearth_open(&wrong, &none) == HEARTH_INVALID_ARGUMENT && strstr(hearth_error(NULL), "colour") != NULL);
    EXPECT(strcmp(hearth_status_name(HEARTH_NO_MEMORY), "no_memory") == 0);
    EXPECT(strcmp(hearth_status_name(-1), "unknown") == 0);
    /* Nothing of nothing is nothing. */
    hearth_release(NULL);
    hearth_close(NULL);
    hearth_free_key(NULL);
    EXPECT(hearth_lease_bytes(NULL, NULL).data == NULL && strcmp(hearth_lease_tier(NULL), "") == 0);
    return 0;
}

static int nvrtc(hearth_cache* cache)
{
    const char* options[] = {"-std=c++17"};
    const char* expressions[] = {"scale<float>"};
    hearth_nvrtc_program program = HEARTH_INIT(hearth_nvrtc_program);
    hearth_lease* lease = NULL;
    hearth_status status;
    program.source = "template <class T> __global__ void scale(T* x) { *x *= 2; }\n";
    program.target = "compute_80";
    program.options = options;
    program.option_count = 1;
    program.name_expressions = expressions;
    program.name_expression_count = 1;
    status = hearth_nvrtc_compile(cache, &program, &lease);
    if (status == HEARTH_UNAVAILABLE || status == HEARTH_NOT_FOUND) {
        printf("NVRTC left out: %s\n", hearth_error(cache));
        return 0;
    }
    EXPECT(status == HEARTH_OK && hearth_lease_status(lease) == 0);
    EXPECT(hearth_lease_bytes(lease, "ptx").size > 0 && hearth_lease_section_count(lease) == 1);
    EXPECT(strcmp(hearth_nvrtc_lowered_name(lease, "scale<float>"), "_Z5scaleIfEvPT_") == 0);
    EXPECT(hearth_nvrtc_lowered_name(lease, "scale<int>") == NULL);
    hearth_release(lease);
    EXPECT(hearth_nvrtc_compile(cache, &program, &lease) == HEARTH_OK && hearth_lease_outcome(lease) == HEARTH_HIT);
    hearth_release(lease);
    program.source = "__global__ void k() { absent; }\n";
    program.name_expression_count = 0;
    EXPECT(hearth_nvrtc_compile(cache, &program, &lease) == HEARTH_OK && hearth_lease_status(lease) != 0);
    EXPECT(strstr(hearth_nvrtc_log(lease), "absent") != NULL);
    hearth_release(lease);
    program.source = NULL;
    EXPECT(hearth_nvrtc_compile(cache, &program, &lease) == HEARTH_INVALID_ARGUMENT && lease == NULL);
    return 0;
}

enum { k_threads = 16 };

struct Asker {
    pthread_t thread;
    hearth_cache* cache;
    hearth_key key;
    struct Compiles* compiles;
    int right;
};

static void* ask(void* user)
{
    struct Asker* const asker = user;
    hearth_lease* lease = NULL;
    asker->right = hearth_get_or_compile(asker->cache, &asker->key, compile, asker->compiles, &lease) == HEARTH_OK &&
                   is(hearth_lease_bytes(lease, "code"), "compiled");
    hearth_release(lease);
    /* Errors are told to the thread that they happened in. */
    asker->right &= strcmp(hearth_error(asker->cache), "") == 0;
    return NULL;
}

static int threads(hearth_cache* cache)
{
    struct Compiles compiles = {0, 0, HEARTH_OK};
    struct Asker askers[k_threads];
    int i;
    for (i = 0; i < k_threads; ++i) {
        askers[i].cache = cache;
        askers[i].compiles = &compiles;
        if (make_key(cache, "threads", &askers[i].key))
            return 1;
        pthread_create(&askers[i].thread, NULL, ask, &askers[i]);
    }
    for (i = 0; i < k_threads; ++i) {
        pthread_join(askers[i].thread, NULL);
        EXPECT(askers[i].right);
    }
    EXPECT(compiles.count == 1);
    return 0;
}

int main(int count, char** arguments)
{
    hearth_options options = HEARTH_INIT(hearth_options);
    hearth_cache* cache = NULL;
    const char* settings[] = {"memory_bytes=8MiB", NULL};
    options.directory = count > 1 ? arguments[1] : NULL;
    options.settings = settings;
    EXPECT(hearth_open(&options, &cache) == HEARTH_OK);
    if (keys(cache) || entries(cache) || failures(cache) || threads(cache) || nvrtc(cache))
        return 1;
    EXPECT(hearth_shared() == hearth_shared());
    hearth_close(hearth_shared());
    hearth_close(cache);
    cache = NULL;
    EXPECT(g_lasting.count == 1 && g_lasting.dropped == 2);
    printf("hearth %s: all as it should be\n", hearth_version());
    return 0;
}
