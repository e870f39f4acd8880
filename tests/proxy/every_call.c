// Uses every NVRTC call, rightly and wrongly, and prints what came back. It knows nothing of Hearth: what it prints
// with and without `hearth run` is compared. C that is C++ as well.
//
//   every_call                 with the libnvrtc it is linked with (EVERY_CALL_LINKED)
//   every_call NAME            with the one that dlopen(NAME) gives: a soname, a plain name, a path
//   every_call NAME SOURCE OUT TIMES      compiles that file instead, so many times, and writes the PTX (tests/matrix)
//
// EVERY_CALL_PART=compiles leaves out what only the compiler itself can answer, EVERY_CALL_PART=plain compiles once;
// both print to standard error which libraries of NVRTC were loaded. EVERY_CALL_PART=past does what only the compiler
// can answer, and nothing else. EVERY_CALL_GOES_TO names the working directory once the library is open.

#include "every.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void* Program;

struct Functions {
    int (*Version)(int*, int*);
    const char* (*GetErrorString)(int);
    int (*GetNumSupportedArchs)(int*);
    int (*GetSupportedArchs)(int*);
    int (*CreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*);
    int (*DestroyProgram)(Program*);
    int (*CompileProgram)(Program, int, const char* const*);
    int (*GetPTXSize)(Program, size_t*);
    int (*GetPTX)(Program, char*);
    int (*GetCUBINSize)(Program, size_t*);
    int (*GetCUBIN)(Program, char*);
    int (*GetLTOIRSize)(Program, size_t*);
    int (*GetLTOIR)(Program, char*);
    int (*GetOptiXIRSize)(Program, size_t*);
    int (*GetOptiXIR)(Program, char*);
    int (*GetProgramLogSize)(Program, size_t*);
    int (*GetProgramLog)(Program, char*);
    int (*AddNameExpression)(Program, const char*);
    int (*GetLoweredName)(Program, const char*, const char**);
    int (*GetPCHHeapSize)(size_t*);
    int (*SetPCHHeapSize)(size_t);
    int (*GetPCHCreateStatus)(Program);
    int (*GetPCHHeapSizeRequired)(Program, size_t*);
    int (*SetFlowCallback)(Program, int (*)(void*, void*), void*);
    int (*GetNVVMSize)(Program, size_t*);
    int (*GetTileIRSize)(Program, size_t*);
    // As cuBLASLt calls it: nvrtcCreateProgram with extras.
    int (*CPEx)(Program*, const char*, const char*, int, const char* const*, const char* const*, int, const int*,
                void* const*);
} nv;

static void find(void* library)
{
    find_functions(library, &nv, "nvrtc",
                   "Version GetErrorString GetNumSupportedArchs GetSupportedArchs CreateProgram DestroyProgram "
                   "CompileProgram GetPTXSize GetPTX GetCUBINSize GetCUBIN GetLTOIRSize GetLTOIR GetOptiXIRSize "
                   "GetOptiXIR GetProgramLogSize GetProgramLog AddNameExpression GetLoweredName GetPCHHeapSize "
                   "SetPCHHeapSize GetPCHCreateStatus GetPCHHeapSizeRequired SetFlowCallback GetNVVMSize GetTileIRSize",
                   "");
    *(void**)&nv.CPEx = dlsym(library, "__nvrtcCPEx");
}

#ifdef EVERY_CALL_LINKED
#ifdef __cplusplus
extern "C"
#endif
    int
    nvrtcVersion(int*, int*);
#endif

static void show_output(const char* name, Program program, int (*size_of)(Program, size_t*), int (*get)(Program, char*))
{
    show_bytes(name, program, size_of, get);
    printf("  %s to nowhere: %d %d\n", name, size_of(program, NULL), get(program, NULL));
}

static void show_log(Program program)
{
    show_output("log", program, nv.GetProgramLogSize, nv.GetProgramLog);
    show_text(program, nv.GetProgramLogSize, nv.GetProgramLog);
}

