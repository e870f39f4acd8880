// A CUDA driver that finds no device, as the real one does where CUDA_VISIBLE_DEVICES hides them all. Its name inside
// is libcuda.so.1, so that whoever asks for that gets this one once it is loaded.

extern "C" {

#pragma GCC visibility push(default)

int cuInit(unsigned /*flags*/)
{
    return 100;  // CUDA_ERROR_NO_DEVICE
}

int not_initialised()
{
    return 3;
}

// Nobody gets as far as these: they are all one function, by the names that a driver has to have.
using StandIn = int();
[[gnu::alias("not_initialised")]] StandIn cuDriverGetVersion, cuGetErrorName, cuGetErrorString, cuDeviceGetCount,
    cuDeviceGet, cuDeviceGetAttribute, cuDeviceGetName, cuDeviceTotalMem_v2, cuCtxCreate_v2, cuCtxDestroy_v2,
    cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease_v2, cuCtxGetCurrent, cuCtxSetCurrent, cuCtxPushCurrent_v2,
    cuCtxPopCurrent_v2, cuCtxGetDevice, cuModuleLoadData, cuModuleLoadDataEx, cuModuleUnload, cuModuleGetFunction,
    cuFuncGetAttribute, cuFuncSetAttribute, cuLaunchKernel, cuThreadExchangeStreamCaptureMode, cuStreamIsCapturing,
    cuMemGetInfo_v2, cuMemAlloc_v2, cuMemFree_v2, cuMemHostAlloc, cuMemFreeHost, cuPointerGetAttribute,
    cuMemcpyHtoDAsync_v2, cuMemcpyDtoHAsync_v2, cuMemcpyPeerAsync, cuStreamCreate, cuStreamDestroy_v2,
    cuStreamSynchronize, cuStreamWaitEvent, cuEventCreate, cuEventDestroy_v2, cuEventRecord, cuEventQuery,
    cuEventElapsedTime;

#pragma GCC visibility pop
}
