// c = a * b for square matrices.
kernel void gemm(global const float* a, global const float* b, global float* c, int n)
{
    const int row = get_global_id(1);
    const int column = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