static void show_all(Program program)
{
    show_output("ptx", program, nv.GetPTXSize, nv.GetPTX);
    show_output("cubin", program, nv.GetCUBINSize, nv.GetCUBIN);
    show_output("ltoir", program, nv.GetLTOIRSize, nv.GetLTOIR);
    show_output("optixir", program, nv.GetOptiXIRSize, nv.GetOptiXIR);
    show_log(program);
}

static void show_heap(Program program)
{
    size_t heap = 4711;
    printf("  heap %d", nv.GetPCHHeapSizeRequired(program, &heap));
    printf(" %zu\n", heap);
}

static void show_lowered(Program program, const char* expression)
{
    const char* name = "untouched";
    const int got = nv.GetLoweredName(program, expression, &name);
    printf("  lowered %s: %d %s\n", expression, got, name ? name : "(null)");
}

// When a compile asks whether it is to end.
static int never(void* calls, void* nothing)
{
    (void)nothing;
    ++*(int*)calls;
    return 0;
}

static int at_once(void* calls, void* nothing)
{
    never(calls, nothing);
    return 1;
}

static const char k_plain[] = "extern \"C\" __global__ void add(float* x, float a) { x[threadIdx.x] += a; }\n";
static const char k_template[] = "#include \"given.h\"\n"
                                 "template <class T> __global__ void fill(T* x, T a) { x[threadIdx.x] = a * GIVEN; }\n"
                                 "__constant__ int table[4];\n"
                                 "namespace deep { __device__ float value; }\n";
static const char k_broken[] = "__global__ void broken( { nonsense }\n";
static const char k_warns[] = "__global__ void warns(int* x) { int unused = 3; x[0] = 1; }\n";

static const char* const k_sm[] = {"-arch=sm_80"};

static Program create(const char* what, const char* source, const char* name)
{
    Program program = NULL;
    printf("%s: create %d\n", what, nv.CreateProgram(&program, source, name, 0, NULL, NULL));
    return program;
}

static void compile(Program program, int count, const char* const* options)
{
    printf("  compile %d\n", nv.CompileProgram(program, count, options));
}

static void end(Program program)
{
    printf("  destroy %d", nv.DestroyProgram(&program));
    printf(", %s\n", program ? "kept" : "null");
}

static void compile_and_show(const char* what, const char* source, const char* name, int count,
                             const char* const* options)
{
    Program program = create(what, source, name);
    compile(program, count, options);
    show_all(program);
    end(program);
}

