/* Hearth for C: the cache of include/hearth/cache.hpp and its NVRTC compiles, as C99.
 *
 *     hearth_cache* cache = NULL;
 *     hearth_lease* lease = NULL;
 *     if (hearth_open(NULL, &cache) == HEARTH_OK && hearth_get_or_compile(cache, &key, compile, user, &lease) == HEARTH_OK)
 *         use(hearth_lease_bytes(lease, NULL));
 *     hearth_release(lease);
 *     hearth_close(cache);
 *
 * Handles are opaque. Who gets one gives it back: hearth_close, hearth_release, hearth_free_key. Null may be given back.
 * Strings are UTF-8, end with a zero, and are copied by whoever is given them. What a function returns by pointer, and
 * what a hearth_bytes points to, belongs to the handle it was asked of and lasts as long as that, unless said otherwise.
 *
 * Threads: a cache may be used by any number of them at once. A lease, a key being built and a result being filled
 * belong to one thread at a time. No thread may be cancelled inside the library.
 *
 * Failure: functions that can fail return a hearth_status. hearth_error() then tells what went wrong, as a sentence. No
 * exception leaves the library, and nothing that it allocates is freed by the caller, nor the other way round. A handle
 * that is null where one is needed is HEARTH_INVALID_ARGUMENT, or nothing where no status is returned.
 *
 * Stability: values, functions and members stay as they are within a version of the library (libhearth.so.0.2). Structs
 * begin with their size, so that members can be added: set it by HEARTH_INIT, which sets everything else to zero. One
 * whose size is not set is HEARTH_INVALID_ARGUMENT.
 *
 *     hearth_options options = HEARTH_INIT(hearth_options);
 */

#ifndef HEARTH_HEARTH_H
#define HEARTH_HEARTH_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEARTH_C_API __attribute__((visibility("default")))
#else
#define HEARTH_C_API
#endif

