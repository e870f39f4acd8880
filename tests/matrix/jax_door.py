"""A program that knows nothing of Hearth: jax_door.py OUT TIMES. Has JAX compile one function so many times, and writes
what it gives."""

import sys

import jax
import numpy

out, times = sys.argv[1:]
for _ in range(int(times)):
    jax.clear_caches()
    result = jax.jit(lambda x: x * 2 + 1)(numpy.arange(4, dtype=numpy.float32))
    with open(out, "wb") as file:
        file.write(numpy.asarray(result).tobytes())
