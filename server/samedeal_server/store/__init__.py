"""The store: connections to Redis, and one module for each kind of data in it."""
