// Uses every libNVVM call, rightly and wrongly, and prints what came back. It knows nothing of Hearth.
//
//   every_nvvm LIBRARY [LIBDEVICE]        with the one that dlopen(LIBRARY) gives; "-": inside this program
//
// EVERY_NVVM_PART says which part alone. plain: one program, without a mistake. loaded: it, and how many libnvvm were
// loaded. hidden: it, after functions that are not exported were asked for.

#define _GNU_SOURCE
#include "every.h"

#include <link.h>
#include <pthread.h>

typedef void* Program;

static struct {
    const char* (*GetErrorString)(int);
    int (*Version)(int*, int*);
    int (*IRVersion)(int*, int*, int*, int*);
    int (*CreateProgram)(Program*);
    int (*DestroyProgram)(Program*);
    int (*AddModuleToProgram)(Program, const char*, size_t, const char*);
    int (*LazyAddModuleToProgram)(Program, const char*, size_t, const char*);
    int (*CompileProgram)(Program, int, const char**);
    int (*VerifyProgram)(Program, int, const char**);
    int (*GetCompiledResultSize)(Program, size_t*);
    int (*GetCompiledResult)(Program, char*);
    int (*GetProgramLogSize)(Program, size_t*);
    int (*GetProgramLog)(Program, char*);
} nv;

#define LAYOUT                                                                                                         \
    "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-" \
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\ntarget triple = \"nvptx64-nvidia-cuda\"\n"
#define VERSION "!nvvmir.version = !{!1}\n!1 = !{i32 2, i32 0}\n"

static const char k_kernel[] = LAYOUT "define void @k(i32* %p) {\n  store i32 7, i32* %p\n  ret void\n}\n"
                                      "!nvvm.annotations = !{!0}\n"
                                      "!0 = !{void (i32*)* @k, !\"kernel\", i32 1}\n" VERSION;
static const char k_helper[] = LAYOUT "define i32 @helper(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n" VERSION;
static const char k_sine[] = LAYOUT "declare double @__nv_sin(double)\n"
                                    "define void @s(double* %p) {\n  %x = load double, double* %p\n"
                                    "  %y = call double @__nv_sin(double %x)\n  store double %y, double* %p\n"
                                    "  ret void\n}\n"
                                    "!nvvm.annotations = !{!0}\n"
                                    "!0 = !{void (double*)* @s, !\"kernel\", i32 1}\n" VERSION;
// Newer versions take it for newer targets only.
static const char k_opaque[] =
    LAYOUT "define ptx_kernel void @o(ptr %p) {\n  store i32 7, ptr %p\n  ret void\n}\n" VERSION;
static const char k_without_version[] = LAYOUT "define void @w() {\n  ret void\n}\n";
// Compiled, but refused by the verifier with a message of several lines.
static const char k_unverified[] = LAYOUT "define i32 @u() {\n  ret i32 1\n}\n"
                                          "!nvvm.annotations = !{!0}\n"
                                          "!0 = !{i32 ()* @u, !\"kernel\", i32 1}\n" VERSION;

static const char* g_plain[] = {"-arch=compute_80"};
static const char* g_several[] = {"-arch=compute_90", "-opt=0", "-g"};
static const char* g_newest[] = {"-arch=compute_100"};
static const char* g_lto[] = {"-arch=compute_80", "-gen-lto"};
static const char* g_unknown[] = {"-no-such-option"};
static const char* g_no_target[] = {"-arch=compute_1"};
static const char* g_missing[] = {"-arch=compute_80", NULL};

static void show(Program program)
{
    show_bytes("result", program, nv.GetCompiledResultSize, nv.GetCompiledResult);
    show_bytes("log", program, nv.GetProgramLogSize, nv.GetProgramLog);
    show_text(program, nv.GetProgramLogSize, nv.GetProgramLog);
}

static Program create(const char* what)
{
    Program program = NULL;
    printf("%s: create %d", what, nv.CreateProgram(&program));
    printf(" %s\n", program ? "there" : "none");
    return program;
}

// The library has its own copy: what becomes of ours does not matter.
static void add(Program program, const char* bytes, size_t size, const char* name, int lazily)
{
    char* const copy = malloc(size + 1);
    memcpy(copy, bytes, size);
    char* const copied_name = name ? strdup(name) : NULL;
    printf("  %s %d\n", lazily ? "add lazily" : "add",
           (lazily ? nv.LazyAddModuleToProgram : nv.AddModuleToProgram)(program, copy, size, copied_name));
    memset(copy, 1, size);
    free(copy);
    free(copied_name);
}

static void add_text(Program program, const char* text, const char* name)
{
    add(program, text, strlen(text), name, 0);
}

