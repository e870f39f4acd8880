// The sum of all elements, added up by warps and then by blocks.
extern "C" __global__ void reduce(const float* x, float* sum, int n)
{
    __shared__ float of_warp[32];
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += x[i];
    for (int step = 16; step > 0; step /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, step);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = threadIdx.x < (blockDim.x + 31) / 32 ? of_warp[threadIdx.x] : 0;
        for (int step = 16; step > 0; step /= 2)
            mine += __shfl_down_sync(0xffffffffu, mine, step);
        if (threadIdx.x == 0)
            atomicAdd(sum, mine);
    }
}
