/* A kernel, compiled once on this machine and launched: hearth.h with the CUDA driver.
 *
 *     saxpy_c [TARGET]     for TARGET (such as sm_90) or this machine's GPU; without one it only compiles
 */

#include <dlfcn.h>
#include <hearth/hearth.h>
#include <stdio.h>
#include <string.h>

static const char k_source[] = "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n)\n"
                               "{\n"
                               "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                               "    if (i < n)\n"
                               "        y[i] = a * x[i] + y[i];\n"
                               "}\n";

enum { k_count = 1024, k_block = 256 };

/* What of the driver is used here. It is loaded by name, so that this runs on machines without one, too. */
static struct {
    int (*Init)(unsigned);
    int (*DeviceGet)(int*, int);
    int (*DevicePrimaryCtxRetain)(void**, int);
    int (*CtxSetCurrent)(void*);
    int (*ModuleLoadData)(void**, const void*);
    int (*ModuleGetFunction)(void**, void*, const char*);
    int (*MemAlloc)(unsigned long long*, size_t);
    int (*MemcpyHtoD)(unsigned long long, const void*, size_t);
    int (*MemcpyDtoH)(void*, unsigned long long, size_t);
    int (*LaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**);
    int (*CtxSynchronize)(void);
} cu;

static int load_driver(void)
{
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 0;
    *(void**)&cu.Init = dlsym(driver, "cuInit");
    *(void**)&cu.DeviceGet = dlsym(driver, "cuDeviceGet");
    *(void**)&cu.DevicePrimaryCtxRetain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void**)&cu.CtxSetCurrent = dlsym(driver, "cuCtxSetCurrent");
    *(void**)&cu.ModuleLoadData = dlsym(driver, "cuModuleLoadData");
    *(void**)&cu.ModuleGetFunction = dlsym(driver, "cuModuleGetFunction");
    *(void**)&cu.MemAlloc = dlsym(driver, "cuMemAlloc_v2");
    *(void**)&cu.MemcpyHtoD = dlsym(driver, "cuMemcpyHtoD_v2");
    *(void**)&cu.MemcpyDtoH = dlsym(driver, "cuMemcpyDtoH_v2");
    *(void**)&cu.LaunchKernel = dlsym(driver, "cuLaunchKernel");
    *(void**)&cu.CtxSynchronize = dlsym(driver, "cuCtxSynchronize");
    return cu.Init && cu.Init(0) == 0;
}

/* 0: the GPU has added up right. */
static int launch(const void* image)
{
    static float x[k_count], y[k_count];
    float a = 2;
    int device = 0, count = k_count, i, wrong = 0;
    void *context = NULL, *module = NULL, *kernel = NULL;
    unsigned long long on_device[2] = {0, 0};
    void* arguments[4];
    arguments[0] = &a;
    arguments[1] = &on_device[0];
    arguments[2] = &on_device[1];
    arguments[3] = &count;
    for (i = 0; i < k_count; ++i) {
        x[i] = (float)i;
        y[i] = 1;
    }
    if (cu.DeviceGet(&device, 0) || cu.DevicePrimaryCtxRetain(&context, device) || cu.CtxSetCurrent(context) ||
        cu.ModuleLoadData(&module, image) || cu.ModuleGetFunction(&kernel, module, "saxpy") ||
        cu.MemAlloc(&on_device[0], sizeof x) || cu.MemAlloc(&on_device[1], sizeof y) ||
        cu.MemcpyHtoD(on_device[0], x, sizeof x) || cu.MemcpyHtoD(on_device[1], y, sizeof y) ||
        cu.LaunchKernel(kernel, k_count / k_block, 1, 1, k_block, 1, 1, 0, NULL, arguments, NULL) ||
        cu.CtxSynchronize() || cu.MemcpyDtoH(y, on_device[1], sizeof y))
        return 1;
    for (i = 0; i < k_count; ++i)
        wrong += y[i] != a * x[i] + 1;
    return wrong;
}

int main(int count, char** arguments)
{
    static const char* const k_outcomes[] = {"had it", "has compiled it", "waited for another's", "could not keep it"};
    hearth_cache* const cache = hearth_shared();
    hearth_nvrtc_program program = HEARTH_INIT(hearth_nvrtc_program);
    hearth_lease* lease = NULL;
    const int has_driver = load_driver();
    int wrong = 0;
    program.source = k_source;
    program.name = "saxpy.cu";
    program.target = count > 1 ? arguments[1] : has_driver ? "device" : "sm_90";
    if (hearth_nvrtc_compile(cache, &program, &lease) != HEARTH_OK) {
        fprintf(stderr, "saxpy_c: %s\n", hearth_error(cache));
        return 1;
    }
    if (hearth_lease_status(lease) != 0) {
        fputs(hearth_nvrtc_log(lease), stderr);
        return 1;
    }
    printf("%s for %s: the cache %s, %zu bytes\n", program.name, program.target,
           k_outcomes[hearth_lease_outcome(lease)], hearth_lease_bytes(lease, "cubin").size);
    if (has_driver && strcmp(program.target, "device") == 0) {
        wrong = launch(hearth_lease_bytes(lease, "cubin").data);
        printf("launched: %s\n", wrong == 0 ? "as it should be" : "WRONG");
    }
    hearth_release(lease);
    return wrong != 0;
}
