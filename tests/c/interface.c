/* Prints what programs that were compiled with hearth.h rely on: the values of its names, and where its members lie. */

#include <hearth/hearth.h>
#include <stdio.h>

#define VALUE(name) printf("%s = %d\n", #name, (int)name)
#define STRUCT(name) printf("%s: %zu bytes\n", #name, sizeof(name))
#define MEMBER(of, name) printf("%s.%s: at %zu, %zu bytes\n", #of, #name, offsetof(of, name), sizeof(((of*)0)->name))

int main(void)
{
    VALUE(HEARTH_OK);
    VALUE(HEARTH_INVALID_ARGUMENT);
    VALUE(HEARTH_NOT_FOUND);
    VALUE(HEARTH_TOO_LARGE);
    VALUE(HEARTH_IO);
    VALUE(HEARTH_NO_SPACE);
    VALUE(HEARTH_CORRUPT);
    VALUE(HEARTH_OTHER_VERSION);
    VALUE(HEARTH_COMPILE_FAILED);
    VALUE(HEARTH_COMPILE_FORBIDDEN);
    VALUE(HEARTH_TIMEOUT);
    VALUE(HEARTH_UNAVAILABLE);
    VALUE(HEARTH_DENIED);
    VALUE(HEARTH_NO_MEMORY);
    VALUE(HEARTH_HIT);
    VALUE(HEARTH_COMPILED);
    VALUE(HEARTH_WAITED);
    VALUE(HEARTH_PAST_THE_CACHE);
    VALUE(HEARTH_OF_PROCESS);
    VALUE(HEARTH_OF_DIRECTORY);
    STRUCT(hearth_status);
    STRUCT(hearth_bytes);
    MEMBER(hearth_bytes, data);
    MEMBER(hearth_bytes, size);
    STRUCT(hearth_key);
    MEMBER(hearth_key, digest);
    STRUCT(hearth_options);
    MEMBER(hearth_options, size);
    MEMBER(hearth_options, directory);
    MEMBER(hearth_options, settings);
    MEMBER(hearth_options, log);
    MEMBER(hearth_options, log_user);
    STRUCT(hearth_get_options);
    MEMBER(hearth_get_options, size);
    MEMBER(hearth_get_options, deadline_ms);
    MEMBER(hearth_get_options, drop);
    STRUCT(hearth_stats);
    MEMBER(hearth_stats, size);
    MEMBER(hearth_stats, hits);
    MEMBER(hearth_stats, misses);
    MEMBER(hearth_stats, outages);
    MEMBER(hearth_stats, stores);
    MEMBER(hearth_stats, compiles);
    MEMBER(hearth_stats, compile_failures);
    MEMBER(hearth_stats, waited);
    MEMBER(hearth_stats, forbidden);
    MEMBER(hearth_stats, evictions);
    MEMBER(hearth_stats, corrupt);
    MEMBER(hearth_stats, compile_ns_spent);
    MEMBER(hearth_stats, compile_ns_saved);
    MEMBER(hearth_stats, compiles_after_ready);
    STRUCT(hearth_nvrtc_header);
    MEMBER(hearth_nvrtc_header, name);
    MEMBER(hearth_nvrtc_header, content);
    STRUCT(hearth_nvrtc_program);
    MEMBER(hearth_nvrtc_program, size);
    MEMBER(hearth_nvrtc_program, source);
    MEMBER(hearth_nvrtc_program, name);
    MEMBER(hearth_nvrtc_program, target);
    MEMBER(hearth_nvrtc_program, options);
    MEMBER(hearth_nvrtc_program, option_count);
    MEMBER(hearth_nvrtc_program, headers);
    MEMBER(hearth_nvrtc_program, header_count);
    MEMBER(hearth_nvrtc_program, name_expressions);
    MEMBER(hearth_nvrtc_program, name_expression_count);
    MEMBER(hearth_nvrtc_program, library);
    return 0;
}
