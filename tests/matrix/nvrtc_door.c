// A program that knows nothing of Hearth: nvrtc_door LIBRARY SOURCE OUT TIMES. Compiles the source so many times, in
// programs of their own, and writes the PTX. With DOOR_LINKED it is linked with libnvrtc, and LIBRARY is not looked at.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct _nvrtcProgram* nvrtcProgram;
#ifdef DOOR_LINKED
int nvrtcCreateProgram(nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*);
int nvrtcCompileProgram(nvrtcProgram, int, const char* const*);
int nvrtcGetPTXSize(nvrtcProgram, size_t*);
int nvrtcGetPTX(nvrtcProgram, char*);
int nvrtcDestroyProgram(nvrtcProgram*);
#define FIND(name) name
#else
static void* g_library;
#define FIND(name) find(#name)
static void* find(const char* name)
{
    void* const found = dlsym(g_library, name);
    if (found == NULL) {
        fprintf(stderr, "nvrtc_door: %s\n", dlerror());
        exit(2);
    }
    return found;
}
#endif

static char* read_all(const char* path)
{
    FILE* const file = fopen(path, "rb");
    char* const text = calloc(1, 1 << 20);
    if (file == NULL || text == NULL || fread(text, 1, (1 << 20) - 1, file) == 0)
        exit(2);
    fclose(file);
    return text;
}

int main(int count, char** words)
{
    if (count != 5)
        return 2;
#ifndef DOOR_LINKED
    g_library = dlopen(words[1], RTLD_NOW);
    if (g_library == NULL) {
        fprintf(stderr, "nvrtc_door: %s\n", dlerror());
        return 2;
    }
#endif
    int (*create)(nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*) =
        FIND(nvrtcCreateProgram);
    int (*compile)(nvrtcProgram, int, const char* const*) = FIND(nvrtcCompileProgram);
    int (*size_of)(nvrtcProgram, size_t*) = FIND(nvrtcGetPTXSize);
    int (*get)(nvrtcProgram, char*) = FIND(nvrtcGetPTX);
    int (*destroy)(nvrtcProgram*) = FIND(nvrtcDestroyProgram);
    char* const source = read_all(words[2]);
    const char* const options[] = {"--gpu-architecture=compute_80"};
    for (int i = 0; i < atoi(words[4]); ++i) {
        nvrtcProgram program;
        size_t size = 0;
        if (create(&program, source, "k.cu", 0, NULL, NULL) != 0)
            return 3;
        const int status = compile(program, 1, options);
        if (status != 0)
            return 10 + status;
        if (size_of(program, &size) != 0)
            return 4;
        char* const ptx = malloc(size);
        FILE* const out = fopen(words[3], "wb");
        if (get(program, ptx) != 0 || out == NULL || fwrite(ptx, 1, size - 1, out) != size - 1 || fclose(out) != 0)
            return 5;
        free(ptx);
        destroy(&program);
    }
    free(source);
    return 0;
}