static void verify(Program program, int count, const char** options)
{
    printf("  verify %d\n", nv.VerifyProgram(program, count, options));
    show(program);
}

static void compile(Program program, int count, const char** options)
{
    printf("  compile %d\n", nv.CompileProgram(program, count, options));
    show(program);
}

static void end(Program program)
{
    printf("  destroy %d", nv.DestroyProgram(&program));
    printf(" %s\n", program ? "kept" : "null");
}

static void compile_and_end(Program program)
{
    compile(program, 1, g_plain);
    end(program);
}

static void once(const char* what, const char* text, int count, const char** options)
{
    Program program = create(what);
    add_text(program, text, "m");
    compile(program, count, options);
    end(program);
}

static void plain(void)
{
    Program program = create("plain");
    add_text(program, k_kernel, "kernel.ll");
    verify(program, 1, g_plain);
    compile_and_end(program);
}

static void good(const char* libdevice)
{
    plain();
    once("without verifying", k_kernel, 1, g_plain);
    once("several options", k_kernel, 3, g_several);
    once("no options", k_kernel, 0, NULL);
    once("the newest target", k_kernel, 1, g_newest);
    once("opaque pointers", k_opaque, 1, g_newest);
    once("LTO-IR", k_kernel, 2, g_lto);

    Program program = create("two modules");
    add_text(program, k_kernel, "kernel.ll");
    add_text(program, k_helper, NULL);
    compile_and_end(program);
    program = create("two modules in another order");
    add_text(program, k_helper, NULL);
    add_text(program, k_kernel, "kernel.ll");
    compile_and_end(program);
    program = create("a zero behind the text");
    add(program, k_kernel, sizeof k_kernel, "kernel.ll", 0);
    compile_and_end(program);

    if (!libdevice)
        return;
    char* const bytes = malloc(1 << 22);
    FILE* const file = fopen(libdevice, "rb");
    const size_t size = file ? fread(bytes, 1, 1 << 22, file) : 0;
    for (int lazily = 0; lazily < 2; ++lazily) {
        program = create("libdevice");
        add_text(program, k_sine, "sine.ll");
        add(program, bytes, size, "libdevice", lazily);
        verify(program, 1, g_plain);
        compile_and_end(program);
    }
    if (file)
        fclose(file);
    free(bytes);
}

static void bad(void)
{
    once("no function", "garbage", 1, g_plain);
    once("an unknown option", k_kernel, 1, g_unknown);
    once("an unknown target", k_kernel, 1, g_no_target);
    once("no version", k_without_version, 1, g_plain);
    once("pointers of another dialect", k_opaque, 1, g_plain);
    once("what the verifier refuses", k_unverified, 1, g_plain);
    once("fewer than no options", k_kernel, -1, g_plain);
    once("options that are not there", k_kernel, 1, NULL);
    once("an option that is not there", k_kernel, 2, g_missing);

    Program program = create("no module");
    verify(program, 1, g_plain);
    compile_and_end(program);
    program = create("verified and refused");
    add_text(program, k_unverified, "u.ll");
    verify(program, 1, g_plain);
    verify(program, 1, g_unknown);
    compile_and_end(program);
    program = create("only a lazy module");
    add(program, k_kernel, sizeof k_kernel - 1, "kernel.ll", 1);
    compile_and_end(program);
    program = create("a lazy module of text");
    add_text(program, k_kernel, "kernel.ll");
    add(program, k_helper, sizeof k_helper - 1, "helper.ll", 1);
    compile_and_end(program);
    program = create("no buffer");
    printf("  add %d\n", nv.AddModuleToProgram(program, NULL, 7, "n"));
    printf("  add lazily %d\n", nv.LazyAddModuleToProgram(program, NULL, 0, NULL));
    show(program);
    compile_and_end(program);
}

