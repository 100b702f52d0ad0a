"""The HTTP API: one module per resource, and the OpenAPI and AsyncAPI documents."""