static void ordinary_compiles(void)
{
    const char* virtual_only[] = {"-arch=compute_80", "-std=c++20"};
    const char* lto[] = {"-dlto", "-arch=sm_90", "-rdc=true"};
    const char* optix[] = {"--optix-ir"};
    const char* pairs[] = {"-D", "N=3", "--gpu-architecture", "sm_90", "-I", "/usr/include"};
    const char* near_pch[] = {"-arch=sm_80", "-I/opt/pcharts", "-Dpch-dir"};
    const char* unknown[] = {"--no-such-option"};
    const char* bad_arch[] = {"-arch=sm_1"};
    compile_and_show("plain", k_plain, "plain.cu", 1, k_sm);
    compile_and_show("no options", k_plain, NULL, 0, NULL);
    compile_and_show("virtual", k_plain, "/some/where/plain.cu", 2, virtual_only);
    compile_and_show("lto", k_plain, "lto.cu", 3, lto);
    compile_and_show("optix", k_plain, "optix.cu", 1, optix);
    compile_and_show("pairs", k_plain, "pairs.cu", 6, pairs);
    compile_and_show("warns", k_warns, "dir/warns.cu", 1, k_sm);
    compile_and_show("broken", k_broken, "/x/broken.cu", 1, k_sm);
    compile_and_show("empty", "", "empty.cu", 1, k_sm);
    compile_and_show("no precompiled headers", k_plain, "charts.cu", 3, near_pch);
    compile_and_show("unknown option", k_plain, "u.cu", 1, unknown);
    compile_and_show("unknown target", k_plain, "u.cu", 1, bad_arch);

    const char* headers[] = {"#define GIVEN 7\n"};
    const char* names[] = {"given.h"};
    Program program = NULL;
    printf("names: create %d\n", nv.CreateProgram(&program, k_template, "names.cu", 1, headers, names));
    printf("  add %d %d", nv.AddNameExpression(program, "fill<float>"), nv.AddNameExpression(program, "&table"));
    printf(" %d %d\n", nv.AddNameExpression(program, "&deep::value"), nv.AddNameExpression(program, "fill<float>"));
    compile(program, 1, k_sm);
    show_lowered(program, "fill<float>");
    show_lowered(program, "&table");
    show_lowered(program, "&deep::value");
    show_lowered(program, "fill<double>");
    show_all(program);
    printf("  add after compile %d\n", nv.AddNameExpression(program, "fill<int>"));
    printf("  pch status %d\n", nv.GetPCHCreateStatus(program));
    // A program may be compiled again, with other options.
    const char* other[] = {"-arch=sm_90", "-use_fast_math"};
    compile(program, 2, other);
    show_lowered(program, "fill<float>");
    show_all(program);
    end(program);

    printf("bad name: create %d\n", nv.CreateProgram(&program, k_template, "bad.cu", 1, headers, names));
    printf("  add %d\n", nv.AddNameExpression(program, "no_such_thing<float>"));
    compile(program, 1, k_sm);
    show_lowered(program, "no_such_thing<float>");
    show_all(program);
    end(program);
}

static const char k_choosy[] = "#ifdef BAD\n#error bad\n#endif\n"
                               "template <class T> __global__ void fill(T* x) { *x = 1; }\n";

// What a program is compiled to after it has been compiled to something else.
static void compiles_in_a_row(void)
{
    const char* virtual_only[] = {"-arch=compute_90"};
    const char* bad[] = {"-arch=sm_80", "-DBAD"};
    const char* lto[] = {"-arch=sm_80", "-dlto"};
    const char* unknown[] = {"--no-such-option"};
    const char* missing[] = {"-arch=sm_80", NULL};
    const struct {
        const char* what;
        int count;
        const char* const* options;
    } all[] = {{"sm", 1, k_sm},         {"lto", 2, lto}, {"virtual", 1, virtual_only}, {"bad", 2, bad},
               {"unknown", 1, unknown}, {"sm", 1, k_sm}, {"missing", 2, missing},      {"negative", -1, k_sm},
               {"nowhere", 1, NULL},    {"sm", 1, k_sm}, {"negative", -1, k_sm}};
    Program program = create("in a row", k_choosy, "row.cu");
    printf("  unknown %d\n", nv.CompileProgram(program, 1, unknown));
    printf("  add %d\n", nv.AddNameExpression(program, "fill<int>"));
    printf("  missing %d\n", nv.CompileProgram(program, 2, missing));
    printf("  add %d\n", nv.AddNameExpression(program, "fill<float>"));
    show_lowered(program, "fill<int>");
    show_all(program);
    show_heap(program);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        printf("  %s %d\n", all[i].what, nv.CompileProgram(program, all[i].count, all[i].options));
        show_lowered(program, "fill<int>");
        show_lowered(program, "fill<float>");
        show_lowered(program, "fill<double>");
        show_all(program);
        printf("  add %d\n", nv.AddNameExpression(program, "fill<double>"));
        show_heap(program);
        printf("  heap to nowhere %d\n", nv.GetPCHHeapSizeRequired(program, NULL));
    }
    end(program);

    program = create("bad at first", k_choosy, "row.cu");
    printf("  bad %d\n", nv.CompileProgram(program, 2, bad));
    printf("  unknown %d\n", nv.CompileProgram(program, 1, unknown));
    printf("  add %d\n", nv.AddNameExpression(program, "fill<int>"));
    show_lowered(program, "fill<int>");
    end(program);
}

