"""The HTTP API: one module per resource, admission, the page, and the OpenAPI and AsyncAPI documents."""
