// A service that compiles its kernels when it starts, and knows nothing of Hearth: TARGET INCLUDE_DIRECTORY. Prints
// what it got; ends with 1 where a compile failed.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void* Program;

static void* library;
#define FUNCTION(name, ...) ((int (*)(__VA_ARGS__))dlsym(library, name))

static int compile(const char* name, const char* source, const char* expression, const char* target, const char* include)
{
    Program program = NULL;
    const char* options[] = {target, include, "-std=c++17"};
    FUNCTION("nvrtcCreateProgram", Program*, const char*, const char*, int, const char* const*, const char* const*)
    (&program, source, name, 0, NULL, NULL);
    if (expression != NULL)
        FUNCTION("nvrtcAddNameExpression", Program, const char*)(program, expression);
    const int status = FUNCTION("nvrtcCompileProgram", Program, int, const char* const*)(program, 3, options);
    size_t size = 0;
    if (status != 0) {
        FUNCTION("nvrtcGetProgramLogSize", Program, size_t*)(program, &size);
        char* log = malloc(size + 1);
        FUNCTION("nvrtcGetProgramLog", Program, char*)(program, log);
        fprintf(stderr, "%s: %d %s\n", name, status, log);
        free(log);
        return 1;
    }
    FUNCTION("nvrtcGetCUBINSize", Program, size_t*)(program, &size);
    unsigned char* code = malloc(size);
    FUNCTION("nvrtcGetCUBIN", Program, char*)(program, (char*)code);
    unsigned long sum = 14695981039346656037UL;
    for (size_t i = 0; i < size; ++i)
        sum = (sum ^ code[i]) * 1099511628211UL;
    const char* lowered = "";
    if (expression != NULL)
        FUNCTION("nvrtcGetLoweredName", Program, const char*, const char**)(program, expression, &lowered);
    printf("%s %zu %016lx %s\n", name, size, sum, lowered);
    free(code);
    FUNCTION("nvrtcDestroyProgram", Program*)(&program);
    return 0;
}

int main(int argc, char** argv)
{
    if (argc != 3)
        return 2;
    const char* names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    for (int i = 0; i < 2 && library == NULL; ++i)
        library = dlopen(names[i], RTLD_NOW);
    if (library == NULL)
        return 77;
    char target[64];
    char include[4096];
    snprintf(target, sizeof target, "-arch=%s", argv[1]);
    snprintf(include, sizeof include, "-I%s", argv[2]);
    int failed = compile("saxpy.cu",
                         "extern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y)"
                         "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }",
                         NULL, target, include);
    failed |= compile("scale.cu", "#include <scale.h>\n", "scale<float>", target, include);
    return failed;
}
