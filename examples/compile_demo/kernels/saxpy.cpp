// y = a x + y, over contiguous and strided vectors, in single, double and complex precision.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

template <class T>
struct Strided {
    std::span<T> data;
    std::size_t stride = 1;

    std::size_t size() const { return (data.size() + stride - 1) / stride; }
    T& operator[](std::size_t i) const { return data[i * stride]; }
};

template <class T>
void axpy(T a, std::span<const T> x, std::span<T> y)
{
    if (x.size() != y.size())
        throw std::invalid_argument("x has " + std::to_string(x.size()) + " elements, y " + std::to_string(y.size()));
    std::transform(x.begin(), x.end(), y.begin(), y.begin(), [a](const T& xi, const T& yi) { return a * xi + yi; });
}

template <class T>
void axpy(T a, Strided<const T> x, Strided<T> y)
{
    const std::size_t n = std::min(x.size(), y.size());
    for (std::size_t i = 0; i < n; ++i)
        y[i] += a * x[i];
}

template <class T>
T dot(std::span<const T> x, std::span<const T> y)
{
    return std::transform_reduce(x.begin(), x.end(), y.begin(), T{}, std::plus<>{}, std::multiplies<>{});
}

template <class T>
std::vector<T> combine(std::span<const T> coefficients, const std::vector<std::vector<T>>& vectors)
{
    std::vector<T> sum(vectors.empty() ? 0 : vectors.front().size());
    for (std::size_t i = 0; i < vectors.size(); ++i)
        axpy<T>(coefficients[i], std::span<const T>(vectors[i]), std::span<T>(sum));
    return sum;
}

#define INSTANTIATE(T)                                                                                                 \
    template void axpy<T>(T, std::span<const T>, std::span<T>);                                                        \
    template void axpy<T>(T, Strided<const T>, Strided<T>);                                                            \
    template T dot<T>(std::span<const T>, std::span<const T>);                                                         \
    template std::vector<T> combine<T>(std::span<const T>, const std::vector<std::vector<T>>&);

INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)