#if defined(__cplusplus)
extern "C++" { /* this header may be included inside extern "C" */
template <class Sized>
Sized hearth_sized()
{
    Sized sized = Sized();
    sized.size = sizeof(Sized);
    return sized;
}
}
#define HEARTH_INIT(type) hearth_sized<type>()
extern "C" {
#else
#define HEARTH_INIT(type) {.size = sizeof(type)}
#endif

/* ---- Status ---------------------------------------------------------------------------------------------------- */

typedef int32_t hearth_status;

enum {
    HEARTH_OK = 0,
    HEARTH_INVALID_ARGUMENT = 1,  /* the caller asked for something that cannot be */
    HEARTH_NOT_FOUND = 2,         /* no such entry, file or library: a miss */
    HEARTH_TOO_LARGE = 3,         /* larger than any tier can hold */
    HEARTH_IO = 4,                /* the operating system refused */
    HEARTH_NO_SPACE = 5,          /* the disk or the budget is full */
    HEARTH_CORRUPT = 6,           /* bytes that are not what they claim to be */
    HEARTH_OTHER_VERSION = 7,     /* another version's or another machine's bytes */
    HEARTH_COMPILE_FAILED = 8,    /* the compile function has failed */
    HEARTH_COMPILE_FORBIDDEN = 9, /* a miss in a cache that may not compile */
    HEARTH_TIMEOUT = 10,          /* the deadline passed first */
    HEARTH_UNAVAILABLE = 11,      /* the tier, the server or the library is not there */
    HEARTH_DENIED = 12,           /* access was refused: password, signature, certificate, permission */
    HEARTH_NO_MEMORY = 13
};

typedef struct hearth_cache hearth_cache;
typedef struct hearth_lease hearth_lease;
typedef struct hearth_key_builder hearth_key_builder;
typedef struct hearth_result hearth_result;

/* What is not owned by who has it: see where it was asked for. */
typedef struct hearth_bytes {
    const void* data;
    size_t size;
} hearth_bytes;

/* What went wrong in this thread's last call that failed, if it was on this cache; null: a call without one, such as
 * hearth_open. Never null; empty: nothing did. Lasts until this thread's next call of a function that can fail. */
HEARTH_C_API const char* hearth_error(const hearth_cache* cache);

/* "compile_forbidden". Never null; "unknown" for a value that is none of the above. */
HEARTH_C_API const char* hearth_status_name(hearth_status status);

/* "0.2.1", of the library that is loaded. */
HEARTH_C_API const char* hearth_version(void);

/* ---- Caches ---------------------------------------------------------------------------------------------------- */

/* `message` is a sentence without an end of line, and lasts for the call. May be called by any thread. */
typedef void (*hearth_log)(void* user, const char* message);

typedef struct hearth_options {
    size_t size;
    /* Where entries are kept. Null: as the environment, the configuration file or the defaults say. */
    const char* directory;
    /* Settings by their names as in the configuration file, each "NAME=VALUE", the last one null; `hearth config` lists
     * them. Null: none. They come before the environment. */
    const char* const* settings;
    hearth_log log; /* null: as the settings say */
    void* log_user;
} hearth_options;

/* Opens a cache. `options` may be null: all as the environment says. A tier that cannot be opened is left out, and the
 * log says so; HEARTH_INVALID_ARGUMENT: a setting is not known, or its value is none. Close it with hearth_close. */
HEARTH_C_API hearth_status hearth_open(const hearth_options* options, hearth_cache** cache);

/* The one cache of this process, opened when it is first asked for and flushed when the process ends. It is never
 * closed: hearth_close leaves it alone. A forked child goes on with it. Null only if there is no memory. */
HEARTH_C_API hearth_cache* hearth_shared(void);

/* Waits until everything is stored. Leases may outlive the cache. Nobody may be using it: no other thread, nor this one,
 * from a compile function. */
HEARTH_C_API void hearth_close(hearth_cache* cache);

/* Stores everything that is still on its way, and writes uses and statistics down. */
HEARTH_C_API hearth_status hearth_flush(hearth_cache* cache);

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

/* The SHA-256 of everything that determines a result. The same in every process, on every machine. */
typedef struct hearth_key {
    uint8_t digest[32];
} hearth_key;

/* Builds a key of named, typed fields: ("ab", "c") and ("a", "bc") differ. Order counts. `domain` tells your keys from
 * those of others: the name of your program and what this is a key of. Null only if there is no memory. */
HEARTH_C_API hearth_key_builder* hearth_new_key(const char* domain);
HEARTH_C_API hearth_status hearth_key_text(hearth_key_builder* builder, const char* name, const char* value);
HEARTH_C_API hearth_status hearth_key_bytes(hearth_key_builder* builder, const char* name, hearth_bytes value);
HEARTH_C_API hearth_status hearth_key_number(hearth_key_builder* builder, const char* name, uint64_t value);
HEARTH_C_API hearth_status hearth_key_flag(hearth_key_builder* builder, const char* name, int value);
/* Of `count` strings, in their order. */
HEARTH_C_API hearth_status hearth_key_list(hearth_key_builder* builder, const char* name, const char* const* items,
                                           size_t count);
/* The key of the fields so far. More may be added afterwards. */
HEARTH_C_API hearth_status hearth_make_key(const hearth_key_builder* builder, hearth_key* key);
HEARTH_C_API void hearth_free_key(hearth_key_builder* builder);

/* 64 lower-case hexadecimal digits and a zero; and back, from either case. */
HEARTH_C_API hearth_status hearth_key_to_hex(const hearth_key* key, char hex[65]);
HEARTH_C_API hearth_status hearth_key_from_hex(const char* hex, hearth_key* key);

/* ---- Results --------------------------------------------------------------------------------------------------- */

/* What a compile gives, while it is being filled: by a compile function, or for hearth_put. */

/* A named output. Copied. `section` may be "" for the only one. */
HEARTH_C_API hearth_status hearth_result_add(hearth_result* result, const char* section, hearth_bytes bytes);
/* `count` of them: all, or none if this fails. */
HEARTH_C_API hearth_status hearth_result_add_all(hearth_result* result, const char* const* sections,
                                                 const hearth_bytes* bytes, size_t count);
/* The compiler's own return code, if it is not 0: a compile that fails the same way every time is a result too. */
HEARTH_C_API hearth_status hearth_result_set_status(hearth_result* result, int32_t status);
/* What people see of it in `hearth ls`: label, compiler, target. Each may be null. */
HEARTH_C_API hearth_status hearth_result_describe(hearth_result* result, const char* label, const char* compiler,
                                                  const char* target);
/* How long compiling it took, for hearth_put: `hearth run --summary` then counts a compile, and a hit that saves so much
 * each time it is found. hearth_get_or_compile measures it. */
HEARTH_C_API hearth_status hearth_result_set_cost(hearth_result* result, uint64_t nanoseconds);
/* Why the compile function is about to return something else than HEARTH_OK; hearth_error() will give it. */
HEARTH_C_API hearth_status hearth_result_explain(hearth_result* result, const char* message);

/* ---- Entries --------------------------------------------------------------------------------------------------- */

/* Called on a miss, at most once, by the thread that asked or one of the cache's. Fills `result`, which is gone when it
 * returns. Anything but HEARTH_OK: there is none, and whoever asked or waited is given that status; HEARTH_UNAVAILABLE
 * for a value that is none of the above. HEARTH_COMPILE_FAILED is remembered for a moment (the setting failure_ttl), so
 * that not everybody tries again. It may use the cache.
 *
 * A result without a section is none either, unless it has a compiler's status: then HEARTH_OK is
 * HEARTH_INVALID_ARGUMENT. So where a function that has failed may seem to return 0, as in Python's ctypes, call
 * hearth_result_add_all last of all, and nothing is stored that is not whole.
 *
 * It must not throw, nor leave by longjmp, nor end its thread. A thread that calls pthread_exit, or is cancelled, stays
 * in there for good. This goes for every function that the library is given. */
typedef hearth_status (*hearth_compile)(void* user, hearth_result* result);

/* Looks an entry up. HEARTH_NOT_FOUND: a miss, and *lease is null. Release it with hearth_release. */
HEARTH_C_API hearth_status hearth_get(hearth_cache* cache, const hearth_key* key, hearth_lease** lease);

/* Looks an entry up, and compiles it if it is missing. Threads and processes that ask for the same key wait for one
 * compile. Release it with hearth_release. */
HEARTH_C_API hearth_status hearth_get_or_compile(hearth_cache* cache, const hearth_key* key, hearth_compile compile,
                                                 void* user, hearth_lease** lease);

typedef struct hearth_get_options {
    size_t size;
    /* How long to wait at most, in milliseconds. 0: as long as it takes. Then it is HEARTH_TIMEOUT, and the compile goes
     * on for whoever asks next. Needs `drop`. */
    uint64_t deadline_ms;
    /* Given `user` once nothing needs it any more, by any thread, whatever the call returned; only not if the size of
     * these options is not set. With it the compile function may still run after the call has returned. */
    void (*drop)(void* user);
} hearth_get_options;

/* The same with options, which may be null. */
HEARTH_C_API hearth_status hearth_get_or_compile_with(hearth_cache* cache, const hearth_key* key,
                                                      hearth_compile compile, void* user,
                                                      const hearth_get_options* options, hearth_lease** lease);

/* Stores what `fill` gives, in place of what was there. `fill` is called once, now. */
HEARTH_C_API hearth_status hearth_put(hearth_cache* cache, const hearth_key* key, hearth_compile fill, void* user);
/* The same for one section of that name. */
HEARTH_C_API hearth_status hearth_put_bytes(hearth_cache* cache, const hearth_key* key, const char* section,
                                            hearth_bytes bytes);

/* For who compiles where no compile function can be, after hearth_get and before hearth_put: HEARTH_COMPILE_FORBIDDEN in
 * a cache that may not compile. The sentence names `label`. Both strings are as in hearth_result_describe. */
HEARTH_C_API hearth_status hearth_may_compile(hearth_cache* cache, const char* label, const char* compiler);

/* From every tier, servers too. HEARTH_NOT_FOUND: none had it. */
HEARTH_C_API hearth_status hearth_remove(hearth_cache* cache, const hearth_key* key);

/* ---- Leases ---------------------------------------------------------------------------------------------------- */

/* An entry in use: it stays whole, whatever the cache lets go meanwhile. */

/* A section's bytes; of the first one if `section` is null. {NULL, 0}: there is none. */
HEARTH_C_API hearth_bytes hearth_lease_bytes(const hearth_lease* lease, const char* section);
HEARTH_C_API size_t hearth_lease_section_count(const hearth_lease* lease);
/* Null: there are not so many. */
HEARTH_C_API const char* hearth_lease_section_name(const hearth_lease* lease, size_t index);
/* The compiler's own return code: 0 is success. */
HEARTH_C_API int32_t hearth_lease_status(const hearth_lease* lease);

enum {
    HEARTH_HIT = 0,            /* the cache had it */
    HEARTH_COMPILED = 1,       /* this call compiled it */
    HEARTH_WAITED = 2,         /* another thread, process or node did, and this call waited */
    HEARTH_PAST_THE_CACHE = 3  /* it was compiled, and cannot be kept: hearth_lease_reason says why */
};
HEARTH_C_API int32_t hearth_lease_outcome(const hearth_lease* lease);
/* Why it missed, or went past the cache. Never null. */
HEARTH_C_API const char* hearth_lease_reason(const hearth_lease* lease);
/* The tier that had it. Never null; empty: none did. */
HEARTH_C_API const char* hearth_lease_tier(const hearth_lease* lease);
/* How long the compile took. */
HEARTH_C_API uint64_t hearth_lease_cost_ns(const hearth_lease* lease);
HEARTH_C_API void hearth_release(hearth_lease* lease);

/* Marks the end of start-up, for this process and, under `hearth run`, for all of the run: compiles from here on are
 * counted (compiles_after_ready) and named in the log, and refused if HEARTH_FORBID_COMPILE is after-ready. */
HEARTH_C_API void hearth_ready(void);

/* ---- Statistics ------------------------------------------------------------------------------------------------ */

typedef struct hearth_stats {
    size_t size;
    uint64_t hits;
    uint64_t misses;
    uint64_t outages; /* lookups in which no tier hit and one could not be asked */
    uint64_t stores;
    uint64_t compiles;
    uint64_t compile_failures;
    uint64_t waited;
    uint64_t forbidden;
    uint64_t evictions;
    uint64_t corrupt;
    uint64_t compile_ns_spent;
    uint64_t compile_ns_saved;
    uint64_t compiles_after_ready;
} hearth_stats;

enum {
    HEARTH_OF_PROCESS = 0,  /* since this cache was opened */
    HEARTH_OF_DIRECTORY = 1 /* of every process that used the same directory, since the last reset */
};

/* Fills as much of `stats` as its size says. */
HEARTH_C_API hearth_status hearth_get_stats(hearth_cache* cache, int32_t scope, hearth_stats* stats);

/* ---- NVRTC ----------------------------------------------------------------------------------------------------- */

typedef struct hearth_nvrtc_header {
    const char* name;
    const char* content;
} hearth_nvrtc_header;

/* What nvrtcCreateProgram and nvrtcCompileProgram are given. Everything but `source` may be left at zero. Lists are as
 * long as their counts say, and nothing in them is null. */
typedef struct hearth_nvrtc_program {
    size_t size;
    const char* source;
    const char* name;
    const char* target; /* "sm_90", "compute_80"; "device": this machine's first GPU; null: as the options say */
    const char* const* options;
    size_t option_count;
    const hearth_nvrtc_header* headers;
    size_t header_count;
    const char* const* name_expressions;
    size_t name_expression_count;
    const char* library; /* the libnvrtc to use; null: HEARTH_NVRTC, then the first that is found */
} hearth_nvrtc_program;

/* Compiles through the cache. Sections of the lease: "ptx", "cubin", "ltoir", "optixir", "nvvm", "tileir", as far as
 * NVRTC gives them. A compile error is a lease too, whose status is the nvrtcResult. An error: nothing could be compiled
 * at all. */
HEARTH_C_API hearth_status hearth_nvrtc_compile(hearth_cache* cache, const hearth_nvrtc_program* program,
                                                hearth_lease** lease);
/* What the compiler said. Never null. */
HEARTH_C_API const char* hearth_nvrtc_log(const hearth_lease* lease);
/* The compiler's name for one of the program's name expressions. Null: it was none of them. */
HEARTH_C_API const char* hearth_nvrtc_lowered_name(const hearth_lease* lease, const char* expression);

#if defined(__cplusplus)
} /* extern "C" */
#endif

#endif /* HEARTH_HEARTH_H */
