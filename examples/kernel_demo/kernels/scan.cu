// The running sums of at most 1024 elements, one block.
extern "C" __global__ void scan(const float* x, float* y, int n)
{
    __shared__ float sums[1024];
    sums[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        const float before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    if (threadIdx.x < n)
        y[threadIdx.x] = sums[threadIdx.x];
}
