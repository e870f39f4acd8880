// Iterative radix-2 fast Fourier transform, with the convolution and the spectrum built on it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

template <class T>
class Transform {
public:
    explicit Transform(std::size_t size) : m_twiddles(size / 2), m_reversed(size)
    {
        if (!std::has_single_bit(size))
            throw std::invalid_argument("a transform of " + std::to_string(size) + " points; it takes a power of two");
        for (std::size_t i = 0; i < m_twiddles.size(); ++i)
            m_twiddles[i] = std::polar<T>(1, -2 * std::numbers::pi_v<T> * static_cast<T>(i) / static_cast<T>(size));
        const int bits = std::countr_zero(size);
        for (std::size_t i = 0; i < size; ++i)
            for (int bit = 0; bit < bits; ++bit)
                m_reversed[i] |= (i >> bit & 1U) << (bits - 1 - bit);
    }

    void forward(std::vector<std::complex<T>>& values) const
    {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (i < m_reversed[i])
                std::swap(values[i], values[m_reversed[i]]);
        for (std::size_t half = 1; half < values.size(); half *= 2) {
            const std::size_t step = values.size() / (2 * half);
            for (std::size_t start = 0; start < values.size(); start += 2 * half)
                for (std::size_t i = 0; i < half; ++i) {
                    const std::complex<T> odd = m_twiddles[i * step] * values[start + i + half];
                    const std::complex<T> even = values[start + i];
                    values[start + i] = even + odd;
                    values[start + i + half] = even - odd;
                }
        }
    }

    void inverse(std::vector<std::complex<T>>& values) const
    {
        std::reverse(values.begin() + 1, values.end());
        forward(values);
        for (auto& value : values)
            value /= static_cast<T>(values.size());
    }

private:
    std::vector<std::complex<T>> m_twiddles;
    std::vector<std::size_t> m_reversed;
};

template <class T>
const Transform<T>& transform_of(std::size_t size)
{
    thread_local std::unordered_map<std::size_t, Transform<T>> made;
    return made.try_emplace(size, size).first->second;
}

template <class T>
std::vector<T> convolve(const std::vector<T>& a, const std::vector<T>& b)
{
    const std::size_t size = std::bit_ceil(a.size() + b.size());
    std::vector<std::complex<T>> x(a.begin(), a.end());
    std::vector<std::complex<T>> y(b.begin(), b.end());
    x.resize(size);
    y.resize(size);
    const Transform<T>& transform = transform_of<T>(size);
    transform.forward(x);
    transform.forward(y);
    std::transform(x.begin(), x.end(), y.begin(), x.begin(), std::multiplies<>{});
    transform.inverse(x);
    std::vector<T> result(a.size() + b.size() - 1);
    std::transform(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(result.size()), result.begin(),
                   [](const std::complex<T>& value) { return value.real(); });
    return result;
}

// Power by frequency of white noise through a moving average: what the filter lets pass.
std::vector<double> response_of_average(std::size_t size, std::size_t width, unsigned seed)
{
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> noise;
    std::vector<double> signal(size);
    std::generate(signal.begin(), signal.end(), [&] { return noise(engine); });
    const std::vector<double> filter(width, 1.0 / static_cast<double>(width));
    const std::vector<double> smooth = convolve(signal, filter);
    std::vector<std::complex<double>> spectrum(smooth.begin(), smooth.begin() + static_cast<std::ptrdiff_t>(size));
    transform_of<double>(size).forward(spectrum);
    std::vector<double> power(size / 2);
    std::transform(spectrum.begin(), spectrum.begin() + static_cast<std::ptrdiff_t>(power.size()), power.begin(),
                   [](const std::complex<double>& value) { return std::norm(value); });
    return power;
}

template std::vector<float> convolve<float>(const std::vector<float>&, const std::vector<float>&);
