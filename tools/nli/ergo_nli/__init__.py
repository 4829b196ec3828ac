"""Training pipeline of ergo's contradiction cross-encoder. See ../README.md."""
