// Uses every nvJitLink call, rightly and wrongly, under both spellings, and prints what came back. It knows nothing of
// Hearth.
//
//   every_link LIBRARY FOLDER        with the one that dlopen(LIBRARY) gives; FOLDER is for files

#define _GNU_SOURCE
#include "every.h"

typedef void* Link;

static struct {
    int (*Create)(Link*, uint32_t, const char* const*);
    int (*Destroy)(Link*);
    int (*AddData)(Link, int, const void*, size_t, const char*);
    int (*AddFile)(Link, int, const char*);
    int (*Complete)(Link);
    int (*GetLinkedCubinSize)(Link, size_t*);
    int (*GetLinkedCubin)(Link, char*);
    int (*GetLinkedPtxSize)(Link, size_t*);
    int (*GetLinkedPtx)(Link, char*);
    int (*GetErrorLogSize)(Link, size_t*);
    int (*GetErrorLog)(Link, char*);
    int (*GetInfoLogSize)(Link, size_t*);
    int (*GetInfoLog)(Link, char*);
    int (*Version)(unsigned*, unsigned*);
} nv;

static const char k_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry first(.param .u64 p) { ret; }\n";
static const char k_other[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry second(.param .u64 p) { ret; }\n";

static const char* const k_functions[] = {
    "Create",         "Destroy",          "AddData",      "AddFile",         "Complete",    "GetLinkedCubinSize",
    "GetLinkedCubin", "GetLinkedPtxSize", "GetLinkedPtx", "GetErrorLogSize", "GetErrorLog", "GetInfoLogSize",
    "GetInfoLog"};

static void find(void* library, const char* prefix, const char* suffix)
{
    find_functions(library, &nv, prefix, k_functions, sizeof k_functions / sizeof *k_functions, suffix);
    *(void**)&nv.Version = dlsym(library, "nvJitLinkVersion");
}

// Lines that tell a time are never the same twice.
static void print_log(const char* text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        if (!memmem(text, length, "Compile time", 12))
            printf("    |%.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

// The size of what tells times is not the same twice either.
static void show_log(const char* name, Link link, int (*size_of)(Link, size_t*), int (*get)(Link, char*),
                     int tells_times)
{
    size_t size = 0;
    const int sized = size_of(link, &size);
    char* const text = calloc(size + 64, 1);
    printf("  %s %d %zu %d\n", name, sized, tells_times ? 0 : size, get(link, text));
    print_log(text);
    free(text);
}

static void show(Link link)
{
    show_bytes("cubin", link, nv.GetLinkedCubinSize, nv.GetLinkedCubin);
    show_bytes("ptx", link, nv.GetLinkedPtxSize, nv.GetLinkedPtx);
    show_log("errors", link, nv.GetErrorLogSize, nv.GetErrorLog, 0);
    show_log("information", link, nv.GetInfoLogSize, nv.GetInfoLog, 1);
}

static Link create(const char* what, uint32_t count, const char* const* options)
{
    Link link = NULL;
    printf("%s: create %d", what, nv.Create(&link, count, options));
    printf(" %s\n", link ? "there" : "none");
    return link;
}

static void complete(Link link)
{
    printf("  complete %d\n", nv.Complete(link));
    show(link);
}

static void end(Link link)
{
    printf("  destroy %d", nv.Destroy(&link));
    printf(" %s\n", link ? "kept" : "null");
}

static void all(const char* folder)
{
    enum { cubin = 1, ptx = 2, any = 10 };
    const char* plain[] = {"-arch=sm_80"};
    const char* verbose[] = {"-arch=sm_80", "-verbose"};
    const char* unknown[] = {"-no-such-option"};
    const char* without_arch[] = {"-O3"};
    char good_file[4096];
    char missing_file[4096];
    snprintf(good_file, sizeof good_file, "%s/good.ptx", folder);
    snprintf(missing_file, sizeof missing_file, "%s/missing.ptx", folder);
    FILE* file = fopen(good_file, "w");
    fputs(k_ptx, file);
    fclose(file);

    Link link = create("plain", 1, plain);
    show(link);
    printf("  add %d\n", nv.AddData(link, ptx, k_ptx, sizeof k_ptx, "first.ptx"));
    show(link);
    complete(link);
    end(link);

    // The zero behind it is there, but not counted.
    link = create("without its zero", 1, plain);
    printf("  add %d\n", nv.AddData(link, ptx, k_ptx, sizeof k_ptx - 1, "first.ptx"));
    complete(link);
    end(link);

    link = create("two, verbose", 2, verbose);
    printf("  add %d\n", nv.AddData(link, ptx, k_ptx, sizeof k_ptx, "first.ptx"));
    printf("  add %d\n", nv.AddData(link, any, k_other, sizeof k_other, NULL));
    complete(link);
    end(link);

    link = create("a file", 1, plain);
    printf("  add %d\n", nv.AddFile(link, ptx, good_file));
    complete(link);
    end(link);

    link = create("unknown option", 1, unknown);
    if (link) {
        show(link);
        end(link);
    }
    link = create("no target", 1, without_arch);
    if (link) {
        show(link);
        end(link);
    }
    link = create("garbage", 1, plain);
    printf("  add %d\n", nv.AddData(link, ptx, "garbage", 8, "g.ptx"));
    show(link);
    printf("  add as a cubin %d\n", nv.AddData(link, cubin, k_ptx, sizeof k_ptx, "c"));
    printf("  add nothing %d\n", nv.AddData(link, ptx, NULL, 0, NULL));
    printf("  add a missing file %d\n", nv.AddFile(link, ptx, missing_file));
    printf("  add a directory %d\n", nv.AddFile(link, ptx, folder));
    show(link);
    complete(link);
    end(link);
}

int main(int count, char** arguments)
{
    if (count != 3)
        return 2;
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "every_link: %s\n", dlerror());
        return 2;
    }
    find(library, "nvJitLink", "");
    unsigned major = 0;
    unsigned minor = 0;
    printf("version %d", nv.Version(&major, &minor));
    printf(" %u.%u\n", major, minor);
    all(arguments[2]);
    find(library, "__nvJitLink", "_" VERSION);
    all(arguments[2]);
    if (getenv("EVERY_LINK_MISUSE")) {
        Link link = NULL;
        size_t size = 0;
        const char* plain[] = {"-arch=sm_80"};
        printf("misuse: %d %d %d %d %d\n", nv.Create(NULL, 1, plain), nv.Create(&link, 0, NULL), nv.Destroy(NULL),
               nv.Destroy(&link), nv.Complete(NULL));
        printf("  %d %d\n", nv.GetLinkedCubinSize(NULL, &size), nv.AddData(NULL, 2, k_ptx, sizeof k_ptx, "x"));
        link = create("twice", 1, plain);
        printf("  add %d\n", nv.AddData(link, 2, k_ptx, sizeof k_ptx, "first.ptx"));
        printf("  complete %d\n", nv.Complete(link));
        printf("  complete again %d\n", nv.Complete(link));
        show(link);
        end(link);
    }
    return 0;
}
