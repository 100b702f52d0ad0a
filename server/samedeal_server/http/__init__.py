"""HTTP: one module for each resource, and the documents that describe them."""
