"""The HTTP interface: one module for each resource, with its addresses declared beside the handlers."""
