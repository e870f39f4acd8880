/* What a C program does with hearth.h, step by step, and what it may do wrong: client FOLDER, client FOLDER wrongly.
   Exits with 0, or says which step is wrong. */

#include <hearth/hearth.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
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

/* As one does that was cut short: its second section has a size and no bytes. */
static hearth_status fill(void* size, hearth_result* result)
{
    const char* names[] = {"code", "log"};
    hearth_bytes bytes[2] = {{"code", 4}, {NULL, 0}};
    bytes[1].size = *(const size_t*)size;
    hearth_result_describe(result, "a kernel", NULL, NULL);
    hearth_result_add_all(result, names, bytes, 2);
    return HEARTH_OK;
}

static hearth_status fill_status(void* user, hearth_result* result)
{
    (void)user;
    return hearth_result_set_status(result, 3);
}

static int results(hearth_cache* cache)
{
    hearth_lease* lease = NULL;
    hearth_key key;
    size_t some = 4, none = 0;
    if (make_key(cache, "results", &key))
        return 1;
    EXPECT(hearth_get_or_compile(cache, &key, fill, &some, &lease) == HEARTH_INVALID_ARGUMENT && lease == NULL);
    EXPECT(strstr(hearth_error(cache), "no section") != NULL);
    EXPECT(hearth_put(cache, &key, fill, &some) == HEARTH_INVALID_ARGUMENT);
    EXPECT(hearth_get(cache, &key, &lease) == HEARTH_NOT_FOUND);
    EXPECT(hearth_put(cache, &key, fill, &none) == HEARTH_OK && hearth_get(cache, &key, &lease) == HEARTH_OK);
    EXPECT(hearth_lease_section_count(lease) == 2 && is(hearth_lease_bytes(lease, "code"), "code"));
    hearth_release(lease);
    EXPECT(hearth_put(cache, &key, fill_status, NULL) == HEARTH_OK && hearth_get(cache, &key, &lease) == HEARTH_OK);
    EXPECT(hearth_lease_status(lease) == 3);
    hearth_release(lease);
    return 0;
}

static int statuses(hearth_cache* cache)
{
    struct Compiles compiles = {0, 0, HEARTH_OK};
    hearth_lease* lease = NULL;
    hearth_key key;
    if (make_key(cache, "statuses", &key))
        return 1;
    for (compiles.status = HEARTH_INVALID_ARGUMENT; compiles.status <= HEARTH_NO_MEMORY; ++compiles.status)
        if (compiles.status != HEARTH_COMPILE_FAILED) /* remembered */
            EXPECT(hearth_get_or_compile(cache, &key, compile, &compiles, &lease) == compiles.status);
    compiles.status = -1;
    EXPECT(hearth_get_or_compile(cache, &key, compile, &compiles, &lease) == HEARTH_UNAVAILABLE);
    compiles.status = HEARTH_OK;
    EXPECT(hearth_get_or_compile(cache, &key, compile, &compiles, &lease) == HEARTH_OK);
    hearth_release(lease);
    return 0;
}

/* Structs that were not begun with HEARTH_INIT, or by a program that knows more than this library. */
static int sizes(hearth_cache* cache)
{
    struct Compiles compiles = {0, 0, HEARTH_OK};
    struct Newer {
        hearth_stats known;
        uint64_t more;
    } newer;
    hearth_options options;
    hearth_get_options how;
    hearth_nvrtc_program program;
    hearth_cache* none = NULL;
    hearth_lease* lease = NULL;
    hearth_key key;
    if (make_key(cache, "sizes", &key))
        return 1;
    memset(&options, 0, sizeof options);
    memset(&how, 0, sizeof how);
    memset(&program, 0, sizeof program);
    memset(&newer, 0, sizeof newer);
    program.source = "";
    EXPECT(hearth_open(&options, &none) == HEARTH_INVALID_ARGUMENT && none == NULL);
    EXPECT(strstr(hearth_error(NULL), "HEARTH_INIT") != NULL);
    options.size = offsetof(hearth_options, directory) + sizeof options.directory / 2;
    EXPECT(hearth_open(&options, &none) == HEARTH_INVALID_ARGUMENT && none == NULL);
    EXPECT(hearth_get_or_compile_with(cache, &key, compile, &compiles, &how, &lease) == HEARTH_INVALID_ARGUMENT);
    EXPECT(strstr(hearth_error(cache), "HEARTH_INIT") != NULL && compiles.count == 0);
    EXPECT(hearth_nvrtc_compile(cache, &program, &lease) == HEARTH_INVALID_ARGUMENT);
    EXPECT(strstr(hearth_error(cache), "HEARTH_INIT") != NULL);
    newer.known.size = offsetof(hearth_stats, misses);
    EXPECT(hearth_get_stats(cache, HEARTH_OF_PROCESS, &newer.known) == HEARTH_INVALID_ARGUMENT);
    newer.known.size = sizeof newer;
    newer.more = 4711;
    EXPECT(hearth_get_stats(cache, HEARTH_OF_PROCESS, &newer.known) == HEARTH_OK);
    EXPECT(newer.known.hits > 0 && newer.more == 4711);
    EXPECT(hearth_get_stats(cache, 99, &newer.known) == HEARTH_INVALID_ARGUMENT);
    return 0;
}

