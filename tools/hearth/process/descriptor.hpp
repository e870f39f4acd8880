#pragma once

#include <unistd.h>

namespace hearth::cli {

// Closes its file when it is destroyed. Standard streams stay open.
class Descriptor {
public:
    explicit Descriptor(int value) : m_value(value) {}
    ~Descriptor() { reset(); }
    Descriptor(Descriptor&& other) noexcept : m_value(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        const int value = other.release();
        reset();
        m_value = value;
        return *this;
    }

    int get() const { return m_value; }
    // Its owner is somebody else from here on.
    int release()
    {
        const int value = m_value;
        m_value = -1;
        return value;
    }
    // Returns the result of close(), which on some file systems is the first to report a full disk.
    int reset()
    {
        const int answer = m_value > STDERR_FILENO ? ::close(m_value) : 0;
        m_value = -1;
        return answer;
    }

private:
    int m_value;
};

}  // namespace hearth::cli
