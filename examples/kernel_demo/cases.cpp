#include "cases.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

namespace demo {

std::vector<float> numbers(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<float> values(count);
    for (float& value : values)
        value = static_cast<float>(random() % 1000) / 1000.0F - 0.5F;
    return values;
}

bool close_to(const std::vector<float>& got, const std::vector<float>& wanted)
{
    if (got.size() != wanted.size())
        return false;
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::abs(got[i] - wanted[i]) <= 1e-3F * std::max(1.0F, std::abs(wanted[i]))))
            return false;
    return true;
}

std::vector<float> sums(const std::vector<float>& a, const std::vector<float>& b)
{
    std::vector<float> c(a.size());
    std::transform(a.begin(), a.end(), b.begin(), c.begin(), std::plus<>());
    return c;
}

std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, int n)
{
    std::vector<float> c(a.size());
    const auto at = [n](int row, int column) { return static_cast<std::size_t>(row * n + column); };
    for (int row = 0; row < n; ++row)
        for (int k = 0; k < n; ++k)
            for (int column = 0; column < n; ++column)
                c[at(row, column)] += a[at(row, k)] * b[at(k, column)];
    return c;
}

std::vector<float> softmax(const std::vector<float>& x, int columns)
{
    std::vector<float> y(x.size());
    for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(columns)) {
        double total = 0;
        for (std::size_t i = row; i < row + static_cast<std::size_t>(columns); ++i)
            total += std::exp(double{x[i]});
        for (std::size_t i = row; i < row + static_cast<std::size_t>(columns); ++i)
            y[i] = static_cast<float>(std::exp(double{x[i]}) / total);
    }
    return y;
}

std::vector<float> running_sums(const std::vector<float>& x)
{
    std::vector<float> y(x.size());
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = static_cast<float>(total += double{x[i]});
    return y;
}

float sum(const std::vector<float>& x)
{
    return running_sums(x).back();
}

std::string kernel_path(const std::string& file)
{
    return std::string(DEMO_KERNELS) + "/" + file;
}

std::string kernel_source(const std::string& file)
{
    std::ifstream source(kernel_path(file), std::ios::binary);
    std::ostringstream text;
    text << source.rdbuf();
    return text.str();
}

}  // namespace demo