// Programs that come from another function than nvrtcCreateProgram.
static void inner_door(void)
{
    printf("inner door %s\n", nv.CPEx ? "there" : "absent");
    if (!nv.CPEx)
        return;
    Program program = NULL;
    printf("  create %d\n", nv.CPEx(&program, k_choosy, "inner.cu", 0, NULL, NULL, 0, NULL, NULL));
    printf("  add %d\n", nv.AddNameExpression(program, "fill<int>"));
    compile(program, 1, k_sm);
    show_lowered(program, "fill<int>");
    show_all(program);
    printf("  pch status %d\n", nv.GetPCHCreateStatus(program));
    show_heap(program);
    printf("  callback %d\n", nv.SetFlowCallback(program, NULL, NULL));
    end(program);
}

// Precompiled headers of a program that has no headers.
static void precompiled(int count, const char* const* options)
{
    Program program = create("pch", k_plain, "pch.cu");
    compile(program, count, options);
    show_log(program);
    show_output("ptx", program, nv.GetPTXSize, nv.GetPTX);
    show_heap(program);
    printf("  pch status %d\n", nv.GetPCHCreateStatus(program));
    end(program);
}

static void compile_with_callback(const char* what, int (*callback)(void*, void*))
{
    int calls = 0;
    Program program = create(what, k_plain, "flow.cu");
    printf("  set %d\n", nv.SetFlowCallback(program, callback, &calls));
    compile(program, 1, k_sm);
    printf("  called %s\n", calls > 0 ? "yes" : "no");
    show_all(program);
    end(program);
}

// What the compiler alone can do.
static void past_the_cache(void)
{
    const char* pch[] = {"-arch=sm_80", "--pch", "--pch-messages=false"};
    precompiled(3, pch);
    compile_with_callback("callback", never);
    inner_door();
}

static void callbacks(void)
{
    int calls = 0;
    compile_with_callback("callback", never);
    compile_with_callback("cancelled", at_once);
    Program program = create("set later", k_choosy, "later.cu");
    printf("  add %d\n", nv.AddNameExpression(program, "fill<int>"));
    compile(program, 1, k_sm);
    printf("  set nothing %d\n", nv.SetFlowCallback(program, NULL, NULL));
    printf("  set %d\n", nv.SetFlowCallback(program, at_once, &calls));
    show_all(program);
    compile(program, 1, k_sm);
    show_lowered(program, "fill<int>");
    show_all(program);
    printf("  add %d\n", nv.AddNameExpression(program, "fill<float>"));
    end(program);
}