/* Each failure tells of itself, and not of one before. */
static int sentences(hearth_cache* cache)
{
    hearth_nvrtc_program program = HEARTH_INIT(hearth_nvrtc_program);
    hearth_bytes nowhere = {NULL, 5};
    hearth_lease* lease = NULL;
    hearth_key key;
    if (make_key(cache, "sentences", &key))
        return 1;
    EXPECT(hearth_open(NULL, NULL) == HEARTH_INVALID_ARGUMENT);
    EXPECT(hearth_result_set_status(NULL, 1) == HEARTH_INVALID_ARGUMENT);
    EXPECT(strstr(hearth_error(NULL), "status") != NULL);
    EXPECT(hearth_put_bytes(cache, &key, NULL, nowhere) == HEARTH_INVALID_ARGUMENT);
    EXPECT(strstr(hearth_error(cache), "section") != NULL);
    program.source = "";
    program.option_count = 1;
    EXPECT(hearth_nvrtc_compile(cache, &program, &lease) == HEARTH_INVALID_ARGUMENT);
    EXPECT(strstr(hearth_error(cache), "option") != NULL);
#if !defined(HEARTH_HAS_ASAN) && !defined(HEARTH_HAS_TSAN) /* they end a program that asks for so much */
    nowhere.data = &key;
    nowhere.size = SIZE_MAX / 4;
    EXPECT(hearth_put_bytes(cache, &key, NULL, nowhere) == HEARTH_NO_MEMORY);
    EXPECT(strcmp(hearth_error(cache), "Out of memory.") == 0);
#endif
    return 0;
}

static int deadlines(hearth_cache* cache)
{
    static struct Compiles compiles = {0, 0, HEARTH_OK};
    const uint64_t long_ones[] = {10000000000000u, INT64_MAX, UINT64_MAX};
    hearth_get_options options = HEARTH_INIT(hearth_get_options);
    hearth_lease* lease = NULL;
    hearth_key key;
    size_t i;
    options.drop = drop;
    for (i = 0; i < sizeof long_ones / sizeof *long_ones; ++i) {
        options.deadline_ms = long_ones[i];
        if (make_key(cache, i == 0 ? "first" : i == 1 ? "second" : "third", &key))
            return 1;
        EXPECT(hearth_get_or_compile_with(cache, &key, compile, &compiles, &options, &lease) == HEARTH_OK);
        hearth_release(lease);
    }
    return 0;
}

/* A thread that ends itself in a compile function, as Python's do when Python ends. The program goes on without it. */
static hearth_cache* g_left = NULL;
static sem_t g_ends;

static void tell_that_it_ends(void* user)
{
    (void)user;
    sem_post(&g_ends);
}

static hearth_status end_thread(void* user, hearth_result* result)
{
    (void)user;
    (void)result;
    pthread_cleanup_push(tell_that_it_ends, NULL);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
    return HEARTH_OK;
}

static void* ask_and_end(void* user)
{
    hearth_lease* lease = NULL;
    hearth_get_or_compile(g_left, user, end_thread, NULL, &lease);
    return NULL;
}

static int ended_thread(hearth_cache* cache, const hearth_options* options)
{
    static hearth_key key;
    pthread_t thread;
    EXPECT(sem_init(&g_ends, 0, 0) == 0);
    if (make_key(cache, "ended", &key))
        return 1;
    EXPECT(hearth_open(options, &g_left) == HEARTH_OK); /* never closed: the thread is inside */
    EXPECT(pthread_create(&thread, NULL, ask_and_end, &key) == 0 && pthread_detach(thread) == 0);
    while (sem_wait(&g_ends) != 0) {
    }
    return 0;
}

static int rightly(const char* folder)
{
    hearth_options options = HEARTH_INIT(hearth_options);
    hearth_cache* cache = NULL;
    const char* settings[] = {"memory_bytes=8MiB", NULL};
    options.directory = folder;
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

static int wrongly(const char* folder)
{
    hearth_options options = HEARTH_INIT(hearth_options);
    hearth_cache* cache = NULL;
    options.directory = folder;
    EXPECT(hearth_open(&options, &cache) == HEARTH_OK);
    if (ended_thread(cache, &options) || results(cache) || statuses(cache) || sizes(cache) || sentences(cache) ||
        deadlines(cache))
        return 1;
    hearth_close(cache);
    return 0;
}

int main(int count, char** arguments)
{
    return count > 2 ? wrongly(arguments[1]) : count == 2 ? rightly(arguments[1]) : 2;
}
