// Softmax of each row, one block a row: the largest first, so that nothing overflows.
extern "C" __global__ void softmax(const float* x, float* y, int columns)
{
    __shared__ float shared[256];
    const float* row = x + blockIdx.x * columns;
    float* out = y + blockIdx.x * columns;

    float largest = -3.4e38f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        largest = fmaxf(largest, row[i]);
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + step]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();

    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += expf(row[i] - largest);
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            shared[threadIdx.x] += shared[threadIdx.x + step];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[i] = expf(row[i] - largest) / shared[0];
}
