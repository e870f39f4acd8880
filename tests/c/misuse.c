/* What a C program may do wrong with hearth.h, and what it is told. Exits with 0, or says which step is wrong. */

#include "support.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

/* What was cut short while it was being filled. */
static hearth_status fill_nothing(void* user, hearth_result* result)
{
    const char* names[] = {"code", "log"};
    hearth_bytes bytes[2] = {{"code", 4}, {NULL, 4}};
    (void)user;
    hearth_result_describe(result, "a kernel", NULL, NULL);
    hearth_result_add_all(result, names, bytes, 2);
    return HEARTH_OK;
}

static hearth_status fill_both(void* user, hearth_result* result)
{
    const char* names[] = {"code", "log"};
    hearth_bytes bytes[2] = {{"code", 4}, {NULL, 0}};
    (void)user;
    return hearth_result_add_all(result, names, bytes, 2);
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
    if (make_key(cache, "results", &key))
        return 1;
    EXPECT(hearth_get_or_compile(cache, &key, fill_nothing, NULL, &lease) == HEARTH_INVALID_ARGUMENT && lease == NULL);
    EXPECT(strstr(hearth_error(cache), "no section") != NULL);
    EXPECT(hearth_put(cache, &key, fill_nothing, NULL) == HEARTH_INVALID_ARGUMENT);
    EXPECT(hearth_get(cache, &key, &lease) == HEARTH_NOT_FOUND);
    EXPECT(hearth_put(cache, &key, fill_both, NULL) == HEARTH_OK && hearth_get(cache, &key, &lease) == HEARTH_OK);
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

int main(int count, char** arguments)
{
    hearth_options options = HEARTH_INIT(hearth_options);
    hearth_cache* cache = NULL;
    options.directory = count > 1 ? arguments[1] : NULL;
    EXPECT(hearth_open(&options, &cache) == HEARTH_OK);
    if (ended_thread(cache, &options) || results(cache) || statuses(cache) || sizes(cache) || sentences(cache) ||
        deadlines(cache))
        return 1;
    hearth_close(cache);
    return 0;
}