static void wrong_use(void)
{
    Program program = NULL;
    const char* null_option[] = {NULL};
    printf("create nowhere %d\n", nv.CreateProgram(NULL, k_plain, "x", 0, NULL, NULL));
    printf("create without source %d\n", nv.CreateProgram(&program, NULL, "x", 0, NULL, NULL));
    printf("create with negative headers %d\n", nv.CreateProgram(&program, k_plain, "x", -1, NULL, NULL));
    printf("create with missing headers %d\n", nv.CreateProgram(&program, k_plain, "x", 1, NULL, NULL));
    const char* same_names[] = {"a.h", "a.h"};
    const char* contents[] = {"", "#error two\n"};
    printf("create with a header twice %d", nv.CreateProgram(&program, k_plain, "x", 2, contents, same_names));
    printf(" %s\n", program ? "there" : "none");
    printf("destroy nothing %d\n", nv.DestroyProgram(NULL));
    program = NULL;
    printf("destroy null %d\n", nv.DestroyProgram(&program));
    printf("compile null %d\n", nv.CompileProgram(NULL, 0, NULL));
    printf("null program:\n");
    size_t size = 1;
    char byte = 0;
    const char* name = NULL;
    printf("  %d %d %d %d\n", nv.GetPTXSize(NULL, &size), nv.GetPTX(NULL, &byte), nv.GetCUBINSize(NULL, &size),
           nv.GetCUBIN(NULL, &byte));
    printf("  %d %d %d %d\n", nv.GetLTOIRSize(NULL, &size), nv.GetLTOIR(NULL, &byte), nv.GetOptiXIRSize(NULL, &size),
           nv.GetOptiXIR(NULL, &byte));
    printf("  %d %d %d %d\n", nv.GetProgramLogSize(NULL, &size), nv.GetProgramLog(NULL, &byte),
           nv.AddNameExpression(NULL, "x"), nv.GetLoweredName(NULL, "x", &name));
    printf("  %d %d %d\n", nv.GetPCHCreateStatus(NULL), nv.GetPCHHeapSizeRequired(NULL, &size),
           nv.SetFlowCallback(NULL, never, NULL));

    program = create("not compiled", k_plain, "early.cu");
    show_all(program);
    show_lowered(program, "add");
    printf("  pch status %d\n", nv.GetPCHCreateStatus(program));
    printf("  name to nowhere %d %d\n", nv.AddNameExpression(program, NULL), nv.GetLoweredName(program, "add", NULL));
    printf("  compile with negative options %d\n", nv.CompileProgram(program, -1, k_sm));
    show_log(program);
    printf("  compile with missing options %d\n", nv.CompileProgram(program, 1, NULL));
    show_log(program);
    printf("  compile with a null option %d\n", nv.CompileProgram(program, 1, null_option));
    compile(program, 1, k_sm);
    show_lowered(program, "add");
    show_all(program);
    end(program);
    printf("version nowhere %d %d\n", nv.Version(NULL, NULL), nv.GetNumSupportedArchs(NULL));
    printf("archs nowhere %d\n", nv.GetSupportedArchs(NULL));
    printf("heap nowhere %d\n", nv.GetPCHHeapSize(NULL));
}

static void facts(void)
{
    int major = 0;
    int minor = 0;
    printf("version %d", nv.Version(&major, &minor));
    printf(": %d.%d\n", major, minor);
    int count = 0;
    printf("archs %d", nv.GetNumSupportedArchs(&count));
    int* all = (int*)calloc((size_t)count, sizeof *all);
    printf(" %d %d:", count, nv.GetSupportedArchs(all));
    for (int i = 0; i < count; ++i)
        printf(" %d", all[i]);
    printf("\n");
    free(all);
    for (int code = -1; code < 25; ++code)
        printf("error %d: %s\n", code, nv.GetErrorString(code));
    size_t heap = 0;
    printf("heap %d", nv.GetPCHHeapSize(&heap));
    printf(" %zu; set %d; get %d", heap, nv.SetPCHHeapSize(heap + 65536), nv.GetPCHHeapSize(&heap));
    printf(" %zu\n", heap);
    // A library that another stands in for may show it without being able to.
    Program program = NULL;
    size_t size = 0;
    nv.CreateProgram(&program, k_plain, "tile.cu", 0, NULL, NULL);
    printf("nvvm %s\n", nv.GetNVVMSize ? "there" : "absent");
    printf("tile ir %s\n", nv.GetTileIRSize && nv.GetTileIRSize(program, &size) == 0 ? "to be had" : "not to be had");
    nv.DestroyProgram(&program);
}

static void* compile_in_thread(void* text)
{
    char name[32];
    snprintf(name, sizeof name, "thread_%s.cu", (const char*)text);
    char define[32];
    snprintf(define, sizeof define, "-DN=%s", (const char*)text);
    const char* options[] = {"-arch=sm_80", define};
    Program program = NULL;
    char* line = (char*)malloc(200);
    const int created = nv.CreateProgram(&program, k_plain, name, 0, NULL, NULL);
    const int compiled = nv.CompileProgram(program, 2, options);
    size_t size = 0;
    nv.GetCUBINSize(program, &size);
    char* cubin = (char*)malloc(size + 1);
    nv.GetCUBIN(program, cubin);
    snprintf(line, 200, "thread %s: %d %d %zu %016llx", (const char*)text, created, compiled, size,
             (unsigned long long)hash(cubin, size));
    free(cubin);
    nv.DestroyProgram(&program);
    return line;
}

