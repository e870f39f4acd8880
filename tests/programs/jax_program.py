"""JAX: jit and grad."""

from needs import needs

with needs():
    import jax
    import jax.numpy as jnp


@jax.jit
def energy(x, w):
    return jnp.tanh(x @ w).sum() + jax.nn.softmax(x, axis=1).max()


x = jnp.arange(64.0 * 32).reshape(64, 32) / 2048
w = jnp.ones((32, 16)) / 32
print("energy", f"{float(energy(x, w)):.4f}")
print("grad", f"{float(jnp.abs(jax.grad(energy, argnums=1)(x, w)).sum()):.4f}")
