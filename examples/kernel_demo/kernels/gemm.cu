// c = a * b for square matrices, a tile of TILE x TILE at a time in shared memory.
template <int TILE>
__global__ void gemm(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < n; start += TILE) {
        const int across = start + threadIdx.x;
        const int down = start + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < n && across < n ? a[row * n + across] : 0;
        tile_b[threadIdx.y][threadIdx.x] = down < n && column < n ? b[down * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k)
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}
