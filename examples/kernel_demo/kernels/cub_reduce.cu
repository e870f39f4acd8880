// The same sum through CUB: six hundred headers for a few lines.
#include <cub/block/block_reduce.cuh>

extern "C" __global__ void cub_reduce(const float* x, float* sum, int n)
{
    using Reduce = cub::BlockReduce<float, 256>;
    __shared__ typename Reduce::TempStorage storage;
    float mine = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        mine += x[i];
    const float all = Reduce(storage).Sum(mine);
    if (threadIdx.x == 0)
        *sum = all;
}