static void in_odd_order(void)
{
    Program program = create("before it is compiled");
    show(program);
    add_text(program, k_kernel, "kernel.ll");
    show(program);
    verify(program, 1, g_plain);
    compile(program, 1, g_plain);
    compile(program, 1, g_plain);
    compile(program, 1, g_newest);
    verify(program, 1, g_plain);
    add_text(program, k_helper, "helper.ll");
    show(program);
    compile(program, 1, g_plain);
    compile(program, 1, g_unknown);
    verify(program, 1, g_plain);
    add_text(program, k_without_version, "w.ll");
    verify(program, 1, g_plain);
    compile_and_end(program);

    size_t size = 4711;
    char byte = 'x';
    program = NULL;
    printf("no program: %d %d", nv.CreateProgram(NULL), nv.DestroyProgram(NULL));
    printf(" %d %d", nv.DestroyProgram(&program), nv.CompileProgram(NULL, 1, g_plain));
    printf(" %d %d", nv.VerifyProgram(NULL, 1, g_plain), nv.AddModuleToProgram(NULL, k_kernel, 7, "n"));
    printf(" %d %d", nv.LazyAddModuleToProgram(NULL, k_kernel, 7, "n"), nv.GetCompiledResultSize(NULL, &size));
    printf(" %d %d", nv.GetCompiledResult(NULL, &byte), nv.GetProgramLogSize(NULL, &size));
    printf(" %d, %zu %c\n", nv.GetProgramLog(NULL, &byte), size, byte);
    program = create("no place for the size");
    printf("  %d\n", nv.GetCompiledResultSize(program, NULL));
    end(program);
}

enum { k_threads = 8, k_rounds = 8 };

// Every thread compiles programs of its own. Returns the sum of all results.
static void* compile_apart(void* number)
{
    uintptr_t sum = 0;
    for (int round = 0; round < k_rounds; ++round) {
        char name[32];
        snprintf(name, sizeof name, "%p-%d.ll", number, round);
        Program program = NULL;
        size_t size = 0;
        int status = nv.CreateProgram(&program);
        status |= nv.AddModuleToProgram(program, k_kernel, sizeof k_kernel - 1, name);
        status |= nv.VerifyProgram(program, 1, g_plain);
        status |= nv.CompileProgram(program, 1, ((uintptr_t)number + round) % 2 ? g_plain : g_newest);
        nv.GetCompiledResultSize(program, &size);
        char* const result = malloc(size);
        nv.GetCompiledResult(program, result);
        sum = sum * 31 + hash(result, size) + (uintptr_t)status;
        free(result);
        nv.DestroyProgram(&program);
    }
    return (void*)sum;
}

static void in_threads(void)
{
    pthread_t threads[k_threads];
    for (uintptr_t i = 0; i < k_threads; ++i)
        pthread_create(&threads[i], NULL, compile_apart, (void*)i);
    for (int i = 0; i < k_threads; ++i) {
        void* sum = NULL;
        pthread_join(threads[i], &sum);
        printf("thread %d: %p\n", i, sum);
    }
}

static int count_libraries(struct dl_phdr_info* info, size_t size, void* seen)
{
    (void)size;
    *(int*)seen += strstr(info->dlpi_name, "libnvvm") != NULL;
    return 0;
}

int main(int count, char** arguments)
{
    if (count < 2)
        return 2;
    void* const library = open_library(arguments[1]);
    find_functions(library, &nv, "nvvm",
                   "GetErrorString Version IRVersion CreateProgram DestroyProgram AddModuleToProgram "
                   "LazyAddModuleToProgram CompileProgram VerifyProgram GetCompiledResultSize GetCompiledResult "
                   "GetProgramLogSize GetProgramLog",
                   "");
    const char* const part = getenv("EVERY_NVVM_PART");
    if (part && strcmp(part, "hidden") == 0) {
        void* (*handle)(unsigned) = NULL;
        *(void**)&handle = dlsym(library, "__nvvmHandle");
        printf("hidden %s\n", handle && handle(0x2080) ? "there" : "absent");
    }
    if (part) {
        plain();
        int libraries = 0;
        dl_iterate_phdr(count_libraries, &libraries);
        if (strcmp(part, "loaded") == 0)
            printf("%d libnvvm\n", libraries);
        return 0;
    }
    int numbers[4] = {0};
    printf("version %d", nv.Version(numbers, numbers + 1));
    printf(" %d.%d\n", numbers[0], numbers[1]);
    printf("IR version %d", nv.IRVersion(numbers, numbers + 1, numbers + 2, numbers + 3));
    printf(" %d.%d %d.%d\n", numbers[0], numbers[1], numbers[2], numbers[3]);
    printf("without places %d %d\n", nv.Version(NULL, NULL), nv.IRVersion(NULL, NULL, NULL, NULL));
    int (*llvm)(const char*, int*) = NULL;
    *(void**)&llvm = dlsym(library, "nvvmLLVMVersion");
    if (llvm && getenv("EVERY_NVVM_LLVM")) {
        printf("LLVM version %d", llvm("compute_80", numbers));
        printf(" %d, %d\n", numbers[0], llvm("no such", numbers));
    }
    for (int i = -1; i < 13; ++i)
        printf("%d %s\n", i, nv.GetErrorString(i));
    good(count > 2 ? arguments[2] : NULL);
    bad();
    in_odd_order();
    in_threads();
    return 0;
}