static void threads(void)
{
    static char names[8][4];
    pthread_t all[8];
    for (int i = 0; i < 8; ++i) {
        snprintf(names[i], sizeof names[i], "%d", i % 4);
        pthread_create(&all[i], NULL, compile_in_thread, names[i]);
    }
    for (int i = 0; i < 8; ++i) {
        void* line = NULL;
        pthread_join(all[i], &line);
        puts((const char*)line);
        free(line);
    }
}

static void forked_children(void)
{
    for (int i = 0; i < 3; ++i) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            char text[16];
            snprintf(text, sizeof text, "%d", i + 10);
            char* line = (char*)compile_in_thread(text);
            printf("child: %s\n", line);
            free(line);
            exit(i);  // not _exit: what is to happen at the end of a process happens
        }
        int status = 0;
        waitpid(child, &status, 0);
        printf("child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
}

static void show_loaded(void)
{
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (fgets(line, sizeof line, maps)) {
        char* path = strchr(line, '/');
        if (path && strstr(path, "nvrtc") && strstr(line, " 00000000 "))
            fputs(path, stderr);
    }
    fclose(maps);
}

// Each time in a program of its own.
static int compile_file(const char* source, const char* out, int times)
{
    const char* options[] = {"--gpu-architecture=compute_80"};
    static char text[1 << 16];
    FILE* file = fopen(source, "rb");
    if (!file || fread(text, 1, sizeof text - 1, file) == 0 || fclose(file) != 0)
        return 2;
    for (int i = 0; i < times; ++i) {
        Program program = NULL;
        size_t size = 0;
        if (nv.CreateProgram(&program, text, "k.cu", 0, NULL, NULL) != 0)
            return 3;
        const int status = nv.CompileProgram(program, 1, options);
        if (status != 0)
            return 10 + status;
        nv.GetPTXSize(program, &size);
        char* const ptx = (char*)malloc(size);
        file = fopen(out, "wb");
        if (nv.GetPTX(program, ptx) != 0 || !file || fwrite(ptx, 1, size - 1, file) != size - 1 || fclose(file) != 0)
            return 4;
        free(ptx);
        nv.DestroyProgram(&program);
    }
    return 0;
}

int main(int count, char** arguments)
{
#ifdef EVERY_CALL_LINKED
    void* library = RTLD_DEFAULT;
    int major = 0;
    int minor = 0;
    nvrtcVersion(&major, &minor);
#else
    void* library = open_library(count > 1 ? arguments[1] : "no library is named");
#endif
    find(library);
    if (count == 5)
        return compile_file(arguments[2], arguments[3], atoi(arguments[4]));
    const char* part = getenv("EVERY_CALL_PART");
    const char* elsewhere = getenv("EVERY_CALL_GOES_TO");
    if (elsewhere && chdir(elsewhere) != 0)
        return 2;
    if (part && strcmp(part, "past") == 0) {
        past_the_cache();
        return 0;
    }
    if (part && strcmp(part, "plain") == 0) {
        compile_and_show("plain", k_plain, "plain.cu", 1, k_sm);
        show_loaded();
        return 0;
    }
    if (part && strcmp(part, "pch") == 0) {
        const char* pch[] = {"-arch=sm_80", "--pch"};
        precompiled(2, pch);
        return 0;
    }
    ordinary_compiles();
    compiles_in_a_row();
    threads();
    forked_children();
    if (part && strcmp(part, "compiles") == 0) {
        show_loaded();
        return 0;
    }
    callbacks();
    facts();
    wrong_use();
    inner_door();
#ifndef EVERY_CALL_LINKED
    if (elsewhere)
        return 0;  // what is opened by a path from where it was can be opened once
    printf("close %d\n", dlclose(library));
    library = open_library(arguments[1]);
    find(library);
    threads();
#endif
    return 0;
}
