// A CUDA driver that finds no device, as the real one does where CUDA_VISIBLE_DEVICES hides them all. Its name inside
// is libcuda.so.1, so that whoever asks for that gets this one once it is loaded.

extern "C" {

[[gnu::visibility("default")]] int cuInit(unsigned /*flags*/)
{
    return 100;  // CUDA_ERROR_NO_DEVICE
}

// Nobody gets as far as these.
#define HEARTH_STAND_IN(name)                                                                                          \
    [[gnu::visibility("default")]] int name()                                                                          \
    {                                                                                                                  \
        return 3;                                                                                                      \
    }
HEARTH_STAND_IN(cuDriverGetVersion)
HEARTH_STAND_IN(cuGetErrorName)
HEARTH_STAND_IN(cuGetErrorString)
HEARTH_STAND_IN(cuDeviceGetCount)
HEARTH_STAND_IN(cuDeviceGet)
HEARTH_STAND_IN(cuDeviceGetAttribute)
HEARTH_STAND_IN(cuDeviceGetName)
HEARTH_STAND_IN(cuDeviceTotalMem_v2)
HEARTH_STAND_IN(cuCtxCreate_v2)
HEARTH_STAND_IN(cuCtxDestroy_v2)
HEARTH_STAND_IN(cuDevicePrimaryCtxRetain)
HEARTH_STAND_IN(cuDevicePrimaryCtxRelease_v2)
HEARTH_STAND_IN(cuCtxGetCurrent)
HEARTH_STAND_IN(cuCtxSetCurrent)
HEARTH_STAND_IN(cuCtxPushCurrent_v2)
HEARTH_STAND_IN(cuCtxPopCurrent_v2)
HEARTH_STAND_IN(cuCtxGetDevice)
HEARTH_STAND_IN(cuModuleLoadData)
HEARTH_STAND_IN(cuModuleLoadDataEx)
HEARTH_STAND_IN(cuModuleUnload)
HEARTH_STAND_IN(cuModuleGetFunction)
HEARTH_STAND_IN(cuFuncGetAttribute)
HEARTH_STAND_IN(cuFuncSetAttribute)
HEARTH_STAND_IN(cuLaunchKernel)
HEARTH_STAND_IN(cuThreadExchangeStreamCaptureMode)
HEARTH_STAND_IN(cuStreamIsCapturing)
HEARTH_STAND_IN(cuMemGetInfo_v2)
HEARTH_STAND_IN(cuMemAlloc_v2)
HEARTH_STAND_IN(cuMemFree_v2)
HEARTH_STAND_IN(cuMemHostAlloc)
HEARTH_STAND_IN(cuMemFreeHost)
HEARTH_STAND_IN(cuPointerGetAttribute)
HEARTH_STAND_IN(cuMemcpyHtoDAsync_v2)
HEARTH_STAND_IN(cuMemcpyDtoHAsync_v2)
HEARTH_STAND_IN(cuMemcpyPeerAsync)
HEARTH_STAND_IN(cuStreamCreate)
HEARTH_STAND_IN(cuStreamDestroy_v2)
HEARTH_STAND_IN(cuStreamSynchronize)
HEARTH_STAND_IN(cuStreamWaitEvent)
HEARTH_STAND_IN(cuEventCreate)
HEARTH_STAND_IN(cuEventDestroy_v2)
HEARTH_STAND_IN(cuEventRecord)
HEARTH_STAND_IN(cuEventQuery)
HEARTH_STAND_IN(cuEventElapsedTime)
#undef HEARTH_STAND_IN
}
