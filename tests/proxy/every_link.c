// Uses every nvJitLink call, rightly and wrongly, under both spellings, and prints what came back. It knows nothing of
// Hearth.
//
//   every_link LIBRARY FOLDER        with the one that dlopen(LIBRARY) gives; FOLDER is for files

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* Link;

static struct {
    int (*Create)(Link*, uint32_t, const char* const*);
    int (*Destroy)(Link*);
    int (*AddData)(Link, int, const void*, size_t, const char*);
    int (*AddFile)(Link, int, const char*);
    int (*Complete)(Link);
    int (*GetLinkedCubinSize)(Link, size_t*);
    int (*GetLinkedCubin)(Link, void*);
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

static void* find(void* library, const char* name, int versioned)
{
    char spelling[100];
    snprintf(spelling, sizeof spelling, versioned ? "__nvJitLink%s_%s" : "nvJitLink%s", name, VERSION);
    return dlsym(library, spelling);
}

static void find_functions(void* library, int versioned)
{
#define FIND(name) *(void**)&nv.name = find(library, #name, versioned)
    FIND(Create);
    FIND(Destroy);
    FIND(AddData);
    FIND(AddFile);
    FIND(Complete);
    FIND(GetLinkedCubinSize);
    FIND(GetLinkedCubin);
    FIND(GetLinkedPtxSize);
    FIND(GetLinkedPtx);
    FIND(GetErrorLogSize);
    FIND(GetErrorLog);
    FIND(GetInfoLogSize);
    FIND(GetInfoLog);
    *(void**)&nv.Version = dlsym(library, "nvJitLinkVersion");
}

static uint64_t hash(const void* bytes, size_t size)
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < size; ++i)
        sum = (sum ^ ((const unsigned char*)bytes)[i]) * 1099511628211u;
    return sum;
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

static void show(Link link)
{
    size_t size = 4711;
    int sized = nv.GetLinkedCubinSize(link, &size);
    char* bytes = calloc(size + 64, 1);
    int got = nv.GetLinkedCubin(link, bytes);
    printf("  cubin %d %zu %d %016llx\n", sized, size, got, (unsigned long long)hash(bytes, size + 64));
    free(bytes);
    size = 4711;
    sized = nv.GetLinkedPtxSize(link, &size);
    bytes = calloc(size + 64, 1);
    got = nv.GetLinkedPtx(link, bytes);
    printf("  ptx %d %zu %d %016llx\n", sized, size, got, (unsigned long long)hash(bytes, size + 64));
    free(bytes);
    size = 0;
    sized = nv.GetErrorLogSize(link, &size);
    bytes = calloc(size + 64, 1);
    got = nv.GetErrorLog(link, bytes);
    printf("  errors %d %zu %d\n", sized, size, got);
    print_log(bytes);
    free(bytes);
    size = 0;
    sized = nv.GetInfoLogSize(link, &size);
    bytes = calloc(size + 64, 1);
    got = nv.GetInfoLog(link, bytes);
    printf("  information %d %d\n", sized, got);
    print_log(bytes);
    free(bytes);
}

static Link create(const char* what, uint32_t count, const char* const* options)
{
    Link link = NULL;
    printf("%s: create %d", what, nv.Create(&link, count, options));
    printf(" %s\n", link ? "there" : "none");
    return link;
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
    printf("  complete %d\n", nv.Complete(link));
    show(link);
    end(link);

    // The zero behind it is there, but not counted.
    link = create("without its zero", 1, plain);
    printf("  add %d\n", nv.AddData(link, ptx, k_ptx, sizeof k_ptx - 1, "first.ptx"));
    printf("  complete %d\n", nv.Complete(link));
    show(link);
    end(link);

    link = create("two, verbose", 2, verbose);
    printf("  add %d\n", nv.AddData(link, ptx, k_ptx, sizeof k_ptx, "first.ptx"));
    printf("  add %d\n", nv.AddData(link, any, k_other, sizeof k_other, NULL));
    printf("  complete %d\n", nv.Complete(link));
    show(link);
    end(link);

    link = create("a file", 1, plain);
    printf("  add %d\n", nv.AddFile(link, ptx, good_file));
    printf("  complete %d\n", nv.Complete(link));
    show(link);
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
    printf("  complete %d\n", nv.Complete(link));
    show(link);
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
    find_functions(library, 0);
    unsigned major = 0;
    unsigned minor = 0;
    printf("version %d", nv.Version(&major, &minor));
    printf(" %u.%u\n", major, minor);
    all(arguments[2]);
    find_functions(library, 1);
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
